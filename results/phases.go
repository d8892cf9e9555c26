package results

import (
	"cmp"
	"slices"
	"time"
)

// EdgeWidth is how far the edge phase reaches to either side of the moment at which the last unit went.
const EdgeWidth = 500 * time.Millisecond

// Phases splits a trial of the given shape and scheduled duration into its phases, in their order in time and without a
// gap from 0 to the duration.
//
// A sustain is one phase, Sustained. A drain is Selling until EdgeWidth before its edge, Edge, and AfterSale from
// EdgeWidth behind it, as far as it came: it is all Selling when the stock never sold out, and phases that would be
// empty are left out. Its edge is the end of the answer with which the acknowledged units, in the order of their
// answers, reached the stock.
func Phases(shape Shape, duration time.Duration, hits []Hit, stock int64) []Phase {
	sales := acknowledged(hits)
	var phases []Phase
	add := func(name PhaseName, from, to time.Duration) {
		if from = max(from, 0); from < min(to, duration) {
			phases = append(phases, Phase{Name: name, From: Duration(from), To: Duration(min(to, duration))})
		}
	}
	edge, soldOut := edgeOf(sales, stock)
	switch {
	case shape == Sustain:
		add(Sustained, 0, duration)
	case !soldOut:
		add(Selling, 0, duration)
	default:
		add(Selling, 0, edge-EdgeWidth)
		add(Edge, edge-EdgeWidth, edge+EdgeWidth)
		add(AfterSale, edge+EdgeWidth, duration)
	}
	for i := range phases {
		phases[i].Acknowledged = endedIn(sales, phases[i])
	}
	return phases
}

// acknowledged returns the hits whose sale was acknowledged, in the order of their answers.
func acknowledged(hits []Hit) []Hit {
	var sales []Hit
	for _, h := range hits {
		if h.Outcome.Acknowledged() {
			sales = append(sales, h)
		}
	}
	slices.SortFunc(sales, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Seq, b.Seq))
	})
	return sales
}

// edgeOf returns when the units of sales reached stock, and whether they did.
func edgeOf(sales []Hit, stock int64) (time.Duration, bool) {
	var units int64
	for _, h := range sales {
		if units += int64(h.Quantity); units >= stock {
			return h.End, true
		}
	}
	return 0, stock <= 0
}

// endedIn counts the sales that were answered within p.
func endedIn(sales []Hit, p Phase) int64 {
	var n int64
	for _, h := range sales {
		if p.From.D() <= h.End && h.End < p.To.D() {
			n++
		}
	}
	return n
}

// phaseOf returns the index in phases, which must follow one another without a gap, of the one that the offset belongs
// to. What lies before the first counts to the first, and what lies behind the last to the last.
func phaseOf(phases []Phase, offset time.Duration) int {
	for i := range phases {
		if offset < phases[i].To.D() {
			return i
		}
	}
	return len(phases) - 1
}
