package plots

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot"
)

// labels joins the labels of ticks; a tick without one is a dot.
func labels(ticks []plot.Tick) string {
	var all []string
	for _, t := range ticks {
		if t.Label == "" {
			all = append(all, "·")
		} else {
			all = append(all, t.Label)
		}
	}
	return strings.Join(all, " | ")
}

func TestALogAxisHasLabelsWhateverItsRange(t *testing.T) {
	for _, c := range []struct {
		name      string
		low, high float64
		want      string
	}{
		{"within a decade", .0021, .0079, "2 ms | · | · | 5 ms | · | · | · | · | 10 ms"},
		{"between two marks", .0021, .0049, "2 ms | · | · | 5 ms"},
		{"one value that is a mark", .002, .002, "1 ms | 2 ms | · | · | 5 ms"},
		{"one value that is none", .003, .003, "2 ms | · | · | 5 ms"},
		{"two decades", .00052, .02, "500 µs | · | · | · | · | 1 ms | 2 ms | · | · | 5 ms | · | · | · | · | 10 ms | 20 ms"},
		{"around one second", .9, 1.1, "500 ms | · | · | · | · | 1 s | 2 s"},
		{"nothing", 0, 0, "1 ms | 2 ms | · | · | 5 ms | · | · | · | · | 10 ms"},
		{"not a number", math.NaN(), math.NaN(), "1 ms | 2 ms | · | · | 5 ms | · | · | · | · | 10 ms"},
		{"without bound", 1, math.Inf(1), "1 ms | 2 ms | · | · | 5 ms | · | · | · | · | 10 ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := labels(logTicks{secondsLabel}.Ticks(fitLog(c.low, c.high)))
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestALogAxisOfManyDecadesLabelsThemAlone(t *testing.T) {
	ticks := logTicks{secondsLabel}.Ticks(1e-4, 10)
	ticks = slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Label == "" })
	if got, want := labels(ticks), "100 µs | 1 ms | 10 ms | 100 ms | 1 s | 10 s"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestALogScaleNeverPanics(t *testing.T) {
	for _, c := range []struct{ low, high, x, want float64 }{
		{1, 100, 10, .5}, {1, 100, 0, 0}, {1, 100, -3, 0}, {0, 100, 10, 0}, {5, 5, 5, 0}, {1, 10, math.NaN(), 0},
	} {
		if got := (logScale{}).Normalize(c.low, c.high, c.x); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("Normalize(%v, %v, %v) = %v, want %v", c.low, c.high, c.x, got, c.want)
		}
	}
}

func TestALinearAxisHasRoundMarks(t *testing.T) {
	for _, c := range []struct {
		name string
		high float64
		want string
	}{
		{"five seconds", 5, "0 | 1 s | 2 s | 3 s | 4 s | 5 s"},
		{"half a second", .5, "0 | 0.1 s | 0.2 s | 0.3 s | 0.4 s | 0.5 s"},
		{"milliseconds", .06, "0 | 10 ms | 20 ms | 30 ms | 40 ms | 50 ms | 60 ms"},
		{"hours", 7200, "0 | 2,000 s | 4,000 s | 6,000 s"},
		{"nothing", 0, ""},
		{"not a number", math.NaN(), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := labels(linearTicks{6, clockLabel}.Ticks(0, c.high)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAQuantileIsTheNearestRank(t *testing.T) {
	ten := durations(10)
	for _, c := range []struct {
		p    float64
		want int
	}{{0, 1}, {.1, 1}, {.11, 2}, {.5, 5}, {.9, 9}, {.99, 10}, {1, 10}} {
		if got := quantile(ten, c.p); int(got.Milliseconds()) != c.want {
			t.Errorf("quantile(%v) of 1 to 10 = %d, want %d", c.p, got, c.want)
		}
	}
}

func TestALineEndsWhereTenSamplesAreLeft(t *testing.T) {
	if got := curve(durations(10), 8); got != nil {
		t.Errorf("10 samples make a line of %d points", len(got))
	}
	points := curve(durations(1000), 8)
	if last := points[len(points)-1]; last.X != 100 || last.Y != 0.990 {
		t.Errorf("1,000 samples end at %+v, want p99", last)
	}
	for i := range points[1:] {
		if points[i+1].X <= points[i].X || points[i+1].Y < points[i].Y {
			t.Fatalf("point %d falls back: %+v, %+v", i+1, points[i], points[i+1])
		}
	}
}

func FuzzTicksLieWithinTheAxis(f *testing.F) {
	f.Add(0.001, 0.002)
	f.Add(1e-9, 1e9)
	f.Fuzz(func(t *testing.T, low, high float64) {
		if low > 0 && high/low < 1e30 && low > 1e-30 && high < 1e30 {
			low, high := fitLog(low, high)
			n := 0
			for _, tick := range (logTicks{secondsLabel}).Ticks(low, high) {
				if tick.Value < low*.999 || tick.Value > high*1.001 {
					t.Fatalf("%v outside of %v to %v", tick.Value, low, high)
				}
				if tick.Label != "" {
					n++
				}
			}
			if n < 2 {
				t.Fatalf("%d labels from %v to %v", n, low, high)
			}
		}
		if ticks := (linearTicks{6, clockLabel}).Ticks(low, high); len(ticks) > 20 {
			t.Fatalf("%d ticks from %v to %v", len(ticks), low, high)
		}
	})
}

// durations are 1, 2, … n milliseconds.
func durations(n int) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = time.Duration(i+1) * time.Millisecond
	}
	return all
}
