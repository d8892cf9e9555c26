package attack

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

const ms = time.Millisecond

func TestBurstIsTheFullestWindow(t *testing.T) {
	for _, test := range []struct {
		name string
		sent []time.Duration
		want int
	}{
		{"nothing was sent", nil, 0},
		{"one hit is a burst of one", []time.Duration{5 * ms}, 1},
		{"the window is half-open", []time.Duration{0, 10 * ms, 20 * ms}, 1},
		{"a nanosecond less is within it", []time.Duration{0, 10*ms - 1, 20 * ms}, 2},
		{"it slides across any boundary", []time.Duration{0, 8 * ms, 11 * ms, 12 * ms, 30 * ms}, 3},
		{"hits at one instant count apart", []time.Duration{ms, ms, ms, 40 * ms}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := burst(test.sent); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestInFlightIsCountedByHand(t *testing.T) {
	for _, test := range []struct {
		name string
		hits []results.Hit
		want int
	}{
		{"nothing was sent", nil, 0},
		{"one after the other", []results.Hit{{Sent: 0, End: ms}, {Sent: ms, End: 2 * ms}}, 1},
		{"one within the other", []results.Hit{{Sent: 0, End: 9 * ms}, {Sent: ms, End: 2 * ms}}, 2},
		{"three at once, in any order of their ends",
			[]results.Hit{{End: 9 * ms}, {Sent: ms, End: 4 * ms}, {Sent: 3 * ms, End: 5 * ms}, {Sent: 8 * ms, End: 9 * ms}}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := summary(9, test.hits).InFlight; got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// The sweeps are held against counting anew at every instant.
func TestSweepsAgreeWithPlainCounting(t *testing.T) {
	draws := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		hits := make([]results.Hit, draws.IntN(60))
		for i := range hits {
			hits[i].Sent = time.Duration(draws.IntN(50)) * ms
			hits[i].End = hits[i].Sent + time.Duration(1+draws.IntN(30))*ms
		}
		var fullest, most int
		for _, at := range hits {
			window, flying := 0, 0
			for _, h := range hits {
				if h.Sent >= at.Sent && h.Sent < at.Sent+burstWindow {
					window++
				}
				if h.Sent <= at.Sent && h.End > at.Sent {
					flying++
				}
			}
			fullest, most = max(fullest, window), max(most, flying)
		}
		if got := summary(99, hits); got.Burst != fullest || got.InFlight != most {
			t.Fatalf("burst %d, in flight %d; want %d, %d of %v", got.Burst, got.InFlight, fullest, most, hits)
		}
	}
}

func TestSummaryCounts(t *testing.T) {
	got := summary(7, []results.Hit{
		{End: 3 * ms, Outcome: api.Sold}, {End: 9 * ms, Outcome: api.Sold}, {End: 2 * ms, Error: timedOut},
		{End: ms, Error: processFiles}, {End: ms, Error: noFreePort}, {End: ms, Outcome: api.SoldOut},
	})
	want := map[api.Outcome]int{api.Sold: 2, api.Unknown: 3, api.SoldOut: 1}
	if !maps.Equal(got.Outcomes, want) {
		t.Errorf("outcomes %v, want %v", got.Outcomes, want)
	}
	if got.Planned != 7 || got.Sent != 6 || got.Elapsed.D() != 9*ms || got.SocketErrors != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestPercentileIsByNearestRank(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, test := range []struct {
		sorted []time.Duration
		p      int
		want   time.Duration
	}{
		{nil, 99, 0}, {[]time.Duration{7}, 50, 7}, {[]time.Duration{7, 8}, 50, 7}, {[]time.Duration{7, 8, 9}, 50, 8},
		{hundred, 99, 99}, {hundred, 50, 50}, {hundred[:99], 99, 99}, {slices.Repeat(hundred[:1], 3), 99, 1},
	} {
		if got := percentile(test.sorted, test.p); got != test.want {
			t.Errorf("p%d of %d values: got %d, want %d", test.p, len(test.sorted), got, test.want)
		}
	}
}
