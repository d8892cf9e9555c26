package audit

import (
	"cmp"
	"slices"
	"time"

	"github.com/hotsku/hotsku/results"
)

// An answer is the end of a hit, with the units that it newly acknowledged.
type answer struct {
	end   time.Duration
	units int64
}

// pace measures how steadily the trial sold, by the client's clock.
//
// The longest gap is the longest stretch of time in which at least one hit was unanswered throughout, and no order was
// acknowledged. Only stretches that a later acknowledgement followed count, and only up to the one that brought the
// acknowledged units to the stock: what happens after the last sale is no gap between sales. A stretch begins with an
// acknowledgement, or with a hit that is sent when none was unanswered.
//
// The first oversell is the end of the hit with which the acknowledged units first exceeded the stock, 0 when none did.
// Sales with an unknown outcome have no end and are left out of both.
func (t *trial) pace() (longest, oversell results.Duration) {
	answers := t.answers()
	var acknowledged int64
	for _, a := range answers {
		acknowledged += a.units
		if acknowledged > t.Stock {
			oversell = results.Duration(a.end)
			break
		}
	}
	return results.Duration(t.longestGap(answers)), oversell
}

// answers returns the ends of all hits, by time. An order is acknowledged by the first try that was told so.
func (t *trial) answers() []answer {
	answers := make([]answer, 0, len(t.Hits))
	for k := range t.keys {
		first := none
		for _, i := range t.tries(int32(k)) {
			h := &t.Hits[i]
			if h.Outcome.Acknowledged() && (first == none || h.End < t.Hits[first].End) {
				first = i
			}
		}
		for _, i := range t.tries(int32(k)) {
			a := answer{end: max(t.Hits[i].Sent, t.Hits[i].End)}
			if i == first {
				a.units = int64(t.Hits[i].Quantity)
			}
			answers = append(answers, a)
		}
	}
	slices.SortFunc(answers, func(a, b answer) int {
		return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(b.units, a.units))
	})
	return answers
}

// longestGap sweeps over sends and answers. At one moment a send comes first, so that a hit sent just as another ends
// keeps the stretch going.
func (t *trial) longestGap(answers []answer) time.Duration {
	sent := make([]time.Duration, len(t.Hits))
	for i := range t.Hits {
		sent[i] = t.Hits[i].Sent
	}
	slices.Sort(sent)

	var longest, pending, began time.Duration
	var acknowledged int64
	waiting, next := 0, 0
	for _, a := range answers {
		if acknowledged >= t.Stock {
			break
		}
		for ; next < len(sent) && sent[next] <= a.end; next++ {
			if waiting == 0 {
				began = sent[next]
			}
			waiting++
		}
		waiting--
		pending = max(pending, a.end-began)
		if a.units > 0 {
			longest = max(longest, pending)
			began = a.end
			acknowledged += a.units
		}
	}
	return longest
}
