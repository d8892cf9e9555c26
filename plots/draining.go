package plots

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/hotsku/hotsku/results"
)

// A drain is a trial's stock as its acknowledged sales took it away.
type drain struct {
	trial trial
	sales []hit // in the order of their answers
	units int64 // in all of them
}

func drainOf(t trial) drain {
	d := drain{trial: t}
	for _, h := range t.hits {
		if h.outcome.Acknowledged() {
			d.sales = append(d.sales, h)
			d.units += h.units
		}
	}
	slices.SortStableFunc(d.sales, func(a, b hit) int { return cmp.Compare(a.end, b.end) })
	return d
}

// last is when the last sale was answered.
func (d drain) last() time.Duration {
	if n := len(d.sales); n > 0 {
		return d.sales[n-1].end
	}
	return 0
}

// left is how many units the ledger leaves of the stock: below zero when oversold.
func (d drain) left() int64 { return d.trial.Stock - d.trial.Audit.Sold }

// firstOversell is when the first unit beyond the stock was acknowledged.
func (d drain) firstOversell() (time.Duration, bool) {
	left := d.trial.Stock
	for _, h := range d.sales {
		if left -= h.units; left < 0 {
			return h.end, true
		}
	}
	return 0, false
}

// curve samples the units left, n times until the given moment and at the crossing of zero.
func (d drain) curve(until time.Duration, n int) plotter.XYs {
	points := plotter.XYs{{X: 0, Y: float64(d.trial.Stock)}}
	left, next := d.trial.Stock, 0
	take := func(at time.Duration) {
		for next < len(d.sales) && d.sales[next].end <= at {
			left -= d.sales[next].units
			next++
		}
		points = append(points, plotter.XY{X: at.Seconds(), Y: float64(left)})
	}
	crossing, crosses := d.firstOversell()
	for i := 1; i <= n; i++ {
		at := until * time.Duration(i) / time.Duration(n)
		if crosses && crossing <= at {
			take(crossing)
			crosses = false
		}
		take(at)
	}
	return points
}

// stockTimeline draws how the stock of a drain went, and where it fell below zero.
func stockTimeline(s scene) figure {
	f := figure{name: "stock-" + s.slug, title: "How the stock drains: " + s.Name}
	f.sheet = &sheet{
		title: f.title,
		lead: "Units left by acknowledged sales, when they were answered; one line for each valid trial, the worst drawn " +
			"strong. All panels have the same scales.",
		columns: columnsFor(len(s.cells)), panelHeight: heightFor(len(s.cells)),
		xTitle: "since the start of the schedule", yTitle: "units left",
		keys: []key{
			{"units left", lineSwatch(stroke(grey, 1.6))},
			{"beyond the stock: sold, and not there", boxSwatch(tint(alarm, .3))},
			{"first oversell", dotSwatch(oversellDot)},
		},
		notes: []string{"Above each panel stands what the ledger says of the worst trial. It counts every committed " +
			"unit, also those that no customer was told of."},
	}
	drains := make([][]drain, len(s.cells))
	until, low, high := s.span(), int64(0), int64(0)
	for i, c := range s.cells {
		for _, t := range c.trials {
			d := drainOf(t)
			drains[i] = append(drains[i], d)
			low, high = min(low, t.Stock-d.units), max(high, t.Stock)
			until = max(until, d.last())
		}
		slices.SortStableFunc(drains[i], func(a, b drain) int { return cmp.Compare(b.left(), a.left()) })
	}
	for i, c := range s.cells {
		p := plot.New()
		p.X.Min, p.X.Max, p.X.Tick.Marker = 0, until.Seconds(), linearTicks{6, clockLabel}
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = -fitBelow(low), fitLinear(float64(high)), linearTicks{5, unitsLabel}
		f.sheet.panels = append(f.sheet.panels, drainPanel(c, p, drains[i], until))
	}
	f.sentence = stockSentence(s.cells, drains)
	return f
}

// oversellDot marks the first unit beyond the stock.
var oversellDot = draw.GlyphStyle{Color: alarm, Radius: 3.2, Shape: draw.CircleGlyph{}}

// fitBelow is the depth of an axis below zero that holds low.
func fitBelow(low int64) float64 {
	if low >= 0 {
		return 0
	}
	return fitLinear(float64(-low))
}

// drainPanel draws the trials of a cell, which end with the worst.
func drainPanel(c cell, p *plot.Plot, drains []drain, until time.Duration) panel {
	out := c.panel(p)
	if out.message != "" {
		return out
	}
	worst := drains[len(drains)-1]
	out.tag, out.alert = worst.total(len(drains))
	const samples = 160
	for _, d := range drains[:len(drains)-1] {
		out.marks = append(out.marks, line(d.curve(until, samples), stroke(tint(c.look.color, .45), .8)))
	}
	strong := worst.curve(until, samples)
	out.marks = append(out.marks, belowZero(strong), level(0, stroke(black, .8)),
		line(strong, stroke(c.look.color, 1.8)))
	if at, oversold := worst.firstOversell(); oversold {
		out.marks = append(out.marks, dots(plotter.XYs{{X: at.Seconds(), Y: 0}}, oversellDot),
			note(at.Seconds(), 0, "first oversell "+formatDuration(at), tagPen.in(alarm).heavy()))
	}
	return out
}

// total says what the ledger holds of the worst of n trials, and whether that is more than there was.
func (d drain) total(n int) (text string, oversold bool) {
	total := fmt.Sprintf("%s of %s sold", count(d.trial.Audit.Sold), count(d.trial.Stock))
	if d.units != d.trial.Audit.Sold {
		total += fmt.Sprintf(", %s acknowledged", count(d.units))
	}
	if over := d.trial.Audit.Oversold; over > 0 {
		return fmt.Sprintf("%s oversold: %s", count(over), total), true
	}
	return fmt.Sprintf("worst of %d: %s", n, total), false
}

// belowZero fills what lies between zero and the line under it.
func belowZero(points plotter.XYs) plot.Plotter {
	var upper, lower plotter.XYs
	for _, pt := range points {
		lower = append(lower, plotter.XY{X: pt.X, Y: min(pt.Y, 0)})
		upper = append(upper, plotter.XY{X: pt.X})
	}
	return band(lower, upper, tint(alarm, .3))
}

// stockSentence names those who sold what was not there, and those who stopped at zero.
func stockSentence(cells []cell, drains [][]drain) string {
	var over []offender
	var held []string
	for i, c := range cells {
		if len(drains[i]) == 0 {
			continue
		}
		worst := drains[i][len(drains[i])-1]
		units := worst.trial.Audit.Oversold
		if units <= 0 {
			held = append(held, quoted(c.strategy.Name))
			continue
		}
		story := fmt.Sprintf("%s sold %s beyond a stock of %s in its worst trial", quoted(c.strategy.Name),
			plural(units, "unit", "units"), count(worst.trial.Stock))
		if at, seen := worst.firstOversell(); seen {
			story += ", the first after " + formatDuration(at)
		}
		over = append(over, offender{c.strategy.Name, c.strategy.Safe, units, story})
	}
	stories := told(over, "sold beyond the stock")
	switch {
	case len(over) == 0 && len(held) == 0:
		return "No valid trial, hence no stock to watch."
	case len(over) == 0:
		return fmt.Sprintf("%s stopped at zero in every valid trial.", listOr(held, "strategies"))
	case len(held) == 0:
		return semicolons(stories) + "."
	}
	return fmt.Sprintf("%s; %s never went below zero.", semicolons(stories), listOr(held, "others"))
}

// drains reports whether the stock binds in s, so that its course is worth a picture.
func (s scene) drains() bool { return s.Shape != results.Sustain }
