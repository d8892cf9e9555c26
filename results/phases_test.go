package results

import (
	"reflect"
	"testing"
	"time"

	"github.com/hotsku/hotsku/target/api"
)

func TestPhases(t *testing.T) {
	s, ms := time.Second, time.Millisecond
	sale := func(seq uint64, end time.Duration, units int32) Hit {
		return Hit{Seq: seq, Intended: end / 2, Sent: end / 2, End: end, Quantity: units, Outcome: api.Sold}
	}
	phase := func(name PhaseName, from, to time.Duration, sales int64) Phase {
		return Phase{Name: name, From: Duration(from), To: Duration(to), Acknowledged: sales}
	}
	for _, row := range []struct {
		name  string
		shape Shape
		hits  []Hit
		stock int64
		want  []Phase
	}{
		{"a sustain is one phase, even when its stock sold out", Sustain,
			[]Hit{sale(0, 1*s, 1), sale(1, 11*s, 1)}, 1, []Phase{phase(Sustained, 0, 10*s, 1)}},
		{"a drain has its edge where the last unit was acknowledged", Drain,
			[]Hit{sale(0, 1*s, 1), sale(1, 4*s, 1), sale(2, 4*s+600*ms, 1)}, 2,
			[]Phase{phase(Selling, 0, 3500*ms, 1), phase(Edge, 3500*ms, 4500*ms, 1), phase(AfterSale, 4500*ms, 10*s, 1)}},
		{"answers count in the order of their ends, whatever the order of the hits", Drain,
			[]Hit{sale(0, 6*s, 1), sale(2, 2*s, 1), sale(1, 4*s, 1)}, 2,
			[]Phase{phase(Selling, 0, 3500*ms, 1), phase(Edge, 3500*ms, 4500*ms, 1), phase(AfterSale, 4500*ms, 10*s, 1)}},
		{"an answer between two phases is in the later one", Drain,
			[]Hit{sale(0, 3500*ms, 1), sale(1, 4*s, 1), sale(2, 4500*ms, 1)}, 2,
			[]Phase{phase(Selling, 0, 3500*ms, 0), phase(Edge, 3500*ms, 4500*ms, 2), phase(AfterSale, 4500*ms, 10*s, 1)}},
		{"units count, not orders", Drain,
			[]Hit{sale(0, 2*s, 3), sale(1, 4*s, 3), sale(2, 8*s, 3)}, 5,
			[]Phase{phase(Selling, 0, 3500*ms, 1), phase(Edge, 3500*ms, 4500*ms, 1), phase(AfterSale, 4500*ms, 10*s, 1)}},
		{"what was not acknowledged sells no unit", Drain,
			[]Hit{{End: 1 * s, Quantity: 9, Outcome: api.Unknown}, {End: 2 * s, Quantity: 9, Outcome: api.SoldOut}}, 5,
			[]Phase{phase(Selling, 0, 10*s, 0)}},
		{"a replayed answer acknowledges its sale", Drain,
			[]Hit{{End: 4 * s, Quantity: 5, Outcome: api.Replayed}}, 5,
			[]Phase{phase(Selling, 0, 3500*ms, 0), phase(Edge, 3500*ms, 4500*ms, 1), phase(AfterSale, 4500*ms, 10*s, 0)}},
		{"a drain that sold out at once never was in its selling phase", Drain,
			[]Hit{sale(0, 300*ms, 1)}, 1,
			[]Phase{phase(Edge, 0, 800*ms, 1), phase(AfterSale, 800*ms, 10*s, 0)}},
		{"a drain that sold out near its end has no sold-out phase", Drain,
			[]Hit{sale(0, 9*s+700*ms, 1)}, 1,
			[]Phase{phase(Selling, 0, 9200*ms, 0), phase(Edge, 9200*ms, 10*s, 1)}},
		{"a drain whose last unit went long after the schedule is all selling", Drain,
			[]Hit{sale(0, 1*s, 1), sale(1, 12*s, 1)}, 2, []Phase{phase(Selling, 0, 10*s, 1)}},
		{"a drain of no stock is sold out from the start", Drain, nil, 0,
			[]Phase{phase(Edge, 0, 500*ms, 0), phase(AfterSale, 500*ms, 10*s, 0)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Phases(row.shape, 10*s, row.hits, row.stock); !reflect.DeepEqual(got, row.want) {
				t.Errorf("\n got %+v\nwant %+v", got, row.want)
			}
		})
	}
}

func TestSeries(t *testing.T) {
	s, ms := time.Second, time.Millisecond
	hits := []Hit{
		{Intended: 0, Sent: -2, End: 10 * ms, Outcome: api.Sold},
		{Intended: 900 * ms, Sent: 1100 * ms, End: 2100 * ms, Outcome: api.Sold}, // late, and long in flight
		{Intended: 1 * s, Sent: 1 * s, End: 2 * s, Outcome: api.SoldOut},         // a second's start is in it
	}
	for i := range 100 { // response times of 1 to 100 ms, all in second 3
		end := 3*s + time.Duration(i+1)*ms
		hits = append(hits, Hit{Intended: 3 * s, Sent: 3 * s, End: end, Outcome: api.Sold})
	}
	ended := func(sold, soldOut int) []int {
		n := make([]int, len(api.Outcomes()))
		n[api.Sold], n[api.SoldOut] = sold, soldOut
		return n
	}
	known := func(d time.Duration) Percentile { return Known(Duration(d)) }
	want := []Second{
		{Offered: 2, Sent: 1, Ended: ended(1, 0), P50: known(10 * ms), P99: known(10 * ms), Max: known(10 * ms)},
		{Offered: 1, Sent: 2, Ended: ended(0, 0), InFlight: 2},
		{Ended: ended(1, 1), P50: known(1200 * ms), P99: known(1200 * ms), Max: known(1200 * ms)},
		{Offered: 100, Sent: 100, Ended: ended(100, 0), P50: known(50 * ms), P99: known(99 * ms), Max: known(100 * ms)},
	}
	if got := Series(hits); !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if got := Series(nil); got != nil {
		t.Errorf("of no hits: %v", got)
	}
}
