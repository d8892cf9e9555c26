package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// leastPerBin is the number of sales below which a bin has no percentiles.
const leastPerBin = 10

// A bin is a stretch of the schedule with the times of the sales that were due in it.
type bin struct {
	at       time.Duration // its middle
	sales    int
	p50, p99 time.Duration // p99 is the slowest sale where there are fewer than 100
}

// A track is a cell's bins that hold enough sales, in order.
type track struct {
	cell cell
	bins []bin
	few  int // sales in bins that are left out
}

func trackOf(c cell, width time.Duration) track {
	byBin := map[int64][]time.Duration{}
	for _, t := range c.trials {
		for _, h := range t.hits {
			if h.outcome == api.Sold {
				i := int64(h.intended / width)
				byBin[i] = append(byBin[i], h.response())
			}
		}
	}
	tr := track{cell: c}
	for i, times := range byBin {
		if len(times) < leastPerBin {
			tr.few += len(times)
			continue
		}
		slices.Sort(times)
		tr.bins = append(tr.bins, bin{
			at: time.Duration(i)*width + width/2, sales: len(times),
			p50: quantile(times, .5), p99: quantile(times, .99),
		})
	}
	slices.SortFunc(tr.bins, func(a, b bin) int { return cmp.Compare(a.at, b.at) })
	return tr
}

// binWidth cuts span into at most the given number of equal bins of a round width.
func binWidth(span time.Duration, most int) time.Duration {
	return max(time.Duration(math.Round(stepUp(span.Seconds()/float64(most))*1e9)), time.Millisecond)
}

// fineness is the number of bins that leaves about 25 sales in each for the strategy that sold least.
func (s scene) fineness() int {
	least := math.MaxInt
	for _, c := range s.cells {
		n := 0
		for _, t := range c.trials {
			for _, h := range t.hits {
				if h.outcome == api.Sold {
					n++
				}
			}
		}
		if n >= leastPerBin {
			least = min(least, n)
		}
	}
	return min(max(least/25, 8), 60)
}

// latencyTimeline draws how long sales took in the course of a scenario.
func latencyTimeline(s scene) figure {
	width := binWidth(s.span(), s.fineness())
	f := figure{name: "latency-timeline-" + s.slug, title: "How long sales take in the course of a trial: " + s.Name}
	f.sheet = &sheet{
		title: f.title,
		lead: fmt.Sprintf("Response time of sales by when they were due, in bins of %s, all valid trials merged. "+
			"All panels have the same scales.", formatDuration(width)),
		columns: columnsFor(len(s.cells)), panelHeight: heightFor(len(s.cells)),
		xTitle: "since the start of the schedule",
		keys: []key{
			{"p99 above, p50 below", bandSwatch(tint(grey, .2), stroke(grey, 1.4), stroke(grey, .8))},
			{"the stock sold out, in each trial", uprightSwatch(soldOutLine)},
		},
		notes: []string{"In a bin of fewer than 100 sales the p99 is the slowest one: look at the shape, not at single " +
			"points. Bins of fewer than 10 sales are left out."},
	}
	if strikes, traced := s.stalls(); traced > 0 {
		f.sheet.lanes = true
		f.sheet.keys = append(f.sheet.keys, key{"a stall, a lane for each trial", laneSwatch(alarm)})
	} else if strikes > 0 {
		f.sheet.notes = append(f.sheet.notes,
			plural(strikes, "stall", "stalls")+" struck; their moments were not traced.")
	}
	var tracks []track
	for _, c := range s.cells {
		tracks = append(tracks, trackOf(c, width))
	}
	low, high := tailRange(tracks)
	for _, t := range tracks {
		p := plot.New()
		p.X.Min, p.X.Max, p.X.Tick.Marker = 0, s.span().Seconds(), linearTicks{6, clockLabel}
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = low, high, logTicks{secondsLabel}
		p.Y.Scale = logScale{}
		f.sheet.panels = append(f.sheet.panels, t.panel(p, width))
	}
	f.sentence = timelineSentence(tracks)
	return f
}

// tailRange is the range of a log axis that holds all bins.
func tailRange(tracks []track) (low, high float64) {
	for _, t := range tracks {
		for _, b := range t.bins {
			if low == 0 || seconds(b.p50) < low {
				low = seconds(b.p50)
			}
			high = max(high, seconds(b.p99))
		}
	}
	return fitLog(low/1.1, high*1.1)
}

// columnsFor and heightFor fit n small panels on a page.
func columnsFor(n int) int {
	switch {
	case n <= 1:
		return 1
	case n <= 4:
		return 2
	case n <= 9:
		return 3
	}
	return 4
}

func heightFor(n int) vg.Length { return []vg.Length{0, 200, 125, 110, 90}[columnsFor(n)] }

func (t track) panel(p *plot.Plot, width time.Duration) panel {
	out := t.cell.panel(p)
	if out.message != "" {
		return out
	}
	n := t.few
	for _, b := range t.bins {
		n += b.sales
	}
	out.tag = plural(n, "sale", "sales") + " in " + plural(len(t.cell.trials), "valid trial", "valid trials")
	if len(t.bins) == 0 {
		out.message = fmt.Sprintf("Too few sales for percentiles over time (%d).", n)
		return out
	}
	for _, trial := range t.cell.trials {
		for _, phase := range trial.Phases {
			if phase.Name == results.Edge {
				out.marks = append(out.marks, upright(edgeOf(phase).Seconds(), soldOutLine))
			}
		}
	}
	for _, run := range runs(t.bins, width) {
		out.marks = append(out.marks, runMarks(run, t.cell.look)...)
	}
	return out.withStalls(t.cell)
}

// runMarks draws bins that follow one another as a band between two lines, a single one as a bar between two dots.
func runMarks(run []bin, l look) []plot.Plotter {
	var p50, p99 plotter.XYs
	for _, b := range run {
		p50 = append(p50, plotter.XY{X: b.at.Seconds(), Y: seconds(b.p50)})
		p99 = append(p99, plotter.XY{X: b.at.Seconds(), Y: seconds(b.p99)})
	}
	between := band(p50, p99, tint(l.color, .18))
	if len(run) == 1 {
		between = line(append(slices.Clone(p50), p99...), stroke(tint(l.color, .4), 2))
	}
	return []plot.Plotter{between, line(p50, stroke(l.color, .8)), line(p99, stroke(l.color, 1.4))}
}

// runs splits bins where the schedule has one without percentiles, so that no line bridges what is not known.
func runs(bins []bin, width time.Duration) [][]bin {
	var out [][]bin
	for i, b := range bins {
		if i == 0 || b.at-bins[i-1].at > width {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], b)
	}
	return out
}

// soldOutLine marks when the last unit went.
var soldOutLine = stroke(grey, .9, 1.5, 2)

// edgeOf is the moment in the middle of an edge phase that the ends of the schedule did not cut.
func edgeOf(p results.Phase) time.Duration {
	if p.From > 0 {
		return p.From.D() + results.EdgeWidth
	}
	return p.To.D() - results.EdgeWidth
}

// mostLanes is the number of trials whose stalls can be told apart above a panel.
const mostLanes = 5

// withStalls draws the traced stalls above the panel, a lane for each trial.
func (p panel) withStalls(c cell) panel {
	lanes := min(len(c.trials), mostLanes)
	for i, t := range c.trials {
		for _, w := range coarse(t.stalls, time.Duration((p.plot.X.Max-p.plot.X.Min)*1e9)/300) {
			p.marks = append(p.marks, lane(w.from.Seconds(), w.to.Seconds(), alarm, i%lanes, lanes))
		}
	}
	return p
}

// coarse joins windows that are no further apart than the eye can tell.
func coarse(all []window, gap time.Duration) []window {
	var out []window
	for _, w := range all {
		if n := len(out); n > 0 && w.from-out[n-1].to < gap {
			out[n-1].to = max(out[n-1].to, w.to)
			continue
		}
		out = append(out, w)
	}
	return out
}

// stalls counts the stalls that struck, and those of which a trace tells the time.
func (s scene) stalls() (strikes, traced int64) {
	for _, c := range s.cells {
		for _, t := range c.trials {
			strikes += t.Strikes
			traced += int64(len(t.stalls))
		}
	}
	return strikes, traced
}

// timelineSentence names the strategies with the worst and with the mildest worst moment.
func timelineSentence(tracks []track) string {
	type peak struct {
		name string
		bin
	}
	var peaks []peak
	for _, t := range tracks {
		if len(t.bins) > 0 {
			worst := slices.MaxFunc(t.bins, func(a, b bin) int { return cmp.Compare(a.p99, b.p99) })
			peaks = append(peaks, peak{quoted(t.cell.strategy.Name), worst})
		}
	}
	if len(peaks) == 0 {
		return "No strategy made enough sales for percentiles over time."
	}
	byTail := func(a, b peak) int { return cmp.Compare(a.p99, b.p99) }
	worst, mildest := slices.MaxFunc(peaks, byTail), slices.MinFunc(peaks, byTail)
	tail := "a p99"
	if worst.sales < 100 {
		tail = "the slowest sale at"
	}
	text := fmt.Sprintf("The slowest moment was under %s, about %s into the schedule: %s %s", worst.name,
		formatDuration(worst.at), tail, formatDuration(worst.p99))
	if len(peaks) == 1 {
		return text + "."
	}
	return fmt.Sprintf("%s; %s had the mildest slowest moment, at %s.", text, mildest.name, formatDuration(mildest.p99))
}
