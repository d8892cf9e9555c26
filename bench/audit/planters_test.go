package audit

import (
	"fmt"

	"github.com/hotsku/hotsku/target/api"
)

// choose draws n of rows, none of them the first two and no two closer than apart.
func choose(rows []int, n, apart int) []int {
	var chosen []int
	for _, row := range rows[2:] {
		if len(chosen) < n && (len(chosen) == 0 || row-chosen[len(chosen)-1] >= apart) {
			chosen = append(chosen, row)
		}
	}
	if len(chosen) < n {
		panic("too few orders to plant in")
	}
	return chosen
}

// shift moves the positions of the orders from a row on.
func shift(h *history, row int, by int64) {
	for i := row; i < len(h.Ledger); i++ {
		h.Ledger[i].Position += by
		h.told(i)
	}
}

// refuse makes the client believe that its order was refused.
func refuse(h *history, row int) {
	hit := &h.Hits[h.hit(h.Ledger[row])]
	hit.Outcome, hit.Code, hit.Order, hit.Position, hit.Fence = api.Contended, 423, 0, 0, 0
}

// oversell sells n units to customers that were told sold out, after all others.
func oversell(h *history, n int) {
	sold := h.Inventory.Sold
	for _, place := range h.hitsWith(api.SoldOut, 1) {
		hit := &h.Hits[place]
		if h.moment[hit.Seq] < h.moment[h.hit(h.Ledger[len(h.Ledger)-1])] || n == 0 {
			continue
		}
		n--
		sold++
		row := api.Order{
			ID: 500 + h.token[hit.Seq], SKU: h.SKU, Quantity: 1, Position: sold, Fence: h.token[hit.Seq],
			Key: fmt.Sprint(prefix, hit.Seq), CreatedAt: zero.Add(h.moment[hit.Seq]),
		}
		h.Ledger = append(h.Ledger, row)
		hit.Outcome, hit.Code = api.Sold, 201
		h.told(len(h.Ledger) - 1)
	}
	if n > 0 {
		panic("too few orders to oversell")
	}
}

// invertPairs swaps the places of n pairs of neighbours of one quantity, of which the first was answered before the
// second was sent.
func invertPairs(h *history, n int) {
	rows := h.rows()
	for i := 1; i < len(rows) && n > 0; i++ {
		a, b := &h.Ledger[rows[i-1]], &h.Ledger[rows[i]]
		if rows[i] != rows[i-1]+1 || a.Quantity != b.Quantity {
			continue
		}
		first, second := &h.Hits[h.hit(*a)], &h.Hits[h.hit(*b)]
		first.End, second.Sent = h.moment[first.Seq], h.moment[second.Seq]
		a.Position, b.Position = b.Position, a.Position
		a.Fence, b.Fence = b.Fence, a.Fence
		h.told(rows[i-1])
		h.told(rows[i])
		n--
		i++
	}
	if n > 0 {
		panic("too few neighbours to invert")
	}
}

// successor returns the key of the order that held the lease next after a row's.
func successor(h *history, row int) string {
	acquired := h.step(h.Ledger[row].Key, "acquire").Start
	var next *api.Step
	for i := range h.Steps {
		s := &h.Steps[i]
		if s.Name == "acquire" && s.Start > acquired && (next == nil || s.Start < next.Start) {
			next = s
		}
	}
	return next.Order
}
