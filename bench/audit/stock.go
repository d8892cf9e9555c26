package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// oversold returns the units that were committed beyond the stock. The stock column has no say in it: a strategy that
// writes back what it read leaves the column at 0 with thousands oversold.
func (t *trial) oversold() int64 { return max(0, t.sold-max(0, t.Stock)) }

// checkOversold counts the units that the ledger holds beyond the stock.
func checkOversold(t *trial) result {
	beyond := t.oversold()
	if beyond == 0 {
		return held("")
	}
	detail := fmt.Sprintf("%s were committed of a stock of %d: %d too many.", count(t.sold, "unit"), t.Stock, beyond)
	return broken(beyond, "", results.Anomaly{Detail: detail, Units: beyond, Orders: t.beyond()})
}

// beyond returns the first orders that the stock did not cover: by position where the positions are in order, else by
// creation.
func (t *trial) beyond() []results.Witness {
	turn := make([]int32, len(t.sales))
	for i := range turn {
		turn[i] = int32(i)
	}
	if t.positions != trusted {
		slices.SortStableFunc(turn, func(a, b int32) int {
			x, y := t.orderOf(a), t.orderOf(b)
			return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
		})
	}
	var witnesses []results.Witness
	var taken int64
	for _, s := range turn {
		taken += t.sales[s].quantity
		if taken > t.Stock && len(witnesses) < MaxWitnesses {
			witnesses = append(witnesses, t.witnessSale(s))
		}
	}
	return witnesses
}

// checkConservation compares what left the inventory row with what the ledger sold. The orders that share their units
// with another are the likeliest cause of a difference, and its witnesses.
func checkConservation(t *trial) result {
	left := t.Stock - t.sold
	note := ""
	if t.Inventory.Sold != t.sold {
		note = fmt.Sprintf("the inventory row counts %s sold, the ledger %d", count(t.Inventory.Sold, "unit"), t.sold)
	}
	if t.Inventory.Stock == left {
		return held(note)
	}
	a := results.Anomaly{
		Detail: fmt.Sprintf("A stock of %d less the %d sold leaves %d, but the inventory row says %d left and %d sold.",
			t.Stock, t.sold, left, t.Inventory.Stock, t.Inventory.Sold),
		Units: distance(t.Inventory.Stock, left),
	}
	for _, f := range t.overlaps[:min(len(t.overlaps), MaxWitnesses/2)] {
		if f.other != none {
			a.Orders = append(a.Orders, t.witnessSale(f.other), t.witnessSale(f.who))
		}
	}
	return broken(a.Units, note, a)
}

// checkNegativeStock counts the units that the inventory row is below zero.
func checkNegativeStock(t *trial) result {
	below := max(0, -t.Inventory.Stock)
	if below == 0 {
		return held("")
	}
	return broken(below, "", results.Anomaly{
		Detail: fmt.Sprintf("The inventory row fell to %d.", t.Inventory.Stock),
		Units:  below,
	})
}

// checkStranded counts the units left at rest, when somebody who would have bought them was told sold out. Units never
// come back, so that each such answer is a false sold-out as well.
func checkStranded(t *trial) result {
	left := t.Stock - t.sold
	if left <= 0 {
		return held("")
	}
	var denied int64
	first := make([]int32, 0, MaxWitnesses+1)
	for at, i := range t.hits {
		h := &t.Hits[i]
		if h.Outcome != api.SoldOut || int64(h.Quantity) > left {
			continue
		}
		denied++
		first = t.earliest(first, int32(at))
	}
	if denied == 0 {
		return held("")
	}
	a := results.Anomaly{
		Detail: fmt.Sprintf("At rest %d of %d units are left, although %s refused orders for no more than that.",
			left, t.Stock, count(denied, "sold-out answer")),
		Units: left,
	}
	for _, at := range first {
		a.Orders = append(a.Orders, t.witnessHit(t.hits[at]))
	}
	return broken(left, "", a)
}

// earliest inserts a place in hits into a list of at most MaxWitnesses, kept by End.
func (t *trial) earliest(list []int32, at int32) []int32 {
	end := func(at int32) results.Duration { return results.Duration(t.Hits[t.hits[at]].End) }
	i, _ := slices.BinarySearchFunc(list, at, func(a, b int32) int {
		return cmp.Or(cmp.Compare(end(a), end(b)), cmp.Compare(a, b))
	})
	list = slices.Insert(list, i, at)
	return list[:min(len(list), MaxWitnesses)]
}

// distance returns |a − b|.
func distance(a, b int64) int64 { return max(a-b, b-a) }
