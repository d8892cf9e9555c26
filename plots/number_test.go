package plots

import (
	"math"
	"testing"
	"time"
)

func TestDurationsAreWrittenAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0 s"},
		{1, "1 ns"},
		{640, "640 ns"},
		{999, "999 ns"},
		{500 * time.Microsecond, "500 µs"},
		{1500, "1.5 µs"},
		{2 * time.Millisecond, "2 ms"},
		{12_345 * time.Microsecond, "12.3 ms"},
		{999_600 * time.Nanosecond, "1 ms"}, // to three digits it is 1000 µs
		{999_400 * time.Nanosecond, "999 µs"},
		{999_999_999, "1 s"},
		{time.Second, "1 s"},
		{1500 * time.Millisecond, "1.5 s"},
		{95 * time.Second, "95 s"},
		{2 * time.Hour, "7,200 s"},
		{-3 * time.Millisecond, "−3 ms"},
		{math.MinInt64, "−9,220,000,000 s"},
	} {
		if got := formatDuration(c.d); got != c.want {
			t.Errorf("formatDuration(%d) = %q, want %q", int64(c.d), got, c.want)
		}
	}
}

func TestNumbersAreWrittenAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct {
		x      float64
		digits int
		want   string
	}{
		{0, 3, "0"},
		{math.Copysign(0, -1), 3, "0"},
		{0.00052, 3, "0.00052"},
		{1312, 17, "1,312"},
		{1234567, 17, "1,234,567"},
		{999.96, 3, "1,000"},
		{-20.5, 3, "−20.5"},
		{2.50, 3, "2.5"},
		{math.NaN(), 3, "–"},
		{math.Inf(1), 3, "–"},
	} {
		if got := decimal(c.x, c.digits); got != c.want {
			t.Errorf("decimal(%v, %d) = %q, want %q", c.x, c.digits, got, c.want)
		}
	}
}

func TestOnlyNoneIsZeroPercentAndOnlyAllIsHundred(t *testing.T) {
	for _, c := range []struct {
		share float64
		want  string
	}{
		{0, "0 %"}, {1e-9, "under 0.1 %"}, {0.002, "0.2 %"}, {0.0996, "10 %"}, {0.258, "26 %"}, {0.63, "63 %"},
		{0.999, "99.9 %"}, {0.9991, "over 99.9 %"}, {1, "100 %"}, {math.NaN(), "–"},
	} {
		if got := percent(c.share); got != c.want {
			t.Errorf("percent(%v) = %q, want %q", c.share, got, c.want)
		}
	}
}

func TestNamesAreListedAsInASentence(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, ""}, {[]string{"a"}, "a"}, {[]string{"a", "b"}, "a and b"}, {[]string{"a", "b", "c"}, "a, b and c"},
	} {
		if got := list(c.names); got != c.want {
			t.Errorf("list(%q) = %q, want %q", c.names, got, c.want)
		}
	}
}

func TestManyNamesAreCountedInsteadOfListed(t *testing.T) {
	seven := []string{"a", "b", "c", "d", "e", "f", "g"}
	if got, want := listOr(seven, "others"), "a, b, c, d, e, f and g"; got != want {
		t.Errorf("seven: %q, want %q", got, want)
	}
	if got, want := listOr(append(seven, "h"), "others"), "8 others"; got != want {
		t.Errorf("eight: %q, want %q", got, want)
	}
}

func FuzzNumbersHaveNoExponent(f *testing.F) {
	f.Add(0.1, 3)
	f.Add(-1e300, 17)
	f.Fuzz(func(t *testing.T, x float64, digits int) {
		for _, r := range decimal(x, min(max(digits, 1), 17)) {
			if r == 'e' || r == 'N' || r == 'I' {
				t.Fatalf("decimal(%v) = %q", x, decimal(x, digits))
			}
		}
	})
}
