package main

import (
	"context"
	"errors"
	"fmt"
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
		if err := bench.Rejudge(&again[i], &evidence); err != nil {
			return environment(err)
		}
		differ = append(differ, disagreement(folder.Trials()[i], again[i]))
	}
	summary := results.Summarize(folder.Run(), again)
	if err := plots.VerdictTable(to.out, summary, to.tableStyle()); err != nil {
		return err
	}
	if err := errors.Join(differ...); err != nil {
		return exit{results.ExitInvalid, fmt.Errorf("the files do not bear the record out:\n%w", err)}
	}
	fmt.Fprintf(to.out, "\n%d trials judged again: each as recorded.\n", len(again))
	code, sentence := summary.Exit()
	fmt.Fprintln(to.out, sentence)
	if code != results.ExitHeld {
		return exit{code: code}
	}
	return nil
}

// disagreement says in what a trial's record and what its files say differ, or returns nil.
func disagreement(recorded, found results.Trial) error {
	if recorded.Verdict.State != found.Verdict.State {
		return fmt.Errorf("%s: recorded as %s, found %s", recorded.ID, recorded.Verdict.State, found.Verdict.State)
	}
	if recorded.Audit.Sold != found.Audit.Sold || recorded.Audit.Oversold != found.Audit.Oversold {
		return fmt.Errorf("%s: recorded %d sold and %d oversold, found %d and %d", recorded.ID,
			recorded.Audit.Sold, recorded.Audit.Oversold, found.Audit.Sold, found.Audit.Oversold)
	}
	for i, check := range found.Audit.Checks {
		if i >= len(recorded.Audit.Checks) || recorded.Audit.Checks[i] != check {
			return fmt.Errorf("%s: %s: found %s (%d), which is not what was recorded", recorded.ID, check.Invariant, check.State, check.Count)
		}
	}
	return nil
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

// draw writes the figures and the report of a run into its folder.
func draw(ctx context.Context, folder *results.Folder, progress *progress) error {
	_, err := plots.Draw(ctx, folder, func(done, total int, name string) {
		if done == 0 {
			progress.say("drawing %d figures", total)
		}
	})
	return err
}
