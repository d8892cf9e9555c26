package plots

import (
	"math"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/hotsku/hotsku/results"
)

// quantile returns the value of nearest rank: the least one that a share p of all does not exceed. sorted must not be
// empty.
func quantile(sorted []time.Duration, p float64) time.Duration {
	rank := int(math.Ceil(p*float64(len(sorted)) - 1e-9))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// reach is how far a line of n samples goes on an axis of 1/(1−p): to where [results.MinBeyond] samples are left.
func reach(n int) float64 { return float64(n) / results.MinBeyond }

// curve samples the quantiles of sorted evenly along an axis of 1/(1−p), so often per decade, and at each of its
// labels.
func curve(sorted []time.Duration, perDecade float64) plotter.XYs {
	end := reach(len(sorted))
	if end <= 1 {
		return nil
	}
	var points plotter.XYs
	add := func(x float64) {
		points = append(points, plotter.XY{X: x, Y: seconds(quantile(sorted, 1-1/x))})
	}
	labels := percentileTicks{}.Ticks(1, end)
	for i := 0; ; i++ {
		x := math.Pow(10, float64(i)/perDecade)
		for len(labels) > 0 && labels[0].Value <= min(x, end) {
			if labels[0].Value < x*(1-1e-9) {
				add(labels[0].Value)
			}
			labels = labels[1:]
		}
		if x >= end {
			add(end)
			return points
		}
		add(x)
	}
}

// seconds returns d as a log axis takes it.
func seconds(d time.Duration) float64 { return max(d.Seconds(), floor) }

// phaseAt names the phase that an offset belongs to, by the rule of [results.Phases]: the last one has no end.
func phaseAt(phases []results.Phase, offset time.Duration) results.PhaseName {
	for _, p := range phases {
		if offset < p.To.D() {
			return p.Name
		}
	}
	if n := len(phases); n > 0 {
		return phases[n-1].Name
	}
	return ""
}
