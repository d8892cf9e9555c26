package results

import (
	"github.com/hotsku/hotsku/target/api"
)

// Evidence is what a trial leaves besides its record.
type Evidence struct {
	Hits      []Hit       // every order that was sent
	Ledger    []api.Order // every sale that was committed
	Steps     []api.Step  // none if the scenario is untraced
	Anomalies []Anomaly
}

// The files of a run, and below trials/<ID>/ those of each trial.
const (
	filePlan    = "plan.json"
	fileRun     = "run.json"
	fileSummary = "summary.csv"
	fileBench   = "bench.txt"
	trialsDir   = "trials"

	fileTrial      = "trial.json"
	fileHits       = "requests.ndjson.gz"
	fileLedger     = "ledger.ndjson.gz"
	fileSteps      = "trace.ndjson.gz"
	fileAnomalies  = "anomalies.json"
	fileHistograms = "latency.hlog"
	fileSeries     = "series.csv"
)
