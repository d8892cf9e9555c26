package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// A Writer keeps a run: it makes the run's folder and adds the trials to it as they finish. What it has added survives
// a crash: a trial's folder is complete or not there. It is for one goroutine.
type Writer struct {
	dir    string
	run    Run
	trials []Trial
	disk   disk
}

// Create makes the folder root/<run.ID> with the plan, and then run.json in the state Running. It is an error that
// matches [os.ErrExist] if the folder is there already with more in it than hidden files, and one that matches ErrName if the run's ID cannot be a
// folder's name or the plan names a strategy or scenario that records cannot carry.
func Create(root string, run Run) (*Writer, error) {
	return create(root, run, disk{create: os.Create})
}

func create(root string, run Run, d disk) (*Writer, error) {
	if err := checkFolder(run.ID); err != nil {
		return nil, err
	}
	if err := checkPlan(run.Plan); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, err
	}
	w := &Writer{dir: filepath.Join(root, run.ID), run: run, disk: d}
	if err := makeEmpty(w.dir); err != nil {
		return nil, fmt.Errorf("a run needs a folder of its own: %w", err)
	}
	if err := w.start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(w.dir))
	}
	return w, nil
}

// makeEmpty makes a folder, or takes one that holds nothing but hidden files: its maker may have put a mark into it.
func makeEmpty(dir string) error {
	made := os.Mkdir(dir, 0o755)
	if !errors.Is(made, os.ErrExist) {
		return made
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name()[0] != '.' }) {
		return made
	}
	return nil
}

func (w *Writer) start() error {
	w.run.Schema, w.run.State = Schema, Running
	if err := w.disk.replace(w.path(filePlan), document(w.run.Plan)); err != nil {
		return err
	}
	if err := os.Mkdir(w.path(trialsDir), 0o755); err != nil {
		return err
	}
	if err := w.disk.replace(w.path(fileRun), document(w.run)); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(w.dir))
}

// checkPlan refuses a plan whose trials could not be written, before the first of them has cost anything.
func checkPlan(plan Plan) error {
	for _, scenario := range plan.Scenarios {
		for _, strategy := range plan.Strategies {
			if err := checkCell(scenario.Name, strategy); err != nil {
				return err
			}
		}
	}
	return nil
}

// Dir returns the run's folder.
func (w *Writer) Dir() string { return w.dir }

func (w *Writer) path(names ...string) string {
	return filepath.Join(append([]string{w.dir}, names...)...)
}

// Add writes a finished trial, with its evidence, into trials/<t.ID>/. It returns once that is on stable storage.
//
// When it fails, no part of the trial is left, the error names the file and wraps the cause (such as [syscall.ENOSPC]
// for a full disk), and the Writer can be used on: the same trial may be added again.
func (w *Writer) Add(t Trial, ev Evidence) (err error) {
	t.Schema = Schema
	if err := errors.Join(checkFolder(t.ID), checkCell(t.Cell.Scenario, t.Cell.Strategy)); err != nil {
		return err
	}
	final := w.path(trialsDir, t.ID)
	if _, err := os.Lstat(final); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("trial %s: %w", t.ID, errors.Join(os.ErrExist, err))
	}
	temporary, err := os.MkdirTemp(w.path(trialsDir), "."+t.ID+"-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("trial %s is not kept: %w", t.ID, err),
				os.RemoveAll(temporary), os.RemoveAll(final))
		}
	}()
	if err := w.writeTrial(temporary, t, ev); err != nil {
		return err
	}
	if err := os.Rename(temporary, final); err != nil {
		return err
	}
	if err := syncFolder(w.path(trialsDir)); err != nil {
		return err
	}
	w.trials = append(w.trials, t)
	return nil
}

func (w *Writer) writeTrial(dir string, t Trial, ev Evidence) error {
	if err := os.Chmod(dir, 0o755); err != nil { // MkdirTemp makes it private
		return err
	}
	anomalies := ev.Anomalies
	if anomalies == nil {
		anomalies = []Anomaly{}
	}
	files := []struct {
		name    string
		content func(io.Writer) error
	}{
		{fileHits, zipped(func(out io.Writer) error { return WriteHits(out, t, ev.Hits) })},
		{fileLedger, zipped(jsonLines(ev.Ledger))},
		{fileSteps, zipped(jsonLines(ev.Steps))},
		{fileAnomalies, document(anomalies)},
		{fileHistograms, func(out io.Writer) error { return WriteHistogramLog(out, t.Zero, ev.Hits) }},
		{fileSeries, func(out io.Writer) error { return WriteSeries(out, Series(ev.Hits)) }},
		{fileTrial, document(t)},
	}
	for _, f := range files {
		if f.name == fileSteps && len(ev.Steps) == 0 {
			continue
		}
		if err := w.disk.write(filepath.Join(dir, f.name), f.content); err != nil {
			return err
		}
	}
	return syncFolder(dir)
}

// Finish writes bench.txt and summary.csv from the trials that were added, and then run.json anew. The state of run
// must be Complete or Partial; its plan is the one that Create was given. It may be called again after a failure.
func (w *Writer) Finish(run Run) error {
	if run.State != Complete && run.State != Partial {
		return fmt.Errorf("a finished run is %q or %q, not %q", Complete, Partial, run.State)
	}
	if run.ID != w.run.ID {
		return fmt.Errorf("%s is the folder of run %s, not of %s", w.dir, w.run.ID, run.ID)
	}
	run.Schema, run.Plan = Schema, w.run.Plan
	trials := slices.Clone(w.trials)
	sortTrials(trials)
	bench := func(out io.Writer) error { return WriteBench(out, run, trials) }
	if err := w.disk.replace(w.path(fileBench), bench); err != nil {
		return err
	}
	summary := func(out io.Writer) error { return WriteSummary(out, trials) }
	if err := w.disk.replace(w.path(fileSummary), summary); err != nil {
		return err
	}
	return w.disk.replace(w.path(fileRun), document(run))
}

// Discard removes the run's folder if no trial was added; else it does nothing.
func (w *Writer) Discard() error {
	if len(w.trials) > 0 {
		return nil
	}
	return os.RemoveAll(w.dir)
}
