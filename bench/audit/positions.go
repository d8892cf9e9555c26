package audit

import (
	"fmt"

	"github.com/hotsku/hotsku/results"
)

// positions says what the positions in a ledger are worth to other checks.
type positions int

const (
	unsold   positions = iota // there are no orders
	missing                   // the strategy gives none
	untiled                   // they overlap, leave gaps, or some orders have none
	untimely                  // they tile the units, but contradict the clock
	trusted                   // they are an order in which the sales can have happened
)

// weigh says what the positions are worth.
func (t *trial) weigh() positions {
	switch {
	case len(t.sales) == 0:
		return unsold
	case !t.positioned():
		return missing
	case len(t.overlaps) > 0:
		return untiled
	case len(t.inversions) > 0:
		return untimely
	}
	return trusted
}

// positioned reports whether any order has a position. Sales are ordered by it, so that the ends suffice.
func (t *trial) positioned() bool {
	n := len(t.sales)
	return n > 0 && (t.sales[0].position != 0 || t.sales[n-1].position != 0)
}

// peers returns the end of the run of sales from index i on that share its position.
func (t *trial) peers(i int) int {
	to := i + 1
	for to < len(t.sales) && t.sales[to].position == t.sales[i].position {
		to++
	}
	return to
}

// tile lays the orders' units side by side, by position: the order at position p of q units covers p−q+1 … p, and
// together they must cover 1 … k. It finds each order that begins elsewhere than right behind the units covered so
// far, by position. Of several orders with one position, one that begins there is intact and the others overlap it.
func (t *trial) tile() []finding {
	if !t.positioned() {
		return nil
	}
	var findings []finding
	covered, last := int64(0), none
	for from := 0; from < len(t.sales); {
		to := t.peers(from)
		if t.sales[from].position == 0 {
			for s := from; s < to; s++ {
				findings = append(findings, finding{at: t.when(int32(s)), who: int32(s), other: none})
			}
			from = to
			continue
		}
		head := t.fitting(from, to, covered)
		for s := from; s < to; s++ {
			switch {
			case int32(s) != head:
				findings = append(findings, finding{at: t.when(int32(s)), who: int32(s), other: head})
			case t.sales[s].first() != covered+1:
				findings = append(findings, finding{at: t.when(int32(s)), who: int32(s), other: last})
			}
		}
		covered, last = max(covered, t.sales[from].position), head
		from = to
	}
	return findings
}

// fitting returns the sale of [from, to) that begins right behind the covered units, or the first of them.
func (t *trial) fitting(from, to int, covered int64) int32 {
	for s := from; s < to; s++ {
		if t.sales[s].first() == covered+1 {
			return int32(s)
		}
	}
	return int32(from)
}

// checkLostUpdate counts the orders that break the tiling: a strategy that read a stale count gave their units twice,
// or skipped some.
func checkLostUpdate(t *trial) result {
	if !t.positioned() {
		return unchecked(t.noPositions())
	}
	return judge(t.overlaps, "", func(f finding) results.Anomaly {
		s := t.sales[f.who]
		a := results.Anomaly{Units: s.quantity}
		if f.other != none {
			a.Orders = append(a.Orders, t.witnessSale(f.other))
		}
		a.Orders = append(a.Orders, t.witnessSale(f.who))
		name := t.orderOf(f.who).Key
		switch {
		case s.position == 0:
			a.Detail = fmt.Sprintf("Order %s has no position, although others have.", name)
		case f.other == none:
			a.Detail = fmt.Sprintf("Order %s took %s, but the units begin at 1.", name, s.span())
		case s.first() <= t.sales[f.other].position:
			a.Detail = fmt.Sprintf("Order %s took %s, but order %s had taken the units up to %d.",
				name, s.span(), t.orderOf(f.other).Key, t.sales[f.other].position)
		default:
			a.Detail = fmt.Sprintf("Order %s took %s, but the orders before it end at unit %d.",
				name, s.span(), t.sales[f.other].position)
		}
		return a
	})
}

// span names the units that a sale took.
func (s sale) span() string {
	if s.quantity == 1 {
		return fmt.Sprintf("unit %d", s.position)
	}
	return fmt.Sprintf("units %d to %d", s.first(), s.position)
}

// noPositions says why positions cannot be checked.
func (t *trial) noPositions() string {
	if len(t.sales) == 0 {
		return "the ledger is empty"
	}
	return "the strategy gives no positions"
}

// invert finds the orders that were sent after another was answered and yet have a lower position. It walks down the
// positions and keeps the earliest answer above. Orders that share a position are no evidence either way, and neither
// are those without one.
func (t *trial) invert() []finding {
	var findings []finding
	earliest, by := never, none
	for to := len(t.sales); to > 0; {
		from := to - 1
		for from > 0 && t.sales[from-1].position == t.sales[from].position {
			from--
		}
		if t.sales[from].position != 0 {
			for s := from; s < to; s++ {
				if earliest < t.sales[s].sent {
					findings = append(findings, finding{at: t.sales[s].sent, who: int32(s), other: by})
				}
			}
			for s := from; s < to; s++ {
				if t.sales[s].end < earliest {
					earliest, by = t.sales[s].end, int32(s)
				}
			}
		}
		to = from
	}
	return findings
}

// checkRealTimeOrder counts the orders whose position contradicts the clock.
func checkRealTimeOrder(t *trial) result {
	if !t.positioned() {
		return unchecked(t.noPositions())
	}
	return judge(t.inversions, "", func(f finding) results.Anomaly {
		before, after := t.sales[f.other], t.sales[f.who]
		return results.Anomaly{
			Detail: fmt.Sprintf("Order %s was sent %v after order %s was answered, but its position is %d, below %d.",
				t.orderOf(f.who).Key, round(after.sent-before.end), t.orderOf(f.other).Key,
				after.position, before.position),
			Units:  after.quantity,
			Orders: []results.Witness{t.witnessSale(f.other), t.witnessSale(f.who)},
		}
	})
}

// checkFenceOrder counts the orders whose fence is below that of the order before them, by position: a holder that was
// replaced sold all the same. Several orders may share a fence, as those do that one leader sells. Orders without a fence
// or a position say nothing of it.
func checkFenceOrder(t *trial) result {
	if !t.positioned() {
		return unchecked(t.noPositions())
	}
	var findings []finding
	fenced, before := 0, none
	for i := range t.sales {
		fence := t.orderOf(int32(i)).Fence
		if fence == 0 || t.sales[i].position == 0 {
			continue
		}
		fenced++
		if before != none && fence < t.orderOf(before).Fence {
			findings = append(findings, finding{at: t.when(int32(i)), who: int32(i), other: before})
		}
		before = int32(i)
	}
	if fenced == 0 {
		return unchecked("no order was sold under a fence")
	}
	note := ""
	if bare := len(t.sales) - fenced; bare > 0 {
		note = fmt.Sprintf("%s had no fence or no position", count(int64(bare), "order"))
	}
	return judge(findings, note, func(f finding) results.Anomaly {
		before, o := t.orderOf(f.other), t.orderOf(f.who)
		return results.Anomaly{
			Detail: fmt.Sprintf("Order %s at position %d was sold under fence %d, below fence %d of position %d.",
				o.Key, o.Position, o.Fence, before.Fence, before.Position),
			Units:  int64(o.Quantity),
			Orders: []results.Witness{t.witnessSale(f.other), t.witnessSale(f.who)},
		}
	})
}
