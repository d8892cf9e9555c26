package plots

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// together is the greatest number of strategies that one panel shows legibly.
const together = 7

// A spectrum holds the sorted times of a cell's sales while stock was left, of all valid trials merged.
type spectrum struct {
	cell              cell
	response, service []time.Duration
	// The lines of both, and one of response with fewer points. They are nil when there are too few sales.
	responses, services, coarse plotter.XYs
}

func spectrumOf(c cell) spectrum {
	s := spectrum{cell: c}
	for _, t := range c.trials {
		phase := headline(t)
		for _, h := range t.hits {
			if h.outcome == api.Sold && (phase == results.Whole || phaseAt(t.Phases, h.intended) == phase) {
				s.response = append(s.response, h.response())
				s.service = append(s.service, h.service())
			}
		}
	}
	slices.Sort(s.response)
	slices.Sort(s.service)
	const fine, rough = 48, 8
	s.responses, s.services, s.coarse = curve(s.response, fine), curve(s.service, fine), curve(s.response, rough)
	return s
}

// headline is the phase whose sales count, by the rule of [results.Trial.Sales]: the one in which sales were to be had,
// or the whole trial if no sale falls in that.
func headline(t trial) results.PhaseName {
	if l, ok := t.Sales(); ok {
		return l.Phase
	}
	return results.Whole
}

// drawable reports whether the line reaches beyond the median.
func (s spectrum) drawable() bool { return reach(len(s.response)) > 2 }

// last is where the line of response ends.
func (s spectrum) last() plotter.XY { return s.responses[len(s.responses)-1] }

// percentileSpectrum draws how long sales took in a scenario, from the quickest far into the tail.
func percentileSpectrum(s scene) figure {
	f := figure{name: "latency-spectrum-" + s.slug, title: "How long a sale takes: " + s.Name}
	var shown []spectrum
	var notes, few []string
	for _, c := range s.cells {
		all := spectrumOf(c)
		switch {
		case all.drawable():
			shown = append(shown, all)
		case len(c.trials) == 0:
			notes = append(notes, quoted(c.strategy.Name)+": "+c.absence())
		default:
			few = append(few, fmt.Sprintf("%s (%s)", quoted(c.strategy.Name), count(len(all.response))))
		}
	}
	if len(few) > 0 {
		notes = append(notes, "Too few sales for a line, which takes more than 20: "+list(few)+".")
	}
	if len(shown) > 0 {
		notes = append(notes, "A line ends where fewer than 10 slower sales are left.")
	}
	f.sheet = &sheet{
		title: f.title,
		lead: "Percentiles of the time until the customer has the answer: sales made while stock was left, " +
			"all valid trials merged. Lower is better.",
		xTitle: "share of sales that took no longer", panelHeight: 260, columns: 1,
		keys: []key{
			{"response, from when the order was due", lineSwatch(stroke(grey, 1.6))},
			{"service, from when it was really sent", lineSwatch(stroke(grey, 1, 3, 2.5))},
		},
		notes: notes,
	}
	f.sheet.fillSpectra(shown)
	f.sentence = spectrumSentence(shown)
	return f
}

// fillSpectra draws few strategies in one panel, and many each in its own before the others.
func (s *sheet) fillSpectra(shown []spectrum) {
	p := spectrumAxes(shown)
	switch {
	case len(shown) == 0:
		s.panels = []panel{{plot: p, message: "No strategy made enough sales for a percentile."}}
	case len(shown) <= together:
		s.panels = []panel{{plot: p, marks: append(spectrumLines(shown), endLabels(shown))}}
		for _, sp := range shown {
			s.right = max(s.right, labelPen.width(sp.cell.strategy.Name)+26)
		}
		s.right = min(s.right, nameRoom)
	default:
		s.columns, s.panelHeight = 4, 110
		s.notes = append(s.notes, "The thin grey lines are the other strategies.")
		for i := range shown {
			marks := append([]plot.Plotter{spectrumContext(shown)}, spectrumLines(shown[i:i+1])...)
			s.panels = append(s.panels, panel{
				plot: p, head: shown[i].cell.strategy.Name, look: &shown[i].cell.look, marks: marks,
			})
		}
	}
}

func spectrumAxes(shown []spectrum) *plot.Plot {
	var low, high, far float64
	for _, s := range shown {
		for _, points := range []plotter.XYs{s.responses, s.services} {
			if first := points[0].Y; low == 0 || first < low {
				low = first
			}
			high = max(high, points[len(points)-1].Y)
		}
		far = max(far, s.last().X)
	}
	p := plot.New()
	p.X.Scale, p.X.Tick.Marker = logScale{}, percentileTicks{}
	p.X.Min, p.X.Max = 1, max(far*1.05, 12)
	p.Y.Scale, p.Y.Tick.Marker = logScale{}, logTicks{secondsLabel}
	p.Y.Min, p.Y.Max = fitLog(low, high)
	return p
}

// spectrumLines draws response over service, with a marker at each labelled percentile.
func spectrumLines(shown []spectrum) []plot.Plotter {
	var marks []plot.Plotter
	for _, s := range shown {
		marks = append(marks, line(s.services, stroke(s.cell.look.color, 1, 3, 2.5)))
	}
	for _, s := range shown {
		marks = append(marks, line(s.responses, stroke(s.cell.look.color, 1.6)))
		var at plotter.XYs
		for _, tick := range (percentileTicks{}).Ticks(2, s.last().X) {
			at = append(at, plotter.XY{X: tick.Value, Y: seconds(quantile(s.response, 1-1/tick.Value))})
		}
		marks = append(marks, dots(append(at, s.last()), s.cell.look.glyph(3)))
	}
	return marks
}

// spectrumContext draws all lines faintly, as one path to keep the file small.
func spectrumContext(shown []spectrum) mark {
	return func(c draw.Canvas, x, y func(float64) vg.Length) {
		var path vg.Path
		for _, s := range shown {
			for i, pt := range s.coarse {
				at := vg.Point{X: x(pt.X), Y: y(pt.Y)}
				if i == 0 {
					path.Move(at)
				} else {
					path.Line(at)
				}
			}
		}
		c.SetLineStyle(stroke(faint, .6))
		c.Stroke(path)
	}
}

// endLabels names the lines to the right of the data, moved apart where they would overlap.
func endLabels(shown []spectrum) mark {
	return func(c draw.Canvas, x, y func(float64) vg.Length) {
		sorted := slices.Clone(shown)
		slices.SortStableFunc(sorted, func(a, b spectrum) int { return cmp.Compare(b.last().Y, a.last().Y) })
		wanted := make([]vg.Length, len(sorted))
		for i, s := range sorted {
			wanted[i] = y(s.last().Y)
		}
		for i, at := range spread(wanted, 14, c.Min.Y+4, c.Max.Y-4) {
			s := sorted[i]
			from := vg.Point{X: x(s.last().X), Y: y(s.last().Y)}
			c.StrokeLines(stroke(tint(s.cell.look.color, .5), .6),
				[]vg.Point{from, {X: c.Max.X + 2, Y: at}, {X: c.Max.X + 6, Y: at}})
			c.DrawGlyphNoClip(s.cell.look.glyph(3), vg.Point{X: c.Max.X + 11, Y: at})
			name := labelPen.fit(s.cell.strategy.Name, nameRoom-26)
			labelPen.write(c, name, c.Max.X+18, at-labelPen.middle(), leftOf)
		}
	}
}

// spread moves places that fall from high to low apart to at least gap, and into the bounds as far as they have room.
func spread(places []vg.Length, gap, low, high vg.Length) []vg.Length {
	out := slices.Clone(places)
	for i := range out {
		out[i] = min(out[i], high-gap*vg.Length(i))
		if i > 0 {
			out[i] = min(out[i], out[i-1]-gap)
		}
	}
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = max(out[i], low+gap*vg.Length(len(out)-1-i))
	}
	return out
}

// spectrumSentence compares the quickest and the slowest at the highest percentile that all of them reach.
func spectrumSentence(shown []spectrum) string {
	if len(shown) == 0 {
		return "No strategy made enough sales for a percentile."
	}
	least := slices.MinFunc(shown, func(a, b spectrum) int { return cmp.Compare(len(a.response), len(b.response)) })
	ticks := percentileTicks{}.Ticks(2, reach(len(least.response)))
	at := ticks[len(ticks)-1]
	value := func(s spectrum) time.Duration { return quantile(s.response, 1-1/at.Value) }
	byValue := func(a, b spectrum) int { return cmp.Compare(value(a), value(b)) }
	quick, slow := slices.MinFunc(shown, byValue), slices.MaxFunc(shown, byValue)
	if len(shown) == 1 {
		return fmt.Sprintf("%s of the sales of %s took no longer than %s.%s", at.Label, quoted(quick.cell.strategy.Name),
			formatDuration(value(quick)), lateSentence(shown))
	}
	return fmt.Sprintf("%s of sales took no longer than %s under %s and %s under %s, %s as long.%s", at.Label,
		formatDuration(value(quick)), quoted(quick.cell.strategy.Name), formatDuration(value(slow)),
		quoted(slow.cell.strategy.Name), times(value(slow), value(quick)), lateSentence(shown))
}

// lateSentence says where the generator's lateness shows in the median.
func lateSentence(shown []spectrum) string {
	var late []string
	var most time.Duration
	for _, s := range shown {
		response, service := quantile(s.response, .5), quantile(s.service, .5)
		if float64(response-service) > .05*float64(response) {
			late = append(late, quoted(s.cell.strategy.Name))
			most = max(most, response-service)
		}
	}
	if len(late) == 0 {
		return " Response and service agree within 5 % at the median: the generator kept its schedule."
	}
	return fmt.Sprintf(" At the median of %s, up to %s of the response, over 5 %%, passed before the order was sent.",
		listOr(late, "strategies"), formatDuration(most))
}
