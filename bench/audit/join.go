package audit

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotsku/hotsku/results"
)

// none is the index of nothing.
const none = int32(-1)

// The edges of time: what was never asked for may have been sold at any moment, what was never answered is still open.
const (
	always = time.Duration(math.MinInt64)
	never  = time.Duration(math.MaxInt64)
)

// A trial is a case whose hits and orders are joined. It refers to both by index: strings are compared only where a
// key does not belong to the trial.
type trial struct {
	Case
	hits  []int32 // indices of Hits, the tries of each key side by side
	keys  []key   // by Seq
	sales []sale  // the ledger, by position
	// foreign lists the sales with a key that nobody asked for, by key.
	foreign []int32

	sold       int64     // units in the ledger
	overlaps   []finding // orders that break the tiling by positions
	inversions []finding // orders that contradict the clock
	positions  positions
	sections   []section // the stays under a lease, as traced
}

// A key is an order as its client asked for it, in one try or several.
type key struct {
	from, to int32         // its tries are hits[from:to]
	sale     int32         // the first of its sales, or none; the others follow by sale.next
	sent     time.Duration // the first time
}

// A sale is an order of the ledger. It happened between sent and end.
type sale struct {
	row      int32 // in Ledger
	key      int32 // in keys; none for a key that nobody asked for
	next     int32 // the next sale of the same key
	quantity int64
	position int64
	sent     time.Duration
	end      time.Duration // never, unless its answer was read
}

// first returns the number of the first unit that the sale took.
func (s sale) first() int64 { return s.position - s.quantity + 1 }

// join brings hits, ledger and steps together and finds out what the positions are worth.
func join(c Case) *trial {
	t := &trial{Case: c}
	t.groupHits()
	t.groupSales()
	t.overlaps = t.tile()
	t.inversions = t.invert()
	t.positions = t.weigh()
	t.sections = t.readSections()
	return t
}

// groupHits orders the hits by Seq, then by time, and makes a key of those that share one.
func (t *trial) groupHits() {
	t.hits = make([]int32, len(t.Hits))
	for i := range t.hits {
		t.hits[i] = int32(i)
	}
	compare := func(a, b int32) int { return compareHits(&t.Hits[a], &t.Hits[b]) }
	if !slices.IsSortedFunc(t.hits, compare) {
		slices.SortFunc(t.hits, compare)
	}
	t.keys = make([]key, 0, len(t.Hits))
	for from := 0; from < len(t.hits); {
		first, to := &t.Hits[t.hits[from]], from+1
		for to < len(t.hits) && t.Hits[t.hits[to]].Seq == first.Seq {
			to++
		}
		t.keys = append(t.keys, key{from: int32(from), to: int32(to), sale: none, sent: first.Sent})
		from = to
	}
}

// compareHits orders hits by Seq, then by time, then by what distinguishes two tries of one moment.
func compareHits(a, b *results.Hit) int {
	if a.Seq != b.Seq {
		return cmp.Compare(a.Seq, b.Seq)
	}
	return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.End, b.End), cmp.Compare(a.Outcome, b.Outcome),
		cmp.Compare(a.Order, b.Order), cmp.Compare(a.Position, b.Position), cmp.Compare(a.Fence, b.Fence),
		cmp.Compare(a.Quantity, b.Quantity), cmp.Compare(a.Replica, b.Replica), cmp.Compare(a.Code, b.Code))
}

// groupSales orders the ledger by position, hangs each sale on its key and bounds it in time by the key's hits.
func (t *trial) groupSales() {
	t.sales = make([]sale, len(t.Ledger))
	for i := range t.Ledger {
		o := &t.Ledger[i]
		t.sales[i] = sale{row: int32(i), next: none, position: o.Position, quantity: int64(o.Quantity)}
		t.sold += int64(o.Quantity)
	}
	if !slices.IsSortedFunc(t.sales, t.compareSales) {
		slices.SortFunc(t.sales, t.compareSales)
	}
	for i := len(t.sales) - 1; i >= 0; i-- {
		s := &t.sales[i]
		s.key, s.sent, s.end = t.find(t.Ledger[s.row].Key), always, never
		if s.key == none {
			t.foreign = append(t.foreign, int32(i))
			continue
		}
		k := &t.keys[s.key]
		s.next, k.sale = k.sale, int32(i)
		s.sent, s.end = k.sent, t.answered(*k, t.Ledger[s.row].ID)
	}
	slices.SortFunc(t.foreign, func(a, b int32) int {
		return cmp.Or(strings.Compare(t.orderOf(a).Key, t.orderOf(b).Key), cmp.Compare(a, b))
	})
}

// compareSales orders sales by position, then by fence, so that orders that share a position cannot contradict its
// order, then by what makes the result the same however the ledger came.
func (t *trial) compareSales(a, b sale) int {
	if a.position != b.position {
		return cmp.Compare(a.position, b.position)
	}
	x, y := &t.Ledger[a.row], &t.Ledger[b.row]
	if c := cmp.Or(cmp.Compare(x.Fence, y.Fence), cmp.Compare(x.ID, y.ID)); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(x.Key, y.Key), cmp.Compare(x.Quantity, y.Quantity),
		x.CreatedAt.Compare(y.CreatedAt), strings.Compare(x.Replica, y.Replica))
}

// answered returns when the first answer that names the order was read, or never.
func (t *trial) answered(k key, order int64) time.Duration {
	end := never
	for _, i := range t.hits[k.from:k.to] {
		if h := &t.Hits[i]; h.Outcome.Acknowledged() && h.Order == order {
			end = min(end, h.End)
		}
	}
	return end
}

// find returns the index in keys of an idempotency key, or none when no hit of the trial has it.
func (t *trial) find(name string) int32 {
	seq, ok := parseKey(t.KeyPrefix, name)
	if !ok {
		return none
	}
	// Most trials number their hits 0, 1, 2 …, so that the number is the index.
	if seq < uint64(len(t.keys)) && t.seq(int32(seq)) == seq {
		return int32(seq)
	}
	i, found := slices.BinarySearchFunc(t.keys, seq, func(k key, seq uint64) int {
		return cmp.Compare(t.Hits[t.hits[k.from]].Seq, seq)
	})
	if !found {
		return none
	}
	return int32(i)
}

// parseKey returns the Seq of a key. A number that [strconv.FormatUint] would have written otherwise is not a key.
func parseKey(prefix, name string) (seq uint64, ok bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok || digits == "" || digits[0] == '+' || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 10, 64)
	return seq, err == nil
}

// seq returns the Seq that the hits of key k share.
func (t *trial) seq(k int32) uint64 { return t.Hits[t.hits[t.keys[k].from]].Seq }

// tries returns the indices of the hits of key k, by time.
func (t *trial) tries(k int32) []int32 { return t.hits[t.keys[k].from:t.keys[k].to] }

// resolved counts the hits with an unknown outcome by whether the ledger has their order.
func (t *trial) resolved() (sold, notSold int64) {
	for k := range t.keys {
		for _, i := range t.tries(int32(k)) {
			switch {
			case t.Hits[i].Outcome.Acknowledged() || t.Hits[i].Outcome.Refused():
			case t.keys[k].sale != none:
				sold++
			default:
				notSold++
			}
		}
	}
	return sold, notSold
}
