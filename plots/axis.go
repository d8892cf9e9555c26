package plots

import (
	"math"
	"time"

	"gonum.org/v1/plot"
)

// floor is the least duration, in seconds, that a log axis shows. A time of 0 is drawn at it.
const floor = 1e-6

// logScale maps an axis to the logarithm. Unlike [plot.LogScale] it never panics: what is not positive lies at the
// axis's lower end.
type logScale struct{}

var _ plot.Normalizer = logScale{}

// Normalize implements [plot.Normalizer].
func (logScale) Normalize(low, high, x float64) float64 {
	if low <= 0 || high <= low || math.IsNaN(x) {
		return 0
	}
	return math.Log(max(x, low)/low) / math.Log(high/low)
}

// logTicks marks a log axis at 1, 2 and 5 of each decade, or at 1 alone where the axis spans many decades. At least
// two marks bear a label wherever the axis was fitted with fitLog.
type logTicks struct {
	label func(float64) string
}

var _ plot.Ticker = logTicks{}

// Ticks implements [plot.Ticker].
func (t logTicks) Ticks(low, high float64) []plot.Tick {
	if low <= 0 || high < low || math.IsInf(high, 0) {
		return nil
	}
	sparse := math.Log10(high/low) > 2.8
	const slack = 1e-9 // a bound that was computed may miss the mark that it stands for
	var ticks []plot.Tick
	for exponent := math.Floor(math.Log10(low)); exponent <= math.Ceil(math.Log10(high)); exponent++ {
		for digit := 1.0; digit < 10; digit++ {
			value := oneTwoFive(digit, exponent)
			if value < low*(1-slack) || value > high*(1+slack) {
				continue
			}
			tick := plot.Tick{Value: value}
			if digit == 1 || !sparse && (digit == 2 || digit == 5) {
				tick.Label = t.label(value)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// fitLog widens the range of positive values to the nearest marks of 1, 2 or 5 around it. It returns a decade when the
// range is empty or not positive.
func fitLog(low, high float64) (float64, float64) {
	if !(low > 0) || !(high >= low) || math.IsInf(high, 0) {
		return 1e-3, 1e-2
	}
	lower, upper := stepDown(low), stepUp(high)
	if lower == upper { // one value, and it is a mark
		lower, upper = stepDown(low*0.99), stepUp(high*1.01)
	}
	return lower, upper
}

// stepUp returns the least of …, 0.5, 1, 2, 5, 10, … that is not below x.
func stepUp(x float64) float64 {
	exponent := math.Floor(math.Log10(x))
	for _, digit := range []float64{1, 2, 5} {
		if value := oneTwoFive(digit, exponent); value >= x*(1-1e-9) {
			return value
		}
	}
	return oneTwoFive(1, exponent+1)
}

// stepDown returns the greatest of …, 0.5, 1, 2, 5, 10, … that is not above x.
func stepDown(x float64) float64 {
	exponent := math.Floor(math.Log10(x))
	for _, digit := range []float64{5, 2} {
		if value := oneTwoFive(digit, exponent); value <= x*(1+1e-9) {
			return value
		}
	}
	return oneTwoFive(1, exponent)
}

// oneTwoFive returns digit·10^exponent with the rounding error of one division, so that 5·10⁻⁴ prints as 0.0005.
func oneTwoFive(digit, exponent float64) float64 {
	if exponent < 0 {
		return digit / math.Pow(10, -exponent)
	}
	return digit * math.Pow(10, exponent)
}

// linearTicks marks a linear axis at multiples of 1, 2 or 5 times a power of ten.
type linearTicks struct {
	most  int // labels
	label func(value, step float64) string
}

var _ plot.Ticker = linearTicks{}

// Ticks implements [plot.Ticker].
func (t linearTicks) Ticks(low, high float64) []plot.Tick {
	if !(high > low) || math.IsInf(high-low, 0) {
		return nil
	}
	step := stepUp((high - low) / float64(t.most))
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: t.label(i*step, step)})
	}
	return ticks
}

// fitLinear returns the upper end of a linear axis from 0 that holds high with a little room.
func fitLinear(high float64) float64 {
	if !(high > 0) || math.IsInf(high, 0) {
		return 1
	}
	step := stepUp(high / 5)
	return math.Ceil(high*1.04/step) * step
}

// secondsLabel labels a duration that is given in seconds.
func secondsLabel(seconds float64) string {
	return formatDuration(time.Duration(math.Round(seconds * 1e9)))
}

// clockLabel labels a moment in seconds, all in the unit that suits the step between two marks.
func clockLabel(value, step float64) string {
	if value == 0 {
		return "0"
	}
	if step < 0.1 {
		return decimal(value*1e3, 6) + " ms"
	}
	return decimal(value, 6) + " s"
}

// unitsLabel labels a count on a linear axis.
func unitsLabel(value, _ float64) string { return decimal(value, 6) }

// percentileTicks marks an axis of 1/(1−p) with the percentiles that people ask for.
type percentileTicks struct{}

var _ plot.Ticker = percentileTicks{}

// Ticks implements [plot.Ticker].
func (percentileTicks) Ticks(low, high float64) []plot.Tick {
	all := []plot.Tick{
		{Value: 1, Label: "0 %"}, {Value: 2, Label: "50 %"}, {Value: 4, Label: "75 %"}, {Value: 10, Label: "90 %"},
		{Value: 20, Label: "95 %"}, {Value: 100, Label: "99 %"}, {Value: 1e3, Label: "99.9 %"},
		{Value: 1e4, Label: "99.99 %"}, {Value: 1e5, Label: "99.999 %"},
	}
	var ticks []plot.Tick
	for _, t := range all {
		if t.Value >= low && t.Value <= high {
			ticks = append(ticks, t)
		}
	}
	return ticks
}
