package results

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// keep writes a run of the trials into a new folder and returns the folder's name.
func keep(t *testing.T, root string, run Run, trials []Trial, evidence []Evidence) string {
	t.Helper()
	w, err := Create(root, run)
	if err != nil {
		t.Fatal(err)
	}
	for i, trial := range trials {
		if err := w.Add(trial, evidence[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(run); err != nil {
		t.Fatal(err)
	}
	return w.Dir()
}

// golden is a run of two trials, one of them invalid and repeated.
func golden() (Run, []Trial, []Evidence) {
	first, firstEvidence := fabricate(1, 600)
	first = invalidate(first)
	second, secondEvidence := fabricate(2, 600)
	second.Attempt, second.ID = 2, TrialID(1, second.Cell, 2)
	secondEvidence.Steps = nil
	secondEvidence.Anomalies = []Anomaly{}
	trials := []Trial{first, second}
	run := fabricatedRun(second)
	return run, trials, []Evidence{firstEvidence, secondEvidence}
}

func TestGoldenFolderReadsBackEqual(t *testing.T) {
	run, trials, evidence := golden()
	if *update {
		if err := os.RemoveAll("testdata/golden"); err != nil {
			t.Fatal(err)
		}
		keep(t, "testdata/golden", run, trials, evidence)
	}
	fresh := keep(t, t.TempDir(), run, trials, evidence)
	for name, dir := range map[string]string{"golden": filepath.Join("testdata/golden", run.ID), "fresh": fresh} {
		t.Run(name, func(t *testing.T) {
			f, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(f.Run(), run) {
				t.Errorf("run:\n got %+v\nwant %+v", f.Run(), run)
			}
			if !reflect.DeepEqual(f.Trials(), trials) {
				t.Errorf("trials:\n got %+v\nwant %+v", f.Trials(), trials)
			}
			for i, trial := range trials {
				got, err := f.Evidence(trial.ID)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, evidence[i]) {
					t.Errorf("evidence of %s differs", trial.ID)
				}
			}
		})
	}
}

func TestGoldenTextFiles(t *testing.T) {
	run, trials, evidence := golden()
	fresh := keep(t, t.TempDir(), run, trials, evidence)
	// The compressed files are not compared: their bytes are the compressor's business.
	for _, name := range []string{
		filePlan, fileRun, fileSummary, fileBench,
		filepath.Join(trialsDir, trials[0].ID, fileTrial),
		filepath.Join(trialsDir, trials[0].ID, fileAnomalies),
		filepath.Join(trialsDir, trials[1].ID, fileSeries),
	} {
		got, err := os.ReadFile(filepath.Join(fresh, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("testdata/golden", run.ID, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from testdata; if that is wanted, run go test -update\n%s", name, got)
		}
	}
}

func TestOnlyTracedTrialsHaveATrace(t *testing.T) {
	run, trials, evidence := golden()
	dir := keep(t, t.TempDir(), run, trials, evidence)
	for i, want := range []bool{true, false} {
		_, err := os.Stat(filepath.Join(dir, trialsDir, trials[i].ID, fileSteps))
		if got := err == nil; got != want {
			t.Errorf("%s has a trace: %v, want %v", trials[i].ID, got, want)
		}
	}
}

func TestARunThatWasKilledReadsAsPartial(t *testing.T) {
	trial, ev := fabricate(1, 50)
	run := fabricatedRun(trial)
	w, err := Create(t.TempDir(), run)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(trial, ev); err != nil {
		t.Fatal(err)
	}
	// What a kill between the writing of the next trial and its renaming leaves.
	if err := os.Mkdir(filepath.Join(w.Dir(), trialsDir, ".002-calm-none-b1-123"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.Dir(), ".run.json.tmp"), []byte(`{"schema`), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if f.Run().State != Partial || f.Run().Reason != unfinished {
		t.Errorf("state %q, reason %q", f.Run().State, f.Run().Reason)
	}
	if len(f.Trials()) != 1 || f.Trials()[0].ID != trial.ID {
		t.Errorf("trials: %v", f.Trials())
	}
}

func TestTrialsAreSortedByNumber(t *testing.T) {
	var trials []Trial
	var evidence []Evidence
	for _, number := range []int{1000, 2, 999, 1} {
		trial, ev := fabricate(1, 10)
		trial.Number = number
		trial.ID = TrialID(number, trial.Cell, 1)
		trials, evidence = append(trials, trial), append(evidence, ev)
	}
	f, err := Open(keep(t, t.TempDir(), fabricatedRun(trials...), trials, evidence))
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for _, trial := range f.Trials() {
		numbers = append(numbers, trial.Number)
	}
	if want := []int{1, 2, 999, 1000}; !slices.Equal(numbers, want) {
		t.Errorf("got %v, want %v", numbers, want)
	}
}

// copyOf returns a copy of a kept run, to be damaged.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	fresh := filepath.Join(t.TempDir(), filepath.Base(dir))
	if err := os.CopyFS(fresh, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return fresh
}

// damage is done to one file of a kept run.
func damage(t *testing.T, name string, change func([]byte) []byte) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, change(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedFilesAreNamed(t *testing.T) {
	run, trials, evidence := golden()
	id := trials[0].ID
	truncate := func(text []byte) []byte { return text[:len(text)*2/3] }
	flip := func(text []byte) []byte { text[len(text)/2] ^= 0x55; return text }
	empty := func([]byte) []byte { return nil }
	whole := keep(t, t.TempDir(), run, trials, evidence)
	for _, name := range []string{
		fileHits, fileLedger, fileSteps, fileAnomalies, fileTrial, fileRun, filePlan, fileHistograms,
	} {
		for how, change := range map[string]func([]byte) []byte{"truncated": truncate, "flipped": flip, "emptied": empty} {
			if how == "flipped" && (name == fileAnomalies || name == fileTrial || name == fileRun || name == filePlan) {
				continue // a flipped letter may leave valid JSON: these files have no checksum
			}
			t.Run(name+" "+how, func(t *testing.T) {
				dir := copyOf(t, whole)
				file := filepath.Join(dir, name)
				if name != fileRun && name != filePlan {
					file = filepath.Join(dir, trialsDir, id, name)
				}
				damage(t, file, change)
				if err := readAll(dir, id); err == nil || !strings.Contains(err.Error(), file) {
					t.Errorf("got %v, want an error that names %s", err, file)
				}
			})
		}
	}
}

func readAll(dir, id string) error {
	f, err := Open(dir)
	if err != nil {
		return err
	}
	_, evidenceErr := f.Evidence(id)
	_, histogramErr := f.Histograms(id)
	return errors.Join(evidenceErr, histogramErr)
}

func TestRecordsThatOpenRefuses(t *testing.T) {
	replace := func(old, new string) func([]byte) []byte {
		return func(text []byte) []byte { return bytes.Replace(text, []byte(old), []byte(new), 1) }
	}
	run, trials, evidence := golden()
	whole := keep(t, t.TempDir(), run, trials, evidence)
	trialFile := filepath.Join(trialsDir, trials[0].ID, fileTrial)
	for _, row := range []struct {
		name   string
		file   string
		change func([]byte) []byte
		want   error  // nil: any
		text   string // in the error
	}{
		{"a run of a newer schema", fileRun, replace(`"schema": 1`, `"schema": 2`), ErrNewer, fileRun},
		{"a trial of a newer schema", trialFile, replace(`"schema": 1`, `"schema": 2`), ErrNewer, fileTrial},
		{"a run without a schema", fileRun, replace(`"schema": 1,`, ``), ErrRecord, fileRun},
		{"a run in an unknown state", fileRun, replace(`"state": "complete"`, `"state": "done"`), ErrRecord, "done"},
		{"a plan that was changed after the start", filePlan, replace(`"blocks": 1`, `"blocks": 3`), ErrRecord, filePlan},
		{"a trial in the folder of another", trialFile, replace(`"id": "001-`, `"id": "002-`), ErrRecord, fileTrial},
		{"a syntax error on line 3", fileRun, replace(`"id": "`, `"id": x"`), nil, fileRun + ":3"},
		{"a wrong type on line 2", fileRun, replace(`"schema": 1`, `"schema": "one"`), nil, fileRun + ":2"},
		{"a duration without a unit", trialFile, replace(`"timeout": "5s"`, `"timeout": "5"`), nil, `"5"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := copyOf(t, whole)
			damage(t, filepath.Join(dir, row.file), row.change)
			_, err := Open(dir)
			if err == nil || (row.want != nil && !errors.Is(err, row.want)) || !strings.Contains(err.Error(), row.text) {
				t.Errorf("got %v, want one that matches %v and says %q", err, row.want, row.text)
			}
		})
	}
}

func TestOpenOfNoRun(t *testing.T) {
	if _, err := Open(t.TempDir()); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), fileRun) {
		t.Errorf("got %v", err)
	}
}

func TestEvidenceOfAnUnknownTrial(t *testing.T) {
	run, trials, evidence := golden()
	f, err := Open(keep(t, t.TempDir(), run, trials, evidence))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Evidence("../../etc"); err == nil || !strings.Contains(err.Error(), "no trial") {
		t.Errorf("got %v", err)
	}
}
