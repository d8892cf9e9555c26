package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/hotsku/hotsku/bench"
	"github.com/hotsku/hotsku/plots"
	"github.com/hotsku/hotsku/results"
)

// stored is the argument of the commands that read a run.
type stored struct {
	Run string `arg:"" type:"existingdir" help:"Folder of a run, such as results/runs/2026-01-02T030405Z-default."`
}

type auditCommand struct {
	stored
}

// Run judges every trial again from its files and compares with what was recorded.
func (c auditCommand) Run(to stream) error {
	folder, err := results.Open(c.stored.Run)
	if err != nil {
		return environment(err)
	}
	var differ []error
	again := slices.Clone(folder.Trials())
	for i := range again {
		evidence, err := folder.Evidence(again[i].ID)
		if err != nil {
			return environment(err)
		}
		recorded := evidence.Anomalies
		if err := bench.Rejudge(&again[i], &evidence); err != nil {
			return environment(err)
		}
		differ = append(differ, planned(folder.Run(), again[i]), disagreement(folder.Trials()[i], again[i]))
		if len(recorded)+len(evidence.Anomalies) > 0 && !same(recorded, evidence.Anomalies) {
			differ = append(differ, fmt.Errorf("%s: the anomalies are not those recorded", again[i].ID))
		}
	}
	summary := results.Summarize(folder.Run(), again)
	if err := plots.VerdictTable(to.out, summary, to.tableStyle(), to.room()); err != nil {
		return err
	}
	if err := errors.Join(differ...); err != nil {
		return exit{results.ExitInvalid, fmt.Errorf("the files do not bear the record out:\n%w", err)}
	}
	fmt.Fprintf(to.out, "\n%d trials judged again: each as recorded.\n", len(again))
	code, sentence := summary.Exit()
	fmt.Fprintln(to.out, sentence)
	if state := folder.Run().State; state != results.Complete {
		fmt.Fprintf(to.out, "The run did not come to its end (%s): it has %d of its %d trials.\n", state, len(again), len(folder.Run().Plan.Order))
	}
	if code != results.ExitHeld {
		return exit{code: code}
	}
	return nil
}

// planned returns an error unless a trial is one of those that its run set out to do.
func planned(run results.Run, t results.Trial) error {
	scenario := slices.ContainsFunc(run.Plan.Scenarios, func(s results.Scenario) bool { return same(s, t.Scenario) })
	strategy := slices.ContainsFunc(run.Strategies, func(s results.Strategy) bool { return same(s, t.Strategy) })
	cell := slices.Contains(run.Plan.Order, t.Cell) && t.Cell.Scenario == t.Scenario.Name && t.Cell.Strategy == t.Strategy.Name
	if !scenario || !strategy || !cell || t.ID != results.TrialID(t.Number, t.Cell, t.Attempt) {
		return fmt.Errorf("%s: its scenario, strategy, block or name is not one of the plan's", t.ID)
	}
	return nil
}

// disagreement says in which part a trial's record and what its files say differ, or returns nil.
func disagreement(recorded, found results.Trial) error {
	if recorded.Audit.Sold != found.Audit.Sold || recorded.Verdict.State != found.Verdict.State {
		return fmt.Errorf("%s: recorded as %s with %d units sold, found %s with %d", recorded.ID,
			recorded.Verdict.State, recorded.Audit.Sold, found.Verdict.State, found.Audit.Sold)
	}
	was, is := reflect.ValueOf(recorded), reflect.ValueOf(found)
	for i := range was.NumField() {
		if !same(was.Field(i).Interface(), is.Field(i).Interface()) {
			return fmt.Errorf("%s: %s is not what was recorded", recorded.ID, was.Type().Field(i).Tag.Get("json"))
		}
	}
	return nil
}

// same reports whether two records would be written alike.
func same(a, b any) bool {
	one, err := json.Marshal(a)
	other, failed := json.Marshal(b)
	return err == nil && failed == nil && bytes.Equal(one, other)
}

type plotCommand struct {
	stored
	Quiet bool `short:"q" help:"Print no progress."`
}

// Run draws a stored run again.
func (c plotCommand) Run(ctx context.Context, to stream) error {
	folder, err := results.Open(c.stored.Run)
	if err != nil {
		return environment(err)
	}
	progress := newProgress(to.err, c.Quiet, folder.Run().Plan)
	if err := draw(ctx, folder, progress); err != nil {
		return environment(err)
	}
	progress.end()
	fmt.Fprintln(to.out, folder.Dir()+"/report.html")
	return nil
}

// dots is the density of the figures, per inch. Tests of the command line, which look at no pixel, lower it.
var dots = plots.Density

// draw writes the figures and the report of a run into its folder.
func draw(ctx context.Context, folder *results.Folder, progress *progress) error {
	_, err := plots.Draw(ctx, folder, dots, func(done, total int, name string) {
		if done == 0 {
			progress.say("drawing %d figures", total)
		}
	})
	return err
}
