package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotsku/hotsku/bench/attack"
	"github.com/hotsku/hotsku/results"
)

// Config is what a run needs.
type Config struct {
	Plan       results.Plan // arranged; see [Arrange]
	Strategies []results.Strategy
	Stage      Stage
	Tag        string // makes the SKUs of this run unlike those of any other on the same database; lower case and digits
	// Keep stores a trial that was finished. Its error ends the run.
	Keep func(results.Trial, results.Evidence) error
	// Progress is told what goes on, from one goroutine at a time. It may be nil.
	Progress func(Event)
}

// An Event is what goes on in a run.
type Event struct {
	Done, Total int            // trials
	Cell        results.Cell   // the one under way, or just finished
	Attempt     int            // from 1
	Live        *attack.Live   // while it is attacked, about once a second
	Trial       *results.Trial // once it is finished
}

// Run puts the target through the plan, trial by trial, and returns the trials that were finished, invalid ones
// included. It stops at the first error; a cancelled ctx is one. A trial that was cut short is not among the trials.
//
// An invalid trial is tried again, up to the plan's Retries, right away: it stays in its block.
func Run(ctx context.Context, c Config) ([]results.Trial, error) {
	r := &runner{Config: c}
	for i, cell := range c.Plan.Order {
		for attempt := 1; attempt <= 1+c.Plan.Retries; attempt++ {
			r.event = Event{Done: i, Total: len(c.Plan.Order), Cell: cell, Attempt: attempt}
			t, err := r.one(ctx, cell, attempt)
			if err != nil {
				return r.trials, err
			}
			if t.Verdict.State != results.Suspect {
				break
			}
		}
	}
	return r.trials, nil
}

type runner struct {
	Config
	event  Event
	trials []results.Trial
}

// one runs and keeps one trial.
func (r *runner) one(ctx context.Context, cell results.Cell, attempt int) (results.Trial, error) {
	r.tell(r.event)
	t, err := r.blank(cell, attempt)
	if err != nil {
		return t, err
	}
	t, evidence, err := r.trial(ctx, t)
	if cause := context.Cause(ctx); cause != nil {
		return t, cause
	}
	if err != nil {
		return t, fmt.Errorf("trial %s: %w", t.ID, err)
	}
	if err := r.Keep(t, evidence); err != nil {
		return t, fmt.Errorf("trial %s: %w", t.ID, err)
	}
	r.trials = append(r.trials, t)
	finished := r.event
	finished.Done, finished.Trial = finished.Done+1, &t
	r.tell(finished)
	return t, nil
}

// blank returns the record of a trial that is to be run.
func (r *runner) blank(cell results.Cell, attempt int) (results.Trial, error) {
	scenario := slices.IndexFunc(r.Plan.Scenarios, func(s results.Scenario) bool { return s.Name == cell.Scenario })
	strategy := slices.IndexFunc(r.Strategies, func(s results.Strategy) bool { return s.Name == cell.Strategy })
	if scenario < 0 || strategy < 0 {
		return results.Trial{}, errors.New("the plan's order names a scenario or a strategy that is not there")
	}
	number := len(r.trials) + 1
	t := results.Trial{
		Schema: results.Schema, ID: results.TrialID(number, cell, attempt), Number: number, Attempt: attempt, Cell: cell,
		Strategy: r.Strategies[strategy], Scenario: r.Plan.Scenarios[scenario],
		SKU: fmt.Sprintf("hot-%s-%d", r.Tag, number), Stock: stock(r.Plan.Scenarios[scenario]),
	}
	t.KeyPrefix = t.SKU + "/"
	return t, nil
}

func (r *runner) live(l attack.Live) {
	e := r.event
	e.Live = &l
	r.tell(e)
}

func (r *runner) tell(e Event) {
	if r.Progress != nil {
		r.Progress(e)
	}
}

// TimeLeft returns about how long the rest of a plan takes once done of its trials are finished, retries aside.
func TimeLeft(p results.Plan, done int) (left time.Duration) {
	for _, cell := range p.Order[min(done, len(p.Order)):] {
		for _, s := range p.Scenarios {
			if s.Name == cell.Scenario {
				left += timeOf(s)
			}
		}
	}
	return left
}
