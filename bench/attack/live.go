package attack

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// liveEvery is the time between two calls of Config.Progress.
const liveEvery = time.Second

// Live is how an attack goes on. Counts are of the whole attack so far; percentiles are of the hits answered since the
// Live before, by nearest rank, and 0 where there were none.
type Live struct {
	Elapsed  time.Duration // since time zero
	Planned  int
	Offered  int                 // hits that the schedule wanted sent by now
	Sent     int                 // hits sent
	Answered int                 // hits answered or given up
	Outcomes map[api.Outcome]int // of the answered; the receiver's to keep
	P50, P99 time.Duration       // of response
	LagP99   time.Duration       // of lag
	InFlight int                 // hits unanswered
}

// A watch tells Config.Progress about a running attack.
type watch struct {
	pacer    *pacer
	record   *record
	told     int64 // hits counted in outcomes
	outcomes map[api.Outcome]int
}

func newWatch(p *pacer, r *record) *watch {
	return &watch{pacer: p, record: r, outcomes: make(map[api.Outcome]int)}
}

// start tells progress every second, until the function that it returns is called; that one tells it once more, and
// waits until it was told.
func (w *watch) start(progress func(Live)) (stop func()) {
	if progress == nil {
		return func() {}
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(liveEvery)
		defer ticker.Stop()
		for running := true; running; {
			select {
			case <-ticker.C:
			case <-over:
				running = false
			}
			progress(w.look(time.Since(w.record.zero)))
		}
	}()
	return func() {
		close(over)
		<-done
	}
}

func (w *watch) look(now time.Duration) Live {
	arrived := w.record.arrived.Load()
	recent := w.record.arrivals[w.told:arrived]
	w.told = arrived
	response, lag := make([]time.Duration, len(recent)), make([]time.Duration, len(recent))
	for i, seq := range recent {
		hit := &w.record.hits[seq]
		response[i], lag[i] = hit.Response(), hit.Lag()
		w.outcomes[hit.Outcome]++
	}
	slices.Sort(response)
	slices.Sort(lag)
	schedule := w.record.schedule
	// A hit may be answered before the pacer comes round to count it as sent.
	sent := max(w.pacer.sent.Load(), arrived)
	return Live{
		Elapsed: now, Planned: len(schedule), Sent: int(sent), Answered: int(arrived), InFlight: int(sent - arrived),
		Offered:  sort.Search(len(schedule), func(i int) bool { return schedule[i] > now }),
		Outcomes: maps.Clone(w.outcomes),
		P50:      percentile(response, 50), P99: percentile(response, 99), LagP99: percentile(lag, 99),
	}
}

// percentile returns the p-th percentile of sorted by nearest rank, 0 if it is empty.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*p+99)/100-1]
}

// lags returns the lags of hits, sorted.
func lags(hits []results.Hit) []time.Duration {
	lag := make([]time.Duration, len(hits))
	for i := range hits {
		lag[i] = hits[i].Lag()
	}
	slices.Sort(lag)
	return lag
}
