package target

import (
	"errors"
	"maps"
	"strconv"
	"sync"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target/api"
	"github.com/hotsku/hotsku/target/steps"
)

// The bounds of what a recorder keeps, so that a client cannot fill the replica's memory.
const (
	maxSKUs  = 1000      // beyond it, further SKUs are not recorded
	maxSeq   = 1 << 26   // a higher number is counted but not checked for repetition
	maxSteps = 4_000_000 // of all SKUs together, about 120 bytes each
)

// recorder remembers what a replica saw of the checkouts of each SKU, for the audit to compare with what the clients
// saw. A nil recorder records nothing.
type recorder struct {
	replica string
	trace   bool

	mu   sync.Mutex // guards what follows
	skus map[string]*record
	kept int // steps, of all SKUs
	full bool
}

type record struct {
	executions api.Executions
	seen       []uint64 // one bit for each HeaderSeq that came
	steps      []api.Step
}

var _ steps.Observer = (*recorder)(nil)

func newRecorder(replica string, trace bool) *recorder {
	return &recorder{replica: replica, trace: trace, skus: map[string]*record{}}
}

// of returns the record of a SKU, or nil when there are too many. Its caller holds mu.
func (r *recorder) of(sku string) *record {
	found, ok := r.skus[sku]
	if !ok && len(r.skus) < maxSKUs {
		found = &record{executions: api.Executions{Replica: r.replica, SKU: sku, Repeated: map[uint64]int64{}}}
		r.skus[sku] = found
	}
	return found
}

// begin notes that a request has arrived.
func (r *recorder) begin(o *steps.Order, seq string) {
	r.with(o, func(record *record) {
		record.executions.InFlight++
		if n, malformed := strconv.ParseUint(seq, 10, 64); malformed == nil {
			record.arrived(n)
		}
	})
}

// end notes how a request ended, before it is answered.
func (r *recorder) end(o *steps.Order, err error) {
	r.with(o, func(record *record) { record.ended(err) })
}

func (r *recorder) with(o *steps.Order, do func(*record)) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if record := r.of(o.SKU); record != nil {
		do(record)
	}
}

// event counts an event of the strategy.
func (r *recorder) event(sku string, kind strategies.EventKind) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if record := r.of(sku); record != nil {
		if record.executions.Events == nil {
			record.executions.Events = map[string]int64{}
		}
		record.executions.Events[string(kind)]++
	}
}

func (record *record) ended(err error) {
	record.executions.InFlight--
	if errors.Is(err, strategies.ErrFenced) {
		record.executions.Fenced++
	}
}

func (r *record) arrived(seq uint64) {
	r.executions.Requests++
	if seq >= maxSeq {
		return
	}
	word, bit := seq/64, uint64(1)<<(seq%64)
	if need := int(word) + 1 - len(r.seen); need > 0 {
		r.seen = append(r.seen, make([]uint64, need)...)
	}
	if r.seen[word]&bit == 0 {
		r.seen[word] |= bit
		return
	}
	r.executions.Repeated[seq] = max(1, r.executions.Repeated[seq]) + 1
}

// Before implements [steps.Observer].
func (r *recorder) Before(*steps.Step) {}

// After implements [steps.Observer].
func (r *recorder) After(s *steps.Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record := r.of(s.Order.SKU)
	if record == nil {
		return
	}
	record.executions.Steps++
	// An order that waits for a lease asks again and again. The first refusal tells all; the grant tells how many.
	if !r.trace || s.Refused && s.Try > 1 {
		return
	}
	if r.kept == maxSteps {
		r.full = true
		return
	}
	r.kept++
	record.steps = append(record.steps, wire(r.replica, s))
}

// wire returns a step as the contract writes it.
func wire(replica string, s *steps.Step) api.Step {
	line := api.Step{
		Order: s.Order.Key, Replica: replica, Store: api.Store(s.Store), Name: s.Name,
		Start: s.Start.UnixNano(), End: s.Start.UnixNano() + int64(s.End.Sub(s.Start)), Stall: int64(s.Stall),
		Token: s.Token, Try: s.Try, Rows: s.Rows, Refused: s.Refused,
	}
	if s.Err != nil {
		line.Error = s.Err.Error()
	}
	return line
}

func (r *recorder) executions(sku string) api.Executions {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found, ok := r.skus[sku]; ok {
		copied := found.executions
		copied.Repeated = maps.Clone(found.executions.Repeated)
		copied.Events = maps.Clone(found.executions.Events)
		return copied
	}
	return api.Executions{Replica: r.replica, SKU: sku, Repeated: map[uint64]int64{}}
}

// steps returns the steps kept of a SKU, and whether they are all that were taken.
func (r *recorder) steps(sku string) (kept []api.Step, whole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found, ok := r.skus[sku]; ok {
		kept = found.steps[:len(found.steps):len(found.steps)]
	}
	return kept, !r.full
}
