package peers

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestJainsIndex(t *testing.T) {
	for name, row := range map[string]struct {
		shares []int
		want   float64
	}{
		"all got as much":             {[]int{5, 5, 5, 5}, 1},
		"one got all":                 {[]int{0, 9, 0, 0}, 0.25},
		"two of four got as much":     {[]int{3, 0, 3, 0}, 0.5},
		"one alone":                   {[]int{7}, 1},
		"36 by three times 14":        {[]int{1, 2, 3}, 36. / 42},
		"nobody got anything":         {[]int{0, 0}, 0},
		"there is nobody":             {nil, 0},
		"no number is too large here": {[]int{1e9, 1e9}, 1},
	} {
		if got := jain(row.shares); math.Abs(got-row.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}

func TestAPercentileIsTheNearestRank(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, row := range []struct {
		sorted []time.Duration
		p      int
		want   time.Duration
	}{
		{nil, 99, 0}, {hundred[:1], 50, 1}, {hundred[:2], 50, 1}, {hundred[:3], 50, 2}, {hundred, 50, 50}, {hundred, 99, 99},
		{hundred, 100, 100}, {hundred[:64], 99, 64},
	} {
		if got := percentile(row.sorted, row.p); got != row.want {
			t.Errorf("p%d of %d: %d, want %d", row.p, len(row.sorted), got, row.want)
		}
	}
}

func TestAWaitThatTheEndCutShortCounts(t *testing.T) {
	refused := errors.New("refused")
	asked := time.Now().Add(-time.Hour)
	for name, row := range map[string]struct {
		granted       time.Time
		err           error
		cut           bool
		grants, waits int
		errors        int
	}{
		"granted":                              {asked.Add(time.Second), nil, false, 1, 1, 0},
		"granted, and the end came meanwhile":  {asked.Add(time.Second), nil, true, 1, 1, 0},
		"cut short":                            {time.Time{}, refused, true, 0, 1, 0},
		"refused, though nothing cut it short": {time.Time{}, refused, false, 0, 0, 1},
	} {
		var got tally
		got.add(asked, row.granted, row.err, row.cut)
		if len(got.grants) != row.grants || len(got.waits) != row.waits || len(got.errors) != row.errors {
			t.Errorf("%s: %d grants, waits %v, errors %v", name, len(got.grants), got.waits, got.errors)
		}
		if row.grants == 0 && row.waits == 1 && got.waits[0] < time.Hour {
			t.Errorf("%s: a wait of %v, want all of an hour", name, got.waits[0])
		}
	}
}

func TestPausesDoubleAndAreDrawn(t *testing.T) {
	for n, mean := range map[int]time.Duration{0: retry, 1: 2 * retry, 4: 16 * retry, 5: 16 * retry, 1000: 16 * retry} {
		seen := map[time.Duration]bool{}
		for range 100 {
			got := pauseAfter(n)
			if got < mean/2 || got >= mean+mean/2 {
				t.Fatalf("pause %d is %v, want half to one and a half of %v", n, got, mean)
			}
			seen[got] = true
		}
		if len(seen) < 2 {
			t.Errorf("pause %d is always the same", n)
		}
	}
	b := new(backoff)
	if first, second := b.NextBackoff(), b.NextBackoff(); first >= 6*time.Millisecond || second < 4*time.Millisecond || *b != 2 {
		t.Errorf("two pauses of one wait: %v, %v", first, second)
	}
}
