package audit

import (
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// drained is a history that sells out; plenty is one that never does.
var (
	drained = recipe{seed: 3, orders: 700, stock: 300, quantity: 3, clients: 12, unsettled: true}
	plenty  = recipe{seed: 4, orders: 300, stock: 5000, quantity: 3, clients: 12, unsettled: true}
)

// A counts gives the expected count of invariants that are broken.
type counts map[results.Invariant]int64

// plants holds a row per fault: how to plant n of it, and what the audit must then count. A row that lists more than
// one invariant shows that the fault cannot be had alone.
var plants = []struct {
	name  string
	from  recipe
	plant func(h *history, n int)
	want  func(n int64) counts
}{
	{
		name:  "units sold beyond the stock, by a relative decrement, drive the row below zero as well",
		from:  drained,
		plant: func(h *history, n int) { oversell(h, n); h.Inventory.Stock = -int64(n) },
		want:  func(n int64) counts { return counts{results.Oversold: n, results.NegativeStock: n} },
	},
	{
		name:  "units sold beyond the stock, with the row written back as 0, are not conserved",
		from:  drained,
		plant: oversell,
		want:  func(n int64) counts { return counts{results.Oversold: n, results.Conservation: n} },
	},
	{
		name:  "units that the row did not give up",
		from:  drained,
		plant: func(h *history, n int) { h.Inventory.Stock += int64(n) },
		want:  func(n int64) counts { return counts{results.Conservation: n} },
	},
	{
		name:  "units that left the row without an order",
		from:  plenty,
		plant: func(h *history, n int) { h.Inventory.Stock -= int64(n) },
		want:  func(n int64) counts { return counts{results.Conservation: n} },
	},
	{
		name:  "a row below zero without oversold units has lost units as well",
		from:  drained,
		plant: func(h *history, n int) { h.Inventory.Stock = -int64(n) },
		want:  func(n int64) counts { return counts{results.NegativeStock: n, results.Conservation: n} },
	},
	{
		name: "orders that took the units of the order before them",
		from: drained,
		plant: func(h *history, n int) {
			for _, row := range choose(h.rows(), n, 1) {
				shift(h, row, -h.Ledger[row].Position+h.Ledger[row-1].Position)
			}
		},
		want: func(n int64) counts { return counts{results.LostUpdate: n} },
	},
	{
		name: "orders that left units out",
		from: drained,
		plant: func(h *history, n int) {
			for i, row := range choose(h.rows(), n, 1) {
				shift(h, row, int64(i+1))
			}
		},
		want: func(n int64) counts { return counts{results.LostUpdate: n} },
	},
	{
		name: "orders without a position among others leave gaps as well",
		from: drained,
		plant: func(h *history, n int) {
			for _, row := range choose(h.rows(), n, 2) {
				h.Ledger[row].Position = 0
				h.told(row)
			}
		},
		want: func(n int64) counts { return counts{results.LostUpdate: 2 * n} },
	},
	{
		name:  "orders sent after the next order was answered",
		from:  drained,
		plant: invertPairs,
		want:  func(n int64) counts { return counts{results.RealTimeOrder: n} },
	},
	{
		name: "sold-out answers while the stock was full",
		from: drained,
		plant: func(h *history, n int) {
			for range n {
				h.Hits = append(h.Hits, results.Hit{
					Seq: uint64(len(h.Hits)), Sent: 1, End: 2, Quantity: 1, Outcome: api.SoldOut, Code: 409,
				})
				h.Executions[0].Requests++
			}
		},
		want: func(n int64) counts { return counts{results.FalseSoldOut: n} },
	},
	{
		name: "units stranded by a sold-out answer, which is false as well",
		from: plenty,
		plant: func(h *history, n int) {
			h.Stock = h.Inventory.Sold + int64(n)
			h.Inventory.Stock = int64(n)
			h.Hits = append(h.Hits, results.Hit{
				Seq: uint64(len(h.Hits)), Sent: time.Second, End: 2 * time.Second, Quantity: 1, Outcome: api.SoldOut, Code: 409,
			})
			h.Executions[0].Requests++
		},
		want: func(n int64) counts { return counts{results.Stranded: n, results.FalseSoldOut: 1} },
	},
	{
		name: "second orders of a key",
		from: drained,
		plant: func(h *history, n int) {
			for _, row := range choose(h.rows(), n, 2) {
				refuse(h, row)
				h.Ledger[row].Key = h.Ledger[row-1].Key
			}
		},
		want: func(n int64) counts { return counts{results.DuplicateOrder: n} },
	},
	{
		name: "acknowledged orders that the ledger lacks",
		from: drained,
		plant: func(h *history, n int) {
			for i, place := range h.hitsWith(api.Contended, 3)[:n] {
				hit := &h.Hits[place]
				hit.Outcome, hit.Order, hit.Position = api.Sold, int64(9000+i), int64(9000+i)
			}
		},
		want: func(n int64) counts { return counts{results.LostOrder: n} },
	},
	{
		name: "acknowledged orders that the ledger has with another id, position, quantity or fence",
		from: drained,
		plant: func(h *history, n int) {
			for i, row := range choose(h.rows(), n, 1) {
				hit := &h.Hits[h.hit(h.Ledger[row])]
				switch i % 4 {
				case 0:
					hit.Order++
				case 1:
					hit.Position++
				case 2:
					hit.Quantity++
				case 3:
					hit.Fence--
				}
			}
		},
		want: func(n int64) counts { return counts{results.LostOrder: n} },
	},
	{
		name: "sales of an unknown outcome with more units than were asked for",
		from: drained,
		plant: func(h *history, n int) {
			for _, row := range choose(h.rows(), n, 1) {
				hit := &h.Hits[h.hit(h.Ledger[row])]
				hit.Outcome, hit.Quantity = api.Unknown, hit.Quantity-1
			}
		},
		want: func(n int64) counts { return counts{results.LostOrder: n} },
	},
	{
		name: "refused orders that were sold all the same",
		from: drained,
		plant: func(h *history, n int) {
			for _, row := range choose(h.rows(), n, 1) {
				refuse(h, row)
			}
		},
		want: func(n int64) counts { return counts{results.PhantomOrder: n} },
	},
	{
		name: "orders that nobody asked for",
		from: drained,
		plant: func(h *history, n int) {
			for i, row := range choose(h.rows(), n, 1) {
				refuse(h, row)
				h.Ledger[row].Key = []string{"", prefix, "stranger", prefix + "007", prefix + "+7", prefix + "99999", "t-8-1"}[i]
			}
		},
		want: func(n int64) counts { return counts{results.PhantomOrder: n} },
	},
	{
		name: "orders under a fence below that of the order before them",
		from: drained,
		plant: func(h *history, n int) {
			for _, row := range choose(h.rows(), n, 2) {
				h.Ledger[row].Fence = h.Ledger[row-1].Fence - 1
				h.told(row)
			}
		},
		want: func(n int64) counts { return counts{results.FenceOrder: n} },
	},
	{
		name: "leases given up after the next was taken",
		from: drained,
		plant: func(h *history, n int) {
			for _, row := range choose(h.rows(), n, 2) {
				next := h.step(successor(h, row), "acquire")
				h.step(h.Ledger[row].Key, "release").Start = next.End + 1
			}
		},
		want: func(n int64) counts { return counts{results.BelievedOverlap: n} },
	},
	{
		name: "sales that committed after the next had begun",
		from: plenty,
		plant: func(h *history, n int) {
			for _, row := range choose(h.rows(), n, 2) {
				next := h.step(h.Ledger[row+1].Key, "begin")
				h.step(h.Ledger[row].Key, "commit").End = next.Start + 1
			}
		},
		want: func(n int64) counts { return counts{results.EffectiveOverlap: n} },
	},
	{
		name: "hits that came twice",
		from: drained,
		plant: func(h *history, n int) {
			h.Executions[0].Repeated = map[uint64]int64{}
			for _, row := range h.rows() {
				hit := h.Hits[h.hit(h.Ledger[row])]
				if hit.Replica == 0 && len(h.Executions[0].Repeated) < n {
					h.Executions[0].Repeated[hit.Seq] = 2
					h.Executions[0].Requests++
				}
			}
		},
		want: func(n int64) counts { return counts{results.HiddenResend: n} },
	},
	{
		name: "answers of a replica that did not count the requests",
		from: recipe{seed: 5, orders: 300, stock: 5000, quantity: 3, clients: 12},
		plant: func(h *history, n int) {
			h.Executions[1].Requests -= int64(n)
		},
		want: func(n int64) counts { return counts{results.HiddenResend: n} },
	},
}
