package audit

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// A sold-out answer X to an order of q units is true if there was a moment between X.Sent and X.End with more than
// stock − q units sold. The ledger has resolved the unknown outcomes, so that the sales are a fixed set; only their
// moments are open. Two rules follow, each exact for what it is given.
//
// With positions that tile the units and agree with the clock, the order of the sales is known: o₁ … oₙ, which have
// sold P₁ < … < Pₙ units. X must be placed right behind some oᵢ such that
//
//	(1) Pᵢ > stock − q                   too few were left,
//	(2) oⱼ.Sent ≤ X.End for all j ≤ i    everything before X had been sent when X was answered,
//	(3) oⱼ.End ≥ X.Sent for all j > i    nothing behind X had been answered when X was sent.
//
// Let h be the greatest i that (2) allows. More sales before X only help (1) and (3), so X is true iff h meets both.
// Where (2) allows no more than h, oₕ₊₁ was sent after X.End; an oⱼ behind h that was answered before X.Sent would have
// been answered before oₕ₊₁ was sent and so contradict the clock (or be oₕ₊₁ itself, answered before it was sent).
// Hence (3) always holds at h, and X is true iff P_h > stock − q.
//
// Without positions the sales may have happened in any order that agrees with the clock. Ordering them by Sent does,
// and puts everything that was sent by X.End before X, which no order can better. So X is true iff the orders with
// Sent ≤ X.End have more than stock − q units together. For orders of one unit that is the known rule: all of the
// stock must have been asked for by the earliest sold-out answer.
//
// The answers do not get in each other's way: place each at its own h. If X was answered before Y was sent, h of X is
// not above h of Y, and behind the same sale they can be ordered by the clock. So all sold-out answers can be true
// together as soon as each can be true alone, and all of the history is linearizable iff moreover no unit was
// oversold.
//
// Where positions are broken, no order explains the sales anyway; the second rule is then a necessary condition that is
// still certain, if not complete.

// A level says that by a moment at most so many units can have been sold.
type level struct {
	sent  time.Duration
	units int64
}

// levels returns how many units can have been sold at most, over time. Both fields never fall.
func (t *trial) levels() []level {
	steps := make([]level, len(t.sales))
	for i, s := range t.sales {
		steps[i] = level{sent: s.sent, units: s.quantity}
	}
	if t.positions != trusted {
		slices.SortFunc(steps, func(a, b level) int { return cmp.Compare(a.sent, b.sent) })
	}
	reached, sold, most := always, int64(0), int64(0)
	for i := range steps {
		reached = max(reached, steps[i].sent)
		sold += steps[i].units
		most = max(most, sold)
		steps[i] = level{sent: reached, units: most}
	}
	return steps
}

// since returns the first moment at which more than so many units can have been sold.
func since(levels []level, units int64) time.Duration {
	if units < 0 {
		return always
	}
	i := sort.Search(len(levels), func(i int) bool { return levels[i].units > units })
	if i == len(levels) {
		return never
	}
	return levels[i].sent
}

// by returns how many units can have been sold at most by a moment.
func by(levels []level, moment time.Duration) int64 {
	i := sort.Search(len(levels), func(i int) bool { return levels[i].sent > moment })
	if i == 0 {
		return 0
	}
	return levels[i-1].units
}

// checkFalseSoldOut counts the sold-out answers that cannot be true.
func checkFalseSoldOut(t *trial) result {
	levels := t.levels()
	scarce := map[int32]time.Duration{} // since when too few units can have been left, by quantity
	var findings []finding
	for at, i := range t.hits {
		h := &t.Hits[i]
		if h.Outcome != api.SoldOut {
			continue
		}
		from, known := scarce[h.Quantity]
		if !known {
			from = since(levels, t.Stock-int64(h.Quantity))
			scarce[h.Quantity] = from
		}
		if h.End < from {
			findings = append(findings, finding{at: h.End, who: int32(at), other: none})
		}
	}
	return judge(findings, t.soldOutRule(), func(f finding) results.Anomaly {
		i := t.hits[f.who]
		h := &t.Hits[i]
		return results.Anomaly{
			Detail: fmt.Sprintf("Order %s was told sold out of %s by %v, when at most %d of %d can have been sold.",
				t.keyName(h.Seq), count(int64(h.Quantity), "unit"), round(h.End), by(levels, h.End), t.Stock),
			Units:  int64(h.Quantity),
			Orders: []results.Witness{t.witnessHit(i)},
		}
	})
}

// soldOutRule says by which rule sold-out answers are judged, unless it is the strongest.
func (t *trial) soldOutRule() string {
	switch t.positions {
	case missing:
		return "judged by when the orders were sent, for want of positions"
	case untiled:
		return "judged by when the orders were sent, since the positions are broken: there may be more"
	case untimely:
		return "judged by when the orders were sent, since the positions contradict the clock: there may be more"
	}
	return ""
}
