package plots

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// A source is a stored run.
type source interface {
	Run() results.Run
	Trials() []results.Trial
	Evidence(trialID string) (results.Evidence, error)
}

var _ source = (*results.Folder)(nil)

// A scene is a scenario with all that its figures are drawn from.
type scene struct {
	results.Scenario
	slug  string // of its files
	cells []cell // by strategy, in the order of the plan
}

// A cell holds the trials of one strategy in one scenario.
type cell struct {
	strategy  results.Strategy
	look      look
	trials    []trial // the valid ones: the only ones that are drawn as results
	discarded []trial // with their record and anomalies alone
}

// A trial is a trial with the part of its evidence that figures and report need.
type trial struct {
	results.Trial
	hits      []hit           // by their place in the schedule
	unsent    []time.Duration // when they should have been sent
	stalls    []window        // traced ones, in the order of their start, none overlapping another
	anomalies []results.Anomaly
}

// A hit is the part of a [results.Hit] that figures need.
type hit struct {
	intended, sent, end time.Duration
	units               int64
	outcome             api.Outcome
}

func (h hit) response() time.Duration { return h.end - h.intended }

func (h hit) service() time.Duration { return h.end - h.sent }

type window struct{ from, to time.Duration }

// gather reads the evidence of every trial, one at a time.
func gather(ctx context.Context, from source) ([]scene, error) {
	plan, trials := from.Run().Plan, from.Trials()
	strategies := strategiesOf(plan, trials)
	style := looks(strategies)
	var scenes []scene
	slugs := map[string]bool{}
	for _, scenario := range scenariosOf(plan, trials) {
		s := scene{Scenario: scenario, slug: slug(scenario.Name, slugs)}
		for _, strategy := range strategies {
			c := cell{strategy: strategy, look: style[strategy.Name]}
			for _, t := range trials {
				if t.Cell.Scenario != scenario.Name || t.Cell.Strategy != strategy.Name {
					continue
				}
				if err := c.add(ctx, from, t); err != nil {
					return nil, err
				}
			}
			s.cells = append(s.cells, c)
		}
		scenes = append(scenes, s)
	}
	return scenes, nil
}

// add reads the evidence of a trial of the cell.
func (c *cell) add(ctx context.Context, from source, t results.Trial) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	evidence, err := from.Evidence(t.ID)
	if err != nil {
		return fmt.Errorf("plots: evidence of trial %s: %w", t.ID, err)
	}
	if t.Valid() {
		c.trials = append(c.trials, digest(t, evidence))
	} else {
		c.discarded = append(c.discarded, trial{Trial: t, anomalies: evidence.Anomalies})
	}
	return nil
}

// strategiesOf lists the strategies in the order of the plan, then those that only trials name. Of a strategy that
// never ran nothing is known but its name.
func strategiesOf(plan results.Plan, trials []results.Trial) []results.Strategy {
	var all []results.Strategy
	for _, name := range plan.Strategies {
		all = append(all, results.Strategy{Name: name})
	}
	for _, t := range trials {
		strategy := t.Strategy
		strategy.Name = t.Cell.Strategy
		i := slices.IndexFunc(all, func(s results.Strategy) bool { return s.Name == strategy.Name })
		if i < 0 {
			all = append(all, strategy)
		} else {
			all[i] = strategy
		}
	}
	return all
}

// scenariosOf lists the scenarios in the order of the plan, then those that only trials name.
func scenariosOf(plan results.Plan, trials []results.Trial) []results.Scenario {
	all := slices.Clone(plan.Scenarios)
	for _, t := range trials {
		known := slices.ContainsFunc(all, func(s results.Scenario) bool { return s.Name == t.Cell.Scenario })
		if !known {
			scenario := t.Scenario
			scenario.Name = t.Cell.Scenario
			all = append(all, scenario)
		}
	}
	return all
}

// slug makes a name fit for a file, and unlike those in taken.
func slug(name string, taken map[string]bool) string {
	var out []byte
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r >= 'A' && r <= 'Z':
			out = append(out, byte(r))
		case len(out) > 0 && out[len(out)-1] != '-':
			out = append(out, '-')
		}
	}
	base := cmp.Or(strings.Trim(string(out[:min(len(out), 60)]), "-"), "scenario")
	s := base
	for n := 2; taken[s]; n++ {
		s = fmt.Sprintf("%s-%d", base, n)
	}
	taken[s] = true
	return s
}

func digest(t results.Trial, e results.Evidence) trial {
	sorted := slices.Clone(e.Hits)
	slices.SortFunc(sorted, func(a, b results.Hit) int { return cmp.Compare(a.Seq, b.Seq) })
	d := trial{Trial: t, anomalies: e.Anomalies, unsent: gaps(sorted, t.Attack.Planned, t.Scenario.Duration.D())}
	d.hits = make([]hit, len(sorted))
	for i, h := range sorted {
		d.hits[i] = hit{intended: h.Intended, sent: h.Sent, end: h.End, units: int64(h.Quantity), outcome: h.Outcome}
	}
	for _, s := range e.Steps {
		if s.Stall > 0 {
			end := time.Unix(0, s.Start).Sub(t.Zero)
			d.stalls = append(d.stalls, window{end - time.Duration(s.Stall), end})
		}
	}
	d.stalls = merged(d.stalls)
	return d
}

// gaps tells when the orders that are missing in the schedule were due. No record says it, so they are spread evenly
// between the orders around them.
func gaps(hits []results.Hit, planned int, duration time.Duration) []time.Duration {
	var missing []time.Duration
	next, since := uint64(0), time.Duration(0)
	spread := func(until uint64, to time.Duration) {
		n := time.Duration(until - next + 1)
		for i := next; i < until; i++ {
			missing = append(missing, since+(to-since)*time.Duration(i-next+1)/n)
		}
	}
	for _, h := range hits {
		if h.Seq > next {
			spread(h.Seq, h.Intended)
		}
		next, since = h.Seq+1, h.Intended
	}
	if planned > 0 && uint64(planned) > next {
		spread(uint64(planned), max(duration, since))
	}
	return missing
}

// merged joins windows that overlap.
func merged(all []window) []window {
	slices.SortFunc(all, func(a, b window) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	var out []window
	for _, w := range all {
		if n := len(out); n > 0 && w.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, w.to)
			continue
		}
		out = append(out, w)
	}
	return out
}

// span is the length of the scenario's schedule, as far as it is known.
func (s scene) span() time.Duration {
	span := s.Duration.D()
	for _, c := range s.cells {
		for _, t := range c.trials {
			if n := len(t.hits); n > 0 {
				span = max(span, t.hits[n-1].intended)
			}
		}
	}
	if span <= 0 {
		return time.Second
	}
	return span
}

// drawn is the number of valid trials in the scene.
func (s scene) drawn() int {
	n := 0
	for _, c := range s.cells {
		n += len(c.trials)
	}
	return n
}

// panel is the panel of the cell's strategy on the axes of p, without its data; it has a message when there are none.
func (c cell) panel(p *plot.Plot) panel {
	return panel{head: c.strategy.Name, look: &c.look, plot: p, tag: c.missing(), message: c.absence()}
}

// missing is absence in two or three words.
func (c cell) missing() string {
	switch {
	case len(c.trials) > 0:
		return ""
	case len(c.discarded) > 0:
		return "no valid trial"
	}
	return "not run"
}

// absence says in words why there is nothing to draw of c, or "" when there is.
func (c cell) absence() string {
	switch {
	case len(c.trials) > 0:
		return ""
	case len(c.discarded) > 0:
		reasons := c.discarded[len(c.discarded)-1].Verdict.Reasons
		if len(reasons) == 0 {
			return fmt.Sprintf("No valid trial: all %d were discarded.", len(c.discarded))
		}
		return fmt.Sprintf("No valid trial: %d discarded, the last because: %s.", len(c.discarded), reasons[0])
	}
	return "Not run."
}
