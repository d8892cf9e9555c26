package results

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hotsku/hotsku/target/api"
)

var (
	// ErrNewer marks records that a newer hotsku wrote.
	ErrNewer = errors.New("results: written by a newer hotsku")
	// ErrRecord marks records that are readable and cannot be true.
	ErrRecord = errors.New("results: impossible record")
)

// unfinished is the reason that a killed run gives no more.
const unfinished = "the run was never finished: hotsku was killed, or is still running"

// A Folder is a run that was kept, read back. Its records are in memory, the evidence of its trials is read when asked
// for. It may be used by several goroutines.
type Folder struct {
	dir    string
	run    Run
	trials []Trial
}

// Open reads the records of a run. A run that was never finished reads as Partial, and what a crash left under a
// temporary name is passed over. A newer schema is an error that matches ErrNewer, a plan that is not the one that was
// recorded before the first trial one that matches ErrRecord. Errors name the file, and the line where JSON tells it.
func Open(dir string) (*Folder, error) {
	f := &Folder{dir: dir}
	name := filepath.Join(dir, fileRun)
	if err := readDocument(name, &f.run); err != nil {
		return nil, fmt.Errorf("the folder of a run is wanted: %w", err)
	}
	if err := checkSchema(name, f.run.Schema); err != nil {
		return nil, err
	}
	if err := f.checkPlan(); err != nil {
		return nil, err
	}
	if f.run.State == Running {
		f.run.State, f.run.Reason = Partial, cmp.Or(f.run.Reason, unfinished)
	}
	if f.run.State != Complete && f.run.State != Partial {
		return nil, fmt.Errorf("%w: %s: no such state: %q", ErrRecord, name, f.run.State)
	}
	if err := f.readTrials(); err != nil {
		return nil, err
	}
	return f, nil
}

func checkSchema(name string, schema int) error {
	if schema > Schema {
		return fmt.Errorf("%w: %s has schema %d, this one reads up to %d", ErrNewer, name, schema, Schema)
	}
	if schema < 1 {
		return fmt.Errorf("%w: %s has no schema", ErrRecord, name)
	}
	return nil
}

// checkPlan compares the plan of the run with the one that was written before the first trial.
func (f *Folder) checkPlan() error {
	name := filepath.Join(f.dir, filePlan)
	var plan Plan
	if err := readDocument(name, &plan); err != nil {
		return err
	}
	var first, last bytes.Buffer
	if err := errors.Join(document(plan)(&first), document(f.run.Plan)(&last)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !bytes.Equal(first.Bytes(), last.Bytes()) {
		return fmt.Errorf("%w: %s is not the plan that %s reports", ErrRecord, name, fileRun)
	}
	return nil
}

func (f *Folder) readTrials() error {
	entries, err := os.ReadDir(filepath.Join(f.dir, trialsDir))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		name := filepath.Join(f.dir, trialsDir, entry.Name(), fileTrial)
		var t Trial
		if err := readDocument(name, &t); err != nil {
			return err
		}
		if err := checkSchema(name, t.Schema); err != nil {
			return err
		}
		if t.ID != entry.Name() {
			return fmt.Errorf("%w: %s is of trial %q", ErrRecord, name, t.ID)
		}
		f.trials = append(f.trials, t)
	}
	sortTrials(f.trials)
	return nil
}

// sortTrials sorts by number, and the tries of one trial by attempt.
func sortTrials(trials []Trial) {
	slices.SortStableFunc(trials, func(a, b Trial) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Attempt, b.Attempt))
	})
}

// Dir returns the run's folder.
func (f *Folder) Dir() string { return f.dir }

// Run returns the record of the run; its state is Complete or Partial.
func (f *Folder) Run() Run { return f.run }

// Trials returns the records of the trials, valid or not, by number.
func (f *Folder) Trials() []Trial { return slices.Clone(f.trials) }

// Evidence reads what a trial left besides its record. Errors name the file, and the line where there is one.
func (f *Folder) Evidence(trialID string) (Evidence, error) {
	t, err := f.trial(trialID)
	if err != nil {
		return Evidence{}, err
	}
	var ev Evidence
	if err := readZipped(f.path(t, fileHits), func(r io.Reader) (err error) {
		ev.Hits, err = ReadHits(r, t)
		return err
	}); err != nil {
		return Evidence{}, err
	}
	if err := readZipped(f.path(t, fileLedger), func(r io.Reader) (err error) {
		ev.Ledger, err = readJSONLines[api.Order](r)
		return err
	}); err != nil {
		return Evidence{}, err
	}
	if err := readZipped(f.path(t, fileSteps), func(r io.Reader) (err error) {
		ev.Steps, err = readJSONLines[api.Step](r)
		return err
	}); err != nil && !errors.Is(err, os.ErrNotExist) {
		return Evidence{}, err
	}
	if err := readDocument(f.path(t, fileAnomalies), &ev.Anomalies); err != nil {
		return Evidence{}, err
	}
	return ev, nil
}

// Histograms reads the histograms of a trial, by second, kind and outcome. Errors name the file and the line.
func (f *Folder) Histograms(trialID string) ([]Interval, error) {
	t, err := f.trial(trialID)
	if err != nil {
		return nil, err
	}
	name := f.path(t, fileHistograms)
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	intervals, err := ReadHistogramLog(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return intervals, nil
}

func (f *Folder) trial(id string) (Trial, error) {
	i := slices.IndexFunc(f.trials, func(t Trial) bool { return t.ID == id })
	if i < 0 {
		return Trial{}, fmt.Errorf("%s has no trial %q", f.dir, id)
	}
	return f.trials[i], nil
}

func (f *Folder) path(t Trial, name string) string {
	return filepath.Join(f.dir, trialsDir, t.ID, name)
}
