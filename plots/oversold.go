package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/hotsku/hotsku/results"
)

// oversoldUnits draws the oversold units of every valid trial: the question that all of this is about.
func oversoldUnits(scenes []scene) figure {
	f := figure{name: "oversold", title: "Units sold beyond the stock"}
	f.sheet = &sheet{
		title: f.title,
		lead: "One mark for each valid trial, counted in the ledger. The scale is logarithmic to the right of the " +
			"grey band, which is zero.",
		rowNames: true, xTitle: "oversold units in a trial", columns: min(3, max(1, len(scenes))),
		notes: []string{"Marks are spread within their row. The figure beside them is the worst trial's."},
	}
	if slices.ContainsFunc(scenes, scene.oversoldDiscarded) {
		ring := draw.GlyphStyle{Color: grey, Radius: 3.4, Shape: ringGlyph{}}
		f.sheet.keys = []key{{"a discarded trial: no result, but the ledger tells of it", dotSwatch(ring)}}
	}
	var most int64
	for _, s := range scenes {
		height, _ := rowSize(len(s.cells))
		f.sheet.panelHeight = max(f.sheet.panelHeight, height*vg.Length(len(s.cells)))
		for _, c := range s.cells {
			most = max(most, worstOversold(c.trials), worstOversold(c.discarded))
		}
	}
	for _, s := range scenes {
		f.sheet.panels = append(f.sheet.panels, oversoldPanel(s, most))
	}
	if len(scenes) == 0 {
		none := oversoldPanel(scene{}, 0)
		none.tag, none.message = "", "The run has no trial."
		f.sheet.panelHeight, f.sheet.panels = 80, []panel{none}
	}
	f.sentence = oversoldSentence(scenes)
	return f
}

// rowSize is the height of a row among so many, and the radius of its marks: room for a few trials in each row, and on the
// page for many rows.
func rowSize(rows int) (height, radius vg.Length) {
	if rows < manyNames {
		return 26, 3
	}
	return 20, 2.3
}

func worstOversold(trials []trial) int64 {
	var worst int64
	for _, t := range trials {
		worst = max(worst, t.Audit.Oversold)
	}
	return worst
}

// oversoldDiscarded reports whether a discarded trial oversold: a gate doubts its times and its load, never its ledger.
func (s scene) oversoldDiscarded() bool {
	return slices.ContainsFunc(s.cells, func(c cell) bool { return worstOversold(c.discarded) > 0 })
}

// place is where a number of units lies on the axis: 0 at zero, 1 unit at 1, and from there a decade at a time.
func place(units int64) float64 {
	if units <= 0 {
		return 0
	}
	return 1 + math.Log10(float64(units))
}

// zeroBand is the half width of the zero band on the axis.
const zeroBand = .35

func oversoldPanel(s scene, most int64) panel {
	p := plot.New()
	p.X.Min, p.X.Max = -zeroBand, max(place(most), 2)+.3
	p.X.Max += (p.X.Max - p.X.Min) * .3 // for the label of the greatest
	p.X.Tick.Marker = unitTicks(most)
	p.Y.Min, p.Y.Max = -.5, float64(len(s.cells))-.5
	tag := plural(s.drawn(), "valid trial", "valid trials")
	if s.Shape == results.Sustain {
		tag += ": the stock never binds"
	}
	out := panel{head: s.Name, tag: tag, plot: p}
	out.marks = append(out.marks, mark(func(c draw.Canvas, x, y func(float64) vg.Length) {
		c.SetColor(hair)
		c.Fill(box(c, c.Min.X, x(zeroBand), c.Min.Y, c.Max.Y).Rectangle.Path())
	}))
	var names plot.ConstantTicks
	_, radius := rowSize(len(s.cells))
	for i, c := range s.cells {
		row := float64(len(s.cells) - 1 - i) // the first strategy at the top
		names = append(names, plot.Tick{Value: row, Label: c.strategy.Name})
		out.marks = append(out.marks, oversoldRow(c, row, radius)...)
	}
	p.Y.Tick.Marker = names
	return out
}

func unitTicks(most int64) plot.ConstantTicks {
	ticks := plot.ConstantTicks{{Value: 0, Label: "0"}}
	for units := int64(1); units/10 < max(most, 10); units *= 10 {
		ticks = append(ticks, plot.Tick{Value: place(units), Label: count(units)})
	}
	return ticks
}

// oversoldRow draws the trials of one strategy around the height of its row.
func oversoldRow(c cell, row float64, radius vg.Length) []plot.Plotter {
	var rings plotter.XYs
	for i, t := range c.discarded {
		if t.Audit.Oversold > 0 {
			rings = append(rings, plotter.XY{X: place(t.Audit.Oversold), Y: row + jitter(i, len(c.discarded))})
		}
	}
	marks := []plot.Plotter{dots(rings, draw.GlyphStyle{Color: c.look.color, Radius: 3.4, Shape: ringGlyph{}})}
	if len(c.trials) == 0 {
		return append(marks, beside(max(place(worstOversold(c.discarded)), zeroBand-.15), row, c.missing(), grey, false))
	}
	trials := slices.Clone(c.trials)
	slices.SortStableFunc(trials, func(a, b trial) int { return cmp.Compare(a.Audit.Oversold, b.Audit.Oversold) })
	var points plotter.XYs
	for i, t := range trials {
		points = append(points, plotter.XY{X: place(t.Audit.Oversold), Y: row + jitter(i, len(trials))})
	}
	worst := trials[len(trials)-1].Audit.Oversold
	ring := c.look.glyph(radius + 1)
	ring.Color = white
	text, ink := fmt.Sprintf("0 in %s", plural(len(trials), "trial", "trials")), color.Color(grey)
	if worst > 0 {
		text, ink = count(worst), black
		if c.strategy.Safe {
			ink = alarm
		}
	}
	return append(marks, dots(points, ring), dots(points, c.look.glyph(radius)),
		beside(max(place(worst), zeroBand-.15), row, text, ink, worst > 0))
}

// jitter spreads the n marks of a row evenly over its height, those of like value apart: their heights go up by a
// stride that has no divisor in common with n.
func jitter(i, n int) float64 {
	stride := max(1, int(math.Round(float64(n)*.382)))
	for gcd(stride, n) != 1 {
		stride++
	}
	return (float64(i*stride%n)+.5)/float64(n)*.72 - .36
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// beside writes text to the right of a point or, where there is no room, to the left.
func beside(atX, atY float64, text string, ink color.Color, bold bool) mark {
	return func(c draw.Canvas, x, y func(float64) vg.Length) {
		p := tagPen.in(ink)
		p.bold = bold
		left, base := x(atX)+7, y(atY)-p.middle()
		if width := p.width(text); left+width > c.Max.X {
			left = x(atX) - 7 - width
		}
		c.SetColor(white)
		c.Fill(box(c, left-2, left+p.width(text)+2, base-2, base+p.size).Rectangle.Path())
		p.write(c, text, left, base, leftOf)
	}
}

// A score counts a strategy's trials over all scenarios.
type score struct {
	name           string
	safe           bool
	n, over, worst int64
	where          []string // the scenarios in which it oversold
}

// scoresOf counts per strategy, in the order of the plan.
func scoresOf(scenes []scene) []*score {
	var scores []*score
	for _, s := range scenes {
		for _, c := range s.cells {
			i := slices.IndexFunc(scores, func(sc *score) bool { return sc.name == c.strategy.Name })
			if i < 0 {
				i = len(scores)
				scores = append(scores, &score{name: c.strategy.Name, safe: c.strategy.Safe})
			}
			scores[i].add(s.Name, c)
		}
	}
	return scores
}

func (sc *score) add(scenario string, c cell) {
	for _, t := range c.trials {
		sc.n++
		if t.Audit.Oversold > 0 {
			sc.over++
		}
	}
	if worst := worstOversold(c.trials); worst > 0 {
		sc.worst = max(sc.worst, worst)
		sc.where = append(sc.where, scenario)
	}
}

// oversoldSentence names those who oversold, and says what none in so many trials still leaves possible for the others.
func oversoldSentence(scenes []scene) string {
	var over []offender
	var held []string
	var least int64
	for _, sc := range scoresOf(scenes) {
		switch {
		case sc.n == 0:
		case sc.over > 0:
			over = append(over, offender{sc.name, sc.safe, sc.worst, fmt.Sprintf("%s oversold in %s of %s, by %s at worst (in %s)",
				quoted(sc.name), count(sc.over), plural(sc.n, "valid trial", "valid trials"), plural(sc.worst, "unit", "units"),
				list(sc.where))})
		default:
			held = append(held, quoted(sc.name))
			if least == 0 || sc.n < least {
				least = sc.n
			}
		}
	}
	if len(over)+len(held) == 0 {
		return "There is no valid trial, hence nothing to say about overselling."
	}
	parts := told(over, "oversold")
	if len(held) > 0 {
		parts = append(parts, fmt.Sprintf("%s never oversold; zero in %s still allows, at 95 %% confidence, "+
			"a share of up to %s", listOr(held, rest(over)), plural(least, "valid trial", "valid trials"),
			percent(results.UpperBound(0, int(least)))))
	}
	return semicolons(parts) + "."
}

// An offender is a strategy that sold what was not there.
type offender struct {
	name  string
	safe  bool
	units int64  // in its worst trial
	story string // all that is known, in a sentence without its end
}

// told tells each offender's story. If there are many, only those do get one that claim to be safe: of the controls, which
// are meant to do it, the units have to do.
func told(all []offender, did string) []string {
	var stories, controls []string
	for _, o := range all {
		if o.safe || len(all) < manyNames {
			stories = append(stories, o.story)
			continue
		}
		by := count(o.units)
		if len(controls) == 0 {
			by = plural(o.units, "unit", "units")
		}
		controls = append(controls, quoted(o.name)+" by "+by)
	}
	if len(controls) > 0 {
		stories = append(stories, fmt.Sprintf("%s %s, at worst %s", plural(len(controls), "control", "controls"), did, list(controls)))
	}
	return stories
}

// rest is what those are called that are not among the offenders.
func rest(offenders []offender) string {
	if len(offenders) == 0 {
		return "strategies"
	}
	return "others"
}

func semicolons(parts []string) string { return strings.Join(parts, "; ") }
