package attack

import (
	"maps"
	"testing"
	"time"

	"github.com/hotsku/hotsku/target/api"
)

func TestLiveTellsOfTheHitsSinceTheLast(t *testing.T) {
	r := carried(10)
	p := &pacer{schedule: r.schedule}
	w := newWatch(p, r)
	add := func(seq uint64, outcome api.Outcome, lag, latency time.Duration) {
		r.hits[seq].Outcome = outcome
		if err := r.add(r.report(seq, r.schedule[seq]+lag, latency)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(got, want Live) {
		t.Helper()
		if !maps.Equal(got.Outcomes, want.Outcomes) {
			t.Errorf("outcomes %v, want %v", got.Outcomes, want.Outcomes)
		}
		got.Outcomes, want.Outcomes = nil, nil
		if !equal(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	check(w.look(-ms), Live{Elapsed: -ms, Planned: 10})

	p.sent.Store(5)
	add(0, api.Sold, 0, 3*ms)
	add(2, api.Sold, 2*ms, 5*ms)
	add(1, api.SoldOut, ms, ms)
	check(w.look(4*ms), Live{
		Elapsed: 4 * ms, Planned: 10, Offered: 5, Sent: 5, Answered: 3, InFlight: 2, P50: 3 * ms, P99: 7 * ms, LagP99: 2 * ms,
		Outcomes: map[api.Outcome]int{api.Sold: 2, api.SoldOut: 1},
	})

	// The pacer has not yet counted the sixth hit, which is answered already.
	for seq := uint64(3); seq < 6; seq++ {
		add(seq, api.Unknown, -ms/2, 9*ms)
	}
	check(w.look(time.Hour), Live{
		Elapsed: time.Hour, Planned: 10, Offered: 10, Sent: 6, Answered: 6, P50: 8*ms + ms/2, P99: 8*ms + ms/2,
		Outcomes: map[api.Outcome]int{api.Sold: 2, api.SoldOut: 1, api.Unknown: 3},
	})

	check(w.look(time.Hour), Live{
		Elapsed: time.Hour, Planned: 10, Offered: 10, Sent: 6, Answered: 6,
		Outcomes: map[api.Outcome]int{api.Sold: 2, api.SoldOut: 1, api.Unknown: 3},
	})
}

func equal(a, b Live) bool {
	return a.Elapsed == b.Elapsed && a.Planned == b.Planned && a.Offered == b.Offered && a.Sent == b.Sent &&
		a.Answered == b.Answered && a.InFlight == b.InFlight && a.P50 == b.P50 && a.P99 == b.P99 && a.LagP99 == b.LagP99
}
