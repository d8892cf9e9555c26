package results

import (
	"cmp"
	"slices"

	"github.com/hotsku/hotsku/target/api"
)

// A Summary is what the trials of a run say together: statistics between trials, never within one.
type Summary struct {
	Cells     []CellSummary // scenarios in the plan's order, in each the strategies in the plan's order
	Discarded []Trial       // the invalid trials, with their reasons in their verdicts, by number
}

// A CellSummary is what the trials of one strategy in one scenario say together.
type CellSummary struct {
	Scenario string
	Strategy Strategy // its name alone when the cell has no trial
	Blocks   int      // the valid trials that the plan asks for
	Trials   int      // Valid + Invalid
	Valid    int
	Invalid  int
	Broken   int // the valid trials in which an invariant broke
	// WorstOversold is the most units that a trial, valid or not, sold beyond the stock. It is the worst, not the median,
	// which would let one oversell in ten trials vanish.
	WorstOversold int64
	Oversold      []int64           // units, of each valid trial, by number
	Broke         []BrokenInvariant // over all trials, valid or not, in the order of the invariants' first appearance
	// P50, P99 and P999 are of the sales' response time in ms, see [Trial.Sales]; Goodput in orders per second, see
	// [Trial.Goodput]. They and UnavailableShare, from 0 to 1, are over the valid trials that have the figure.
	P50, P99, P999, Goodput Spread
	UnavailableShare        Spread
	// The totals over the valid trials: stalls that struck, writes that the fence refused, and hits whose outcome their
	// client could not know; for how long stalls made replicas stand still, and the keys that they deleted in Redis; events.
	Strikes, Refusals int64
	Unknown           int
	Frozen            Duration
	Lost              int64
	Events            map[string]int64 // nil if there was none
	Claim             Claim
}

// A BrokenInvariant is an invariant that broke in a cell.
type BrokenInvariant struct {
	Invariant Invariant
	Trials    int   // in which it broke, valid or not
	Invalid   int   // those of them that are invalid
	Worst     int64 // the greatest count in a trial, in the invariant's own unit
}

// Short reports whether the cell has fewer valid trials than the plan asks for.
func (c CellSummary) Short() bool { return c.Valid < c.Blocks }

// Summarize sums up the trials of run. Every cell of the plan has its summary, also one that no trial was made of, and
// so has every cell of a trial that the plan does not name.
func Summarize(run Run, trials []Trial) Summary {
	trials = slices.Clone(trials)
	sortTrials(trials)
	var s Summary
	for _, key := range cellsOf(run.Plan, trials) {
		s.Cells = append(s.Cells, summarizeCell(key, run, trials))
	}
	for _, t := range trials {
		if !t.Valid() {
			s.Discarded = append(s.Discarded, t)
		}
	}
	return s
}

type cellKey struct{ scenario, strategy string }

func (k cellKey) holds(t Trial) bool {
	return t.Cell.Scenario == k.scenario && t.Cell.Strategy == k.strategy
}

// cellsOf returns the cells that are planned, by scenario and strategy, and then those of trials beyond the plan.
func cellsOf(plan Plan, trials []Trial) []cellKey {
	var keys []cellKey
	for _, scenario := range plan.Scenarios {
		for _, strategy := range plan.Strategies {
			if key := (cellKey{scenario.Name, strategy}); key.planned(plan) > 0 {
				keys = append(keys, key)
			}
		}
	}
	for _, t := range trials {
		if key := (cellKey{t.Cell.Scenario, t.Cell.Strategy}); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// planned returns how many trials of the cell the plan asks for: as many as its order has, or one a block when it has
// none yet.
func (k cellKey) planned(plan Plan) int {
	if len(plan.Order) == 0 {
		return max(1, plan.Blocks)
	}
	n := 0
	for _, c := range plan.Order {
		if c.Scenario == k.scenario && c.Strategy == k.strategy {
			n++
		}
	}
	return n
}

func summarizeCell(key cellKey, run Run, trials []Trial) CellSummary {
	c := CellSummary{Scenario: key.scenario, Strategy: Strategy{Name: key.strategy}, Blocks: key.planned(run.Plan)}
	for _, s := range run.Strategies {
		if s.Name == key.strategy {
			c.Strategy = s
		}
	}
	var valid []Trial
	for _, t := range trials {
		if !key.holds(t) {
			continue
		}
		c.Trials++
		c.Strategy = t.Strategy
		c.Strategy.Name = cmp.Or(c.Strategy.Name, key.strategy)
		c.WorstOversold = max(c.WorstOversold, t.Audit.Oversold)
		c.addBroken(t)
		if t.Valid() {
			valid = append(valid, t)
		}
	}
	c.Valid, c.Invalid = len(valid), c.Trials-len(valid)
	c.measure(valid)
	c.Claim = c.claim()
	return c
}

// addBroken counts the invariants that broke in t.
func (c *CellSummary) addBroken(t Trial) {
	for _, check := range t.Audit.Broke() {
		i := slices.IndexFunc(c.Broke, func(b BrokenInvariant) bool { return b.Invariant == check.Invariant })
		if i < 0 {
			i = len(c.Broke)
			c.Broke = append(c.Broke, BrokenInvariant{Invariant: check.Invariant})
		}
		b := &c.Broke[i]
		b.Trials++
		b.Worst = max(b.Worst, check.Count)
		if !t.Valid() {
			b.Invalid++
		}
	}
}

// measure takes the figures of the valid trials.
func (c *CellSummary) measure(valid []Trial) {
	for _, t := range valid {
		if t.Broke() {
			c.Broken++
		}
		c.Oversold = append(c.Oversold, t.Audit.Oversold)
		c.Strikes += t.Strikes
		c.Refusals += t.Refusals
		c.Unknown += t.Attack.Outcomes[api.Unknown]
		c.Frozen += t.Frozen
		c.Lost += t.Lost
		for name, n := range t.Events {
			if c.Events == nil {
				c.Events = map[string]int64{}
			}
			c.Events[name] += n
		}
	}
	sales := func(of func(Latency) Percentile) Spread {
		return spreadOver(valid, func(t Trial) (float64, bool) {
			l, _ := t.Sales() // without sales all percentiles are unknown
			return of(l).Milliseconds()
		})
	}
	c.P50 = sales(func(l Latency) Percentile { return l.P50 })
	c.P99 = sales(func(l Latency) Percentile { return l.P99 })
	c.P999 = sales(func(l Latency) Percentile { return l.P999 })
	c.Goodput = spreadOver(valid, Trial.Goodput)
	c.UnavailableShare = spreadOver(valid, Trial.UnavailableShare)
}

// spreadOver returns the spread of a figure over the trials that have it.
func spreadOver(trials []Trial, figure func(Trial) (float64, bool)) Spread {
	var figures []float64
	for _, t := range trials {
		if f, ok := figure(t); ok {
			figures = append(figures, f)
		}
	}
	return spreadOf(figures)
}
