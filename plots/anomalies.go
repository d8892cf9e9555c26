package plots

import (
	"fmt"
	"strings"

	"github.com/hotsku/hotsku/results"
)

// The most that the report shows of a trial's anomalies; all of them are in its anomalies.json.
const (
	mostAnomalies = 3
	mostWitnesses = 6
)

// trialAnomalies are the first anomalies of one trial.
type trialAnomalies struct {
	Trial, Scenario, Strategy string
	Discarded                 bool
	Total                     int
	Shown                     []anomalyFacts
}

// Rest is the number of anomalies that are not shown.
func (t trialAnomalies) Rest() int { return t.Total - len(t.Shown) }

// anomalyFacts is an anomaly with its evidence as rows of a table.
type anomalyFacts struct {
	Invariant, Detail, Units string
	Columns                  []string
	Rows                     [][]string
	Rest                     int // witnesses that are not shown
}

// anomaliesOf lists the anomalies of all trials that have some, discarded trials too: a gate doubts the times and the
// load, never the ledger.
func anomaliesOf(scenes []scene) []trialAnomalies {
	var all []trialAnomalies
	for _, s := range scenes {
		for _, c := range s.cells {
			for i, t := range append(append([]trial{}, c.trials...), c.discarded...) {
				if len(t.anomalies) == 0 {
					continue
				}
				found := trialAnomalies{Trial: t.ID, Scenario: s.Name, Strategy: c.strategy.Name,
					Discarded: i >= len(c.trials), Total: len(t.anomalies)}
				for _, a := range t.anomalies[:min(mostAnomalies, len(t.anomalies))] {
					found.Shown = append(found.Shown, anomalyFactsOf(a))
				}
				all = append(all, found)
			}
		}
	}
	return all
}

func anomalyFactsOf(a results.Anomaly) anomalyFacts {
	f := anomalyFacts{Invariant: string(a.Invariant), Detail: a.Detail}
	if a.Units != 0 {
		f.Units = plural(a.Units, "unit", "units")
	}
	shown := a.Orders[:min(mostWitnesses, len(a.Orders))]
	f.Rest = len(a.Orders) - len(shown)
	for _, column := range witnessColumns {
		cells := make([]string, len(shown))
		for i, w := range shown {
			cells[i] = column.cell(w)
		}
		if strings.Join(cells, "") == "" { // nothing is known of it
			continue
		}
		f.Columns = append(f.Columns, column.head)
		for i, cell := range cells {
			if len(f.Rows) <= i {
				f.Rows = append(f.Rows, nil)
			}
			f.Rows[i] = append(f.Rows[i], cell)
		}
	}
	return f
}

// witnessColumns are what may be known of an order in an anomaly.
var witnessColumns = []struct {
	head string
	cell func(results.Witness) string
}{
	{"key", func(w results.Witness) string { return w.Key }},
	{"outcome", func(w results.Witness) string { return w.Outcome }},
	{"replica", func(w results.Witness) string { return w.Replica }},
	{"order", func(w results.Witness) string { return known(w.Order) }},
	{"position", func(w results.Witness) string { return known(w.Position) }},
	{"units", func(w results.Witness) string { return known(int64(w.Quantity)) }},
	{"fence", func(w results.Witness) string { return known(w.Fence) }},
	{"sent", func(w results.Witness) string { return moment(w.Sent) }},
	{"answered", func(w results.Witness) string { return moment(w.End) }},
	{"row inserted", func(w results.Witness) string {
		if w.Created.IsZero() {
			return ""
		}
		return w.Created.UTC().Format("15:04:05.000000")
	}},
}

func known(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// moment writes an offset to the microsecond, since what matters about two witnesses is which came first.
func moment(d results.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%.6f s", d.D().Seconds())
}
