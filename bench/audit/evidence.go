package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// The bounds of the evidence. They keep a trial in which everything broke readable; counts are never cut.
const (
	MaxAnomalies = 100 // anomalies of one invariant: the first by time
	MaxWitnesses = 10  // orders of one anomaly that speaks of many: the first by time
)

// A result is a check with its evidence. Whoever runs the check fills in which invariant it was.
type result struct {
	check     results.Check
	anomalies []results.Anomaly
}

// held is the result of a check that found nothing.
func held(note string) result {
	return result{check: results.Check{State: results.Intact, Note: note}}
}

// unchecked is the result of a check that the evidence did not allow.
func unchecked(why string) result {
	return result{check: results.Check{State: results.Unchecked, Note: why}}
}

// broken is the result of a check that found count breaches.
func broken(count int64, note string, anomalies ...results.Anomaly) result {
	return result{check: results.Check{State: results.Violated, Count: count, Note: note}, anomalies: anomalies}
}

// A finding is one breach, kept small: all are counted, but few are put into words.
type finding struct {
	at    time.Duration
	who   int32 // the offender, an index into what the check looks at
	other int32 // whom it collides with, or none
}

// judge makes a result of findings; words turns one into an anomaly. It orders the findings by time.
func judge(findings []finding, note string, words func(finding) results.Anomaly) result {
	if len(findings) == 0 {
		return held(note)
	}
	slices.SortFunc(findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.who, b.who), cmp.Compare(a.other, b.other))
	})
	r := broken(int64(len(findings)), note)
	for _, f := range findings[:min(len(findings), MaxAnomalies)] {
		r.anomalies = append(r.anomalies, words(f))
	}
	return r
}

// when returns the moment by which a sale is ranked as evidence: its first Sent, or its row's creation when nobody
// asked for it.
func (t *trial) when(s int32) time.Duration {
	if t.sales[s].key != none {
		return t.sales[s].sent
	}
	return t.Ledger[t.sales[s].row].CreatedAt.Sub(t.Zero)
}

// witnessSale describes a sale by its row and the hit that tells most of it.
func (t *trial) witnessSale(s int32) results.Witness {
	o := &t.Ledger[t.sales[s].row]
	w := results.Witness{
		Key: o.Key, Replica: o.Replica, Order: o.ID, Position: o.Position, Quantity: o.Quantity,
		Fence: o.Fence, Created: o.CreatedAt,
	}
	if k := t.sales[s].key; k != none {
		h := &t.Hits[t.telling(k, o.ID)]
		w.Outcome, w.Sent, w.End = h.Outcome.String(), results.Duration(h.Sent), results.Duration(h.End)
		w.Replica = cmp.Or(w.Replica, t.replica(h.Replica))
	}
	return w
}

// telling returns the try of key k that was answered with the order, or the last one when none was.
func (t *trial) telling(k int32, order int64) int32 {
	tries := t.tries(k)
	for _, i := range tries {
		if h := &t.Hits[i]; h.Outcome.Acknowledged() && h.Order == order {
			return i
		}
	}
	return tries[len(tries)-1]
}

// witnessHit describes a hit as its client saw it.
func (t *trial) witnessHit(i int32) results.Witness {
	h := &t.Hits[i]
	return results.Witness{
		Key: t.keyName(h.Seq), Outcome: h.Outcome.String(), Replica: t.replica(h.Replica), Order: h.Order,
		Position: h.Position, Quantity: int(h.Quantity), Fence: h.Fence,
		Sent: results.Duration(h.Sent), End: results.Duration(h.End),
	}
}

// witnessKey describes an order by its key alone: by the ledger where that has it, else by its last try.
func (t *trial) witnessKey(name string) results.Witness {
	k := t.find(name)
	switch {
	case k == none:
		return results.Witness{Key: name}
	case t.keys[k].sale != none:
		return t.witnessSale(t.keys[k].sale)
	}
	tries := t.tries(k)
	return t.witnessHit(tries[len(tries)-1])
}

// keyName returns the idempotency key of the hit numbered seq.
func (t *trial) keyName(seq uint64) string { return t.KeyPrefix + strconv.FormatUint(seq, 10) }

// orderOf returns the row of a sale.
func (t *trial) orderOf(s int32) *api.Order { return &t.Ledger[t.sales[s].row] }

// replica returns the name of the replica at an address, or "" for an address that the case does not name.
func (t *trial) replica(address uint8) string {
	if int(address) < len(t.Replicas) {
		return t.Replicas[address]
	}
	return ""
}

// count writes a number with its noun, in the plural where it must be.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// round cuts a time to the microseconds that a reader can use.
func round(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
