package plots

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// A shop sells orders one after another, each keeping the others waiting for a while, with a stall now and then.
type shop struct {
	behaviour
	t      *results.Trial
	random *rand.Rand
	free   time.Duration // when the next order gets its turn
	sold   int64
	limit  int64 // units that it sells
	ev     results.Evidence
}

// play lets n orders arrive at a shop that behaves like b, as many as the schedule's length holds.
func play(t *results.Trial, b behaviour, n int) results.Evidence {
	arrivals := rand.New(rand.NewPCG(t.Cell.Seed, 2))
	s := &shop{behaviour: b, t: t, limit: t.Stock, random: rand.New(rand.NewPCG(t.Cell.Seed, uint64(len(b.Name))))}
	if t.Scenario.Shape == results.Drain {
		s.limit += int64(b.surplus * float64(t.Stock) * (.8 + .4*s.random.Float64()))
	}
	var due time.Duration
	for seq := range n {
		due += time.Duration(arrivals.ExpFloat64() * float64(time.Second) / t.Scenario.Rate)
		if due >= t.Scenario.Duration.D() {
			break
		}
		stalls := t.Scenario.Stall != nil && arrivals.Float64() < t.Scenario.Stall.Probability
		s.ev.Hits = append(s.ev.Hits, s.serve(results.Hit{
			Seq: uint64(seq), Intended: due, Quantity: 1, Replica: uint8(seq % 3),
			Sent: due + time.Duration(100_000+s.random.ExpFloat64()*100_000),
		}, stalls))
	}
	return s.ev
}

func (s *shop) serve(h results.Hit, stalls bool) results.Hit {
	start, wait := max(h.Sent, s.free), s.t.Scenario.Lease.Wait.D()
	work := time.Duration(float64(s.base) * math.Exp(.45*s.random.NormFloat64()))
	switch {
	case start-h.Sent > wait:
		h.Outcome, h.Code, h.End = api.Contended, 423, h.Sent+wait
		return h
	case h.Seq%499 == 498:
		h.Outcome, h.Error, h.End = api.Unknown, "timeout", h.Sent+s.t.Scenario.Timeout.D()
		return h
	case s.sold >= s.limit:
		h.Outcome, h.Code, h.End = api.SoldOut, 409, h.Sent+work/3
		return h
	}
	h.End, s.free = start+work, start+s.serial
	if stalls && s.sold < s.t.Stock {
		s.stall(&h, start)
	}
	if stalls && s.fenced {
		s.t.Refusals++
		h.Outcome, h.Code = api.Fenced, 409
		return h
	}
	s.sold++
	h.Outcome, h.Code, h.Order, h.Position, h.Fence = api.Sold, 201, 1000+s.sold, s.sold, s.sold
	s.ev.Ledger = append(s.ev.Ledger, api.Order{
		ID: h.Order, SKU: s.t.SKU, Quantity: 1, Position: h.Position, Key: fmt.Sprint(s.t.KeyPrefix, h.Seq),
		Replica: s.t.ReplicaNames[h.Replica], Fence: h.Fence, CreatedAt: s.t.Zero.Add(h.End),
	})
	return h
}

// stall holds an order back, and those behind it until its lease is over.
func (s *shop) stall(h *results.Hit, start time.Duration) {
	stall := s.t.Scenario.Stall.For.D()
	s.t.Strikes++
	h.End += stall
	if s.serial > 0 {
		s.free += min(stall, s.t.Scenario.Lease.TTL.D())
	}
	if s.perStall {
		s.limit += 1 + int64(s.random.IntN(3))
	}
	s.ev.Steps = append(s.ev.Steps, api.Step{
		Order: fmt.Sprint(s.t.KeyPrefix, h.Seq), Replica: "a", Store: api.Database, Name: "update inventory",
		Start: s.t.Zero.Add(start + stall).UnixNano(), End: s.t.Zero.Add(h.End).UnixNano(), Stall: int64(stall),
	})
}
