package plots

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/hotsku/hotsku/target/api"
)

// A tally counts a cell's orders by bin of the schedule and by outcome, of all valid trials.
type tally struct {
	cell   cell
	counts map[api.Outcome][]int64 // by bin; an outcome that never occurred is missing
	totals map[api.Outcome]int64
	all    int64
}

func tallyOf(c cell, width time.Duration, bins int) tally {
	t := tally{cell: c, counts: map[api.Outcome][]int64{}, totals: map[api.Outcome]int64{}}
	add := func(o api.Outcome, at time.Duration) {
		if t.counts[o] == nil {
			t.counts[o] = make([]int64, bins)
		}
		t.counts[o][min(max(int(at/width), 0), bins-1)]++
		t.totals[o]++
		t.all++
	}
	for _, trial := range c.trials {
		for _, h := range trial.hits {
			add(h.outcome, h.intended)
		}
		for _, at := range trial.unsent {
			add(unsent, at)
		}
	}
	return t
}

// share is the part of all orders that ended as o.
func (t tally) share(o api.Outcome) float64 {
	if t.all == 0 {
		return 0
	}
	return float64(t.totals[o]) / float64(t.all)
}

// outcomeTimeline draws what became of the orders in the course of a scenario, as their clients saw it.
func outcomeTimeline(s scene) figure {
	width := binWidth(s.span(), 50)
	bins := int((s.span()-1)/width) + 1
	f := figure{name: "outcomes-" + s.slug, title: "What customers were told: " + s.Name}
	f.sheet = &sheet{
		title: f.title,
		lead: fmt.Sprintf("Orders per second by outcome and by when they were due, in bins of %s, the mean of all valid "+
			"trials. All panels have the same scales.", formatDuration(width)),
		columns: columnsFor(len(s.cells)), panelHeight: heightFor(len(s.cells)),
		xTitle: "since the start of the schedule", yTitle: "orders per second",
	}
	var tallies []tally
	most := 0.0
	for _, c := range s.cells {
		t := tallyOf(c, width, bins)
		tallies = append(tallies, t)
		for i := range bins {
			most = max(most, t.rate(stacking, i, width))
		}
	}
	f.sheet.keys = outcomeKeys(tallies)
	for _, t := range tallies {
		p := plot.New()
		p.X.Min, p.X.Max, p.X.Tick.Marker = 0, (time.Duration(bins) * width).Seconds(), linearTicks{6, clockLabel}
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, fitLinear(most), linearTicks{5, unitsLabel}
		f.sheet.panels = append(f.sheet.panels, t.panel(p, width, bins))
	}
	f.sentence = outcomeSentence(tallies)
	return f
}

// outcomeKeys explains the outcomes that occurred.
func outcomeKeys(tallies []tally) []key {
	var keys []key
	for _, o := range stacking {
		if slices.ContainsFunc(tallies, func(t tally) bool { return t.totals[o] > 0 }) {
			keys = append(keys, key{outcomeName(o), boxSwatch(outcomeInk(o))})
		}
	}
	return keys
}

// rate is the number of orders of the given outcomes per second and trial in bin i.
func (t tally) rate(outcomes []api.Outcome, i int, width time.Duration) float64 {
	var n int64
	for _, o := range outcomes {
		if counts := t.counts[o]; counts != nil {
			n += counts[i]
		}
	}
	if n == 0 {
		return 0
	}
	return float64(n) / width.Seconds() / float64(len(t.cell.trials))
}

func (t tally) panel(p *plot.Plot, width time.Duration, bins int) panel {
	out := t.cell.panel(p)
	if out.message != "" {
		return out
	}
	out.tag = plural(t.all, "order", "orders") + t.troubles()
	if t.all == 0 {
		out.message = "No order was recorded."
		return out
	}
	for i, o := range stacking {
		if t.totals[o] > 0 {
			out.marks = append(out.marks, band(t.stairs(stacking[:i], width, bins), t.stairs(stacking[:i+1], width, bins),
				outcomeInk(o)))
		}
	}
	return out
}

// stairs is the upper edge of the stack of the given outcomes.
func (t tally) stairs(outcomes []api.Outcome, width time.Duration, bins int) plotter.XYs {
	points := make(plotter.XYs, 0, 2*bins)
	for i := range bins {
		rate := t.rate(outcomes, i, width)
		from, to := time.Duration(i)*width, time.Duration(i+1)*width
		points = append(points, plotter.XY{X: from.Seconds(), Y: rate}, plotter.XY{X: to.Seconds(), Y: rate})
	}
	return points
}

// troubles names the shares of what a customer would not want to hear, greatest first.
func (t tally) troubles() string {
	var text strings.Builder
	worst := slices.DeleteFunc(slices.Clone(stacking), func(o api.Outcome) bool {
		return o == api.Sold || o == api.Replayed || o == api.SoldOut || t.totals[o] == 0
	})
	slices.SortStableFunc(worst, func(a, b api.Outcome) int { return cmp.Compare(t.totals[b], t.totals[a]) })
	for _, o := range worst[:min(2, len(worst))] {
		fmt.Fprintf(&text, ", %s %s", percent(t.share(o)), outcomeName(o))
	}
	return text.String()
}

// outcomeSentence says who was refused for want of a turn, and how many customers were left without an answer.
func outcomeSentence(tallies []tally) string {
	tallies = slices.DeleteFunc(slices.Clone(tallies), func(t tally) bool { return t.all == 0 })
	if len(tallies) == 0 {
		return "No valid trial, hence no outcomes."
	}
	var parts []string
	for _, o := range []api.Outcome{api.Contended, api.Fenced, api.Unavailable, api.Invalid, api.Unknown, unsent} {
		worst := slices.MaxFunc(tallies, func(a, b tally) int { return cmp.Compare(a.share(o), b.share(o)) })
		if worst.totals[o] > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (under %s)", outcomeName(o), percent(worst.share(o)),
				quoted(worst.cell.strategy.Name)))
		}
	}
	if len(parts) == 0 {
		return "Every order was either sold or told that the stock was sold out; none was left without an answer."
	}
	return "Beyond sales and plain sold-outs, at most: " + strings.Join(parts, ", ") + "."
}
