package attack

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/hotsku/hotsku/results"
)

// ErrRecord says that the record of an attack is not what happened: a hit is missing, or was reported twice.
// Nothing may be concluded from such an attack.
var ErrRecord = errors.New("attack: the record of hits is broken")

// A record keeps what vegeta reports of each hit, next to the answer that the courier wrote down.
type record struct {
	zero     time.Time
	schedule []time.Duration
	hits     []results.Hit // by Seq; see courier.hits
	reported []bool        // by Seq
	// arrivals holds the Seqs of the hits reported so far in the order of their reports, and arrived their number. Who
	// has loaded arrived may read those hits while the attack goes on.
	arrivals []uint32
	arrived  atomic.Int64
}

func newRecord(zero time.Time, schedule []time.Duration, hits []results.Hit) *record {
	return &record{
		zero: zero, schedule: schedule, hits: hits,
		reported: make([]bool, len(schedule)), arrivals: make([]uint32, len(schedule)),
	}
}

// drain takes all reports until the attack is over. At the first that cannot be true it calls broken, and drains on:
// the workers of vegeta wait until their reports are taken.
func (r *record) drain(reports <-chan *vegeta.Result, broken func()) error {
	var first error
	for report := range reports {
		if err := r.add(report); err != nil && first == nil {
			first = err
			broken()
		}
	}
	return first
}

// add writes down one report. vegeta reads the clock and numbers the hit under one lock, so that Sent grows with Seq.
// The hit that took number k need not be the one that the schedule let go as its k-th: when several are let go within
// microseconds of each other, neighbours may change places. Since orders are made by number, nothing is mixed up: a
// neighbour's intended time is no more than that burst away.
func (r *record) add(report *vegeta.Result) error {
	switch {
	case report.Seq >= uint64(len(r.hits)):
		return fmt.Errorf("%w: hit %d was reported, of a schedule of %d", ErrRecord, report.Seq, len(r.hits))
	case r.reported[report.Seq]:
		return fmt.Errorf("%w: hit %d was reported twice", ErrRecord, report.Seq)
	}
	hit := &r.hits[report.Seq]
	if hit.Quantity == 0 {
		return fmt.Errorf("%w: hit %d was not carried to a replica: %s", ErrRecord, report.Seq, report.Error)
	}
	hit.Seq = report.Seq
	hit.Intended = r.schedule[report.Seq]
	hit.Sent = report.Timestamp.Sub(r.zero)
	hit.End = hit.Sent + report.Latency
	r.reported[report.Seq] = true
	n := r.arrived.Load()
	r.arrivals[n] = uint32(report.Seq)
	r.arrived.Store(n + 1)
	return nil
}

// sent returns the hits that were sent, by Seq. Since vegeta numbers hits without a gap, they are the first of the
// schedule; anything else is an [ErrRecord].
func (r *record) sent() ([]results.Hit, error) {
	n := r.arrived.Load()
	for seq, reported := range r.reported[:n] {
		if !reported {
			return nil, fmt.Errorf("%w: hit %d was never reported, though a later one was", ErrRecord, seq)
		}
	}
	return r.hits[:n:n], nil
}
