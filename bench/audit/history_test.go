package audit

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const prefix = "t-7-"

// A recipe says how to make a clean history.
type recipe struct {
	seed      uint64
	orders    int
	stock     int64
	quantity  int  // each order asks for 1 to so many units
	clients   int  // about how many orders are in flight at once
	bare      bool // no positions and no fences
	untraced  bool
	unsettled bool // a tenth of the outcomes is unknown, half of which sold; another tenth is refused
}

// A history is a case in which every order really happened at one moment.
type history struct {
	Case
	moment []time.Duration // by Seq
	token  []int64         // by Seq
}

// slot is the distance of two moments. A critical section takes less.
const slot = time.Microsecond

// make builds the history: its k-th order happens at k slots, somewhere between its Sent and its End.
func (r recipe) make() history {
	rng := rand.New(rand.NewPCG(r.seed, 1))
	h := history{Case: Case{
		SKU: "hot", Stock: r.stock, KeyPrefix: prefix, Zero: zero,
		Replicas: []string{"replica-a", "replica-b", "replica-c"},
	}}
	type op struct {
		results.Hit
		moment time.Duration
		token  int64
	}
	ops := make([]op, r.orders)
	spread := int64(max(1, r.clients)) * int64(slot) / 2
	for k := range ops {
		moment := slot * time.Duration(k+r.clients+1)
		sent := moment - 100 - time.Duration(rng.Int64N(spread))
		end := moment + 100 + time.Duration(rng.Int64N(spread))
		ops[k] = op{moment: moment, token: int64(k + 1), Hit: results.Hit{
			Sent: sent, Intended: sent, End: end, Quantity: int32(1 + rng.IntN(max(1, r.quantity))), Replica: uint8(rng.IntN(3)),
		}}
	}
	slices.SortStableFunc(ops, func(a, b op) int { return cmp.Compare(a.Sent, b.Sent) })
	for i := range ops {
		ops[i].Seq = uint64(i)
		h.moment = append(h.moment, ops[i].moment)
		h.token = append(h.token, ops[i].token)
	}
	slices.SortFunc(ops, func(a, b op) int { return cmp.Compare(a.moment, b.moment) })

	executions := make([]api.Executions, 3)
	for i, name := range h.Replicas {
		executions[i] = api.Executions{Replica: name, SKU: h.SKU}
	}
	var sold int64
	for _, o := range ops {
		hit := o.Hit
		dice := 1.0
		if r.unsettled {
			dice = rng.Float64()
		}
		executions[hit.Replica].Requests++
		switch {
		case dice < 0.05: // refused
			hit.Outcome, hit.Code = []api.Outcome{api.Contended, api.Fenced, api.Unavailable}[rng.IntN(3)], 423
		case dice < 0.10: // lost on the way there
			executions[hit.Replica].Requests--
		case h.Stock-sold < int64(hit.Quantity):
			hit.Outcome, hit.Code = api.SoldOut, 409
			h.trace(r, hit, o.moment, false)
		default:
			sold += int64(hit.Quantity)
			row := api.Order{
				ID: 500 + o.token, SKU: h.SKU, Quantity: int(hit.Quantity), Position: sold, Fence: o.token,
				Key: fmt.Sprint(prefix, hit.Seq), Replica: h.Replicas[hit.Replica], CreatedAt: zero.Add(o.moment),
			}
			if r.bare {
				row.Position, row.Fence = 0, 0
			}
			h.Ledger = append(h.Ledger, row)
			h.trace(r, hit, o.moment, true)
			if dice < 0.15 { // the answer was lost, perhaps even before the sale
				hit.End = hit.Sent + time.Duration(rng.Int64N(2*spread))
				break
			}
			hit.Outcome, hit.Code = api.Sold, 201
			hit.Order, hit.Position, hit.Fence = row.ID, row.Position, row.Fence
		}
		h.Hits = append(h.Hits, hit)
	}
	slices.SortFunc(h.Hits, func(a, b results.Hit) int { return cmp.Compare(a.Seq, b.Seq) })
	h.Inventory = api.Inventory{SKU: h.SKU, Stock: h.Stock - sold, Sold: sold}
	h.Executions = executions
	return h
}

// trace adds the steps of an order that held the lease around its moment.
func (h *history) trace(r recipe, hit results.Hit, moment time.Duration, sold bool) {
	if r.untraced {
		return
	}
	last := "rollback"
	if sold {
		last = "commit"
	}
	at := func(d time.Duration) int64 { return zero.Add(moment + d).UnixNano() }
	step := func(store api.Store, name string, from, to time.Duration) {
		h.Steps = append(h.Steps, api.Step{
			Order: fmt.Sprint(prefix, hit.Seq), Replica: h.Replicas[hit.Replica], Store: store, Name: name,
			Start: at(from), End: at(to),
		})
	}
	step(api.Redis, "acquire", -90, -80)
	step(api.Database, "begin", -60, -55)
	step(api.Database, "select inventory", -50, -40)
	step(api.Database, last, -20, -10)
	step(api.Redis, "release", -5, 0)
}

// rows returns the places in the ledger of orders that were acknowledged, by position.
func (h *history) rows() []int {
	var rows []int
	for i, o := range h.Ledger {
		if h.Hits[h.hit(o)].Outcome == api.Sold {
			rows = append(rows, i)
		}
	}
	return rows
}

// hit returns the place in Hits of the hit that asked for o. The hits of a fresh history are numbered by place.
func (h *history) hit(o api.Order) int {
	seq, ok := parseKey(h.KeyPrefix, o.Key)
	if !ok {
		panic("foreign key " + o.Key)
	}
	return int(seq)
}

// told makes the hit of a row agree with it again.
func (h *history) told(row int) {
	o := h.Ledger[row]
	hit := &h.Hits[h.hit(o)]
	if hit.Outcome.Acknowledged() {
		hit.Order, hit.Position, hit.Fence = o.ID, o.Position, o.Fence
	}
}

// hitsWith returns the places of the hits with an outcome and at most so many units, by the moment they happened.
func (h *history) hitsWith(o api.Outcome, quantity int32) []int {
	var places []int
	for i := range h.Hits {
		if h.Hits[i].Outcome == o && h.Hits[i].Quantity <= quantity {
			places = append(places, i)
		}
	}
	slices.SortFunc(places, func(a, b int) int {
		return cmp.Compare(h.moment[h.Hits[a].Seq], h.moment[h.Hits[b].Seq])
	})
	return places
}

// step returns the step of an order with a name.
func (h *history) step(order, name string) *api.Step {
	for i := range h.Steps {
		if h.Steps[i].Order == order && h.Steps[i].Name == name {
			return &h.Steps[i]
		}
	}
	panic("no step " + name + " of " + order)
}
