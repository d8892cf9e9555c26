package plots

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// formatDuration writes d as people do, to three significant digits: "640 ns", "500 µs", "12.3 ms", "1.5 s".
// Seconds are the largest unit, since an order that waits for minutes is best seen as the many seconds that it is.
func formatDuration(d time.Duration) string {
	if d == 0 {
		return "0 s"
	}
	if d < 0 {
		return "−" + formatDuration(-max(d, math.MinInt64+1))
	}
	ns := significant(float64(d), 3)
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}} {
		if ns >= float64(unit.size) {
			return decimal(ns/float64(unit.size), 3) + " " + unit.name
		}
	}
	return decimal(ns, 3) + " ns"
}

// significant rounds x to n significant digits. The carry matters: 999,600 ns is 1 ms, not 1000 µs.
func significant(x float64, n int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', n-1, 64), 64)
	if err != nil { // x was NaN or infinite
		return x
	}
	return rounded
}

// decimal writes x without an exponent, to at most n significant digits and without zeros at its end, the
// thousands set apart by commas.
func decimal(x float64, n int) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "–"
	}
	if x < 0 {
		return "−" + decimal(-x, n)
	}
	if x == 0 { // negative zero, too
		return "0"
	}
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(significant(x, n), 'f', -1, 64), ".")
	if fraction != "" {
		fraction = "." + fraction
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole + fraction
}

// count writes a whole number with its thousands set apart: "1,312".
func count[N int | int64 | uint64](n N) string { return decimal(float64(n), 17) }

// percent writes a share between 0 and 1. Only none is 0 % and only all is 100 %: what is in between never
// rounds to either.
func percent(share float64) string {
	switch {
	case math.IsNaN(share):
		return "–"
	case share > 0 && share < 0.001:
		return "under 0.1 %"
	case share < 1 && share > 0.999:
		return "over 99.9 %"
	case share < 0.1 || share > 0.99:
		return decimal(math.Round(share*1000)/10, 4) + " %"
	}
	return decimal(math.Round(share*100), 3) + " %"
}

// plural writes n and the noun that fits it: "1 trial", "3 trials".
func plural[N int | int64](n N, one, many string) string {
	if n == 1 {
		return count(n) + " " + one
	}
	return count(n) + " " + many
}

// quoted sets a name apart in a sentence, since a strategy may be called "none".
func quoted(name string) string { return "“" + name + "”" }

// list joins names as a sentence does: "a, b and c".
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// manyNames is the number of names that a sentence does not list any more.
const manyNames = 8

// listOr lists names, or says how many there are if they are many: "14 others", "14 strategies".
func listOr(names []string, many string) string {
	if len(names) < manyNames {
		return list(names)
	}
	return plural(len(names), "", many)
}

// times writes how many times as large a is as b: "1.3 times", "20 times".
func times(a, b time.Duration) string {
	if b <= 0 {
		return "many times"
	}
	return decimal(float64(a)/float64(b), 2) + " times"
}
