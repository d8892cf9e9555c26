package attack

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// longestSleep bounds a sleep, which nothing can interrupt, so that a cancelled attack ends soon.
const longestSleep = 50 * time.Millisecond

// A pacer lets hits go at the offsets of a schedule. A late hit goes at once, and so do all that are due by then: the
// customers of an open system do not stay away because the generator was busy.
//
// It sleeps inside Pace, where vegeta expects only the answer how long to sleep, because time.Sleep rounds up to a
// millisecond whenever the process is otherwise idle (golang.org/issue/44343). It never spins: on a small machine a
// spinning pacer takes the processor that the service needs.
//
// Note: locking the pacer to its thread was tried, and made hits later, since every switch to or from a locked
// goroutine is one between threads. So was a timerfd, which on a busy machine fired tens of milliseconds late.
type pacer struct {
	ctx      context.Context // its end stops the attack
	zero     time.Time
	schedule []time.Duration
	// sleepUntil sleeps until an offset from zero. It may wake early, then it is called again.
	sleepUntil func(offset time.Duration)
	sent       atomic.Int64 // hits let go so far
}

var _ vegeta.Pacer = (*pacer)(nil)

// Pace implements [vegeta.Pacer]. vegeta calls it from one goroutine.
func (p *pacer) Pace(_ time.Duration, hits uint64) (time.Duration, bool) {
	p.sent.Store(int64(hits))
	if hits >= uint64(len(p.schedule)) {
		return 0, true
	}
	due := p.schedule[hits]
	// The hit before this one waits for the processor of this goroutine, and would be stuck with it in the system call
	// until another thread found it there: let it go first.
	if time.Since(p.zero) < due {
		runtime.Gosched()
	}
	for p.ctx.Err() == nil {
		now := time.Since(p.zero)
		if now >= due {
			return 0, false
		}
		p.sleepUntil(min(due, now+longestSleep))
	}
	return 0, true
}

// Rate implements [vegeta.Pacer]. It returns the mean rate of the schedule in hits per second.
func (p *pacer) Rate(time.Duration) float64 {
	if len(p.schedule) == 0 || p.schedule[len(p.schedule)-1] == 0 {
		return 0
	}
	return float64(len(p.schedule)) / p.schedule[len(p.schedule)-1].Seconds()
}
