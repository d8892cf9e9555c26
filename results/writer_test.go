package results

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// fullAt returns a disk that is full for the n-th file that is made on it, from 0, and has room for all others.
// made counts the files.
func fullAt(n int) (d disk, made *int) {
	made = new(int)
	return disk{create: func(name string) (*os.File, error) {
		*made++
		if *made-1 == n {
			return os.OpenFile("/dev/full", os.O_WRONLY, 0)
		}
		return os.Create(name)
	}}, made
}

func needFullDevice(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skipf("no device that is always full: %v", err)
	}
}

// entries returns the names in a folder.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

func TestAFullDiskLeavesNoPartOfATrial(t *testing.T) {
	needFullDevice(t)
	trial, ev := fabricate(1, 200)
	w, err := Create(t.TempDir(), fabricatedRun(trial))
	if err != nil {
		t.Fatal(err)
	}
	const files = 7
	for n := range files {
		var made *int
		w.disk, made = fullAt(n)
		err := w.Add(trial, ev)
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), w.path(trialsDir)) {
			t.Errorf("file %d: got %v, want one that matches ENOSPC and names the file", n, err)
		}
		if *made != n+1 {
			t.Errorf("file %d: %d files were made", n, *made)
		}
		if left := entries(t, w.path(trialsDir)); len(left) > 0 {
			t.Errorf("file %d: %q were left", n, left)
		}
	}
	var made *int
	w.disk, made = fullAt(-1)
	if err := w.Add(trial, ev); err != nil {
		t.Fatalf("after room was made: %v", err)
	}
	if *made != files {
		t.Errorf("a trial has %d files, not %d: some were never tried on a full disk", *made, files)
	}
	f, err := Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Evidence(trial.ID); err != nil || !reflect.DeepEqual(got, ev) {
		t.Errorf("the trial that was added at last does not read back equal: %v", err)
	}
}

func TestAFullDiskAtTheFinishLeavesTheRunPartial(t *testing.T) {
	needFullDevice(t)
	trial, ev := fabricate(1, 200)
	run := fabricatedRun(trial)
	w, err := Create(t.TempDir(), run)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(trial, ev); err != nil {
		t.Fatal(err)
	}
	for n, name := range []string{fileBench, fileSummary, fileRun} {
		w.disk, _ = fullAt(n)
		if err := w.Finish(run); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want one that matches ENOSPC and names the file", name, err)
		}
		f, err := Open(w.Dir())
		if err != nil {
			t.Fatal(err)
		}
		if f.Run().State != Partial || len(f.Trials()) != 1 {
			t.Errorf("%s: the run reads as %q with %d trials", name, f.Run().State, len(f.Trials()))
		}
	}
	w.disk = disk{create: os.Create}
	if err := w.Finish(run); err != nil {
		t.Fatal(err)
	}
	if f, err := Open(w.Dir()); err != nil || f.Run().State != Complete {
		t.Errorf("after room was made: %v", err)
	}
	for _, name := range entries(t, w.Dir()) {
		if strings.HasPrefix(name, ".") {
			t.Errorf("%s was left", name)
		}
	}
}

func TestCreateOnAFullDiskLeavesNoFolder(t *testing.T) {
	needFullDevice(t)
	trial, _ := fabricate(1, 1)
	for n := range 2 {
		root := t.TempDir()
		d, _ := fullAt(n)
		if _, err := create(root, fabricatedRun(trial), d); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("file %d: got %v", n, err)
		}
		if left := entries(t, root); len(left) > 0 {
			t.Errorf("file %d: %q were left", n, left)
		}
	}
}

func TestCreateWritesThePlanAndTheRunningRun(t *testing.T) {
	trial, _ := fabricate(1, 1)
	run := fabricatedRun(trial)
	w, err := Create(filepath.Join(t.TempDir(), "results", "runs"), run)
	if err != nil {
		t.Fatal(err)
	}
	var plan Plan
	if err := readDocument(w.path(filePlan), &plan); err != nil || !reflect.DeepEqual(plan, run.Plan) {
		t.Errorf("plan %+v, %v", plan, err)
	}
	var kept Run
	if err := readDocument(w.path(fileRun), &kept); err != nil || kept.State != Running {
		t.Errorf("state %q, %v", kept.State, err)
	}
	if _, err := Create(filepath.Dir(w.Dir()), run); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second run in the same folder: got %v", err)
	}
}

func TestNamesThatCreateRefuses(t *testing.T) {
	for name, change := range map[string]func(*Run){
		"an ID that leads out of the folder":      func(r *Run) { r.ID = "../elsewhere" },
		"an empty ID":                             func(r *Run) { r.ID = "" },
		"a strategy that ends in a number":        func(r *Run) { r.Plan.Strategies = []string{"retry-3"} },
		"a scenario with a space":                 func(r *Run) { r.Plan.Scenarios[0].Name = "rush hour" },
		"a strategy with a slash":                 func(r *Run) { r.Plan.Strategies = []string{"a/b"} },
		"an ID longer than file systems can take": func(r *Run) { r.ID = strings.Repeat("a", 300) },
	} {
		t.Run(name, func(t *testing.T) {
			trial, _ := fabricate(1, 1)
			run := fabricatedRun(trial)
			change(&run)
			root := t.TempDir()
			if _, err := Create(root, run); !errors.Is(err, ErrName) {
				t.Errorf("got %v, want ErrName", err)
			}
			if left := entries(t, root); len(left) > 0 {
				t.Errorf("%q were left", left)
			}
		})
	}
}

func TestTrialsThatAddRefuses(t *testing.T) {
	trial, ev := fabricate(1, 20)
	w, err := Create(t.TempDir(), fabricatedRun(trial))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(trial, ev); err != nil {
		t.Fatal(err)
	}
	if err := w.Add(trial, ev); !errors.Is(err, os.ErrExist) {
		t.Errorf("the same trial again: got %v", err)
	}
	trial.ID = "../001"
	if err := w.Add(trial, ev); !errors.Is(err, ErrName) {
		t.Errorf("a trial outside of the folder: got %v", err)
	}
	trial.ID = TrialID(2, trial.Cell, 1)
	ev.Hits[3].Outcome = 99
	if err := w.Add(trial, ev); err == nil || !strings.Contains(err.Error(), "hit 3") {
		t.Errorf("a hit of no outcome: got %v", err)
	}
	if left := entries(t, w.path(trialsDir)); len(left) != 1 {
		t.Errorf("%q are there, want the first trial alone", left)
	}
}

func TestFinishRefusesARunThatIsNotFinished(t *testing.T) {
	trial, _ := fabricate(1, 1)
	run := fabricatedRun(trial)
	w, err := Create(t.TempDir(), run)
	if err != nil {
		t.Fatal(err)
	}
	run.State = Running
	if err := w.Finish(run); err == nil {
		t.Error("a running run was finished")
	}
	run.State, run.ID = Partial, "another"
	if err := w.Finish(run); err == nil {
		t.Error("another run was finished in this folder")
	}
}

func TestDiscardKeepsWhatWasFinished(t *testing.T) {
	trial, ev := fabricate(1, 20)
	w, err := Create(t.TempDir(), fabricatedRun(trial))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(trial, ev); err != nil {
		t.Fatal(err)
	}
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(w.Dir()); err != nil {
		t.Errorf("a run with a trial was discarded: %v", err)
	}
	run := fabricatedRun(trial)
	run.ID += "-again"
	w, err = Create(t.TempDir(), run)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty run is still there: %v", err)
	}
}
