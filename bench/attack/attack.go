// Package attack turns a schedule into hits on the replicas of a target, by vegeta, and records every one of them.
//
// The load is open: when a hit is sent depends on the schedule alone, never on the answers to others. vegeta counts a
// latency from the moment of sending, in which a late generator hides the queue that it caused; so the record keeps
// when the schedule wanted the hit sent, when it was sent, and when it ended, on one monotonic clock. The end is taken
// when the answer was read and understood. Workers are never capped: a hit that waits for one is not sent, and a target
// would be spared the load that it could not take. Connections may be.
//
// Nothing is sent that the record does not show: net/http is kept from repeating a request, redirects are not followed,
// and a hit that was planned and not sent is the difference of Planned and Sent.
//
// An attack keeps 93 bytes for each planned hit, all allocated before the first is sent: 80 of its record, 8 of its
// schedule, 5 of bookkeeping. Each hit under way costs a file descriptor and three goroutines besides, two of its
// connection and one of vegeta, some 35 KB. Go programs raise their soft limit of descriptors to the hard one when they
// start (package os, since Go 1.19), so that an attack need not; the hard one bounds the hits under way.
package attack

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/hotsku/hotsku/results"
)

// lead is the time from the start of an attack to its time zero, in which goroutines and threads come up. Without it
// the first hits would be late.
const lead = 5 * time.Millisecond

// Report is what an attack did.
type Report struct {
	Zero   time.Time      // the offset 0 of all hits, with its monotonic reading
	Hits   []results.Hit  // those that were sent, by Seq: the first Attack.Sent of the schedule
	Attack results.Attack // Clamped is left 0: hits hold times of any length
	LagP99 time.Duration  // of all hits, by nearest rank; 0 if none was sent
}

// Run sends all hits of the schedule and returns when the last is answered or given up.
//
// When ctx ends first, no more hits are sent, those under way are given up with an unknown outcome, and the error wraps
// ctx's cause; the report is true of what was sent until then. An [ErrConfig] means that nothing was sent, an
// [ErrRecord] that the report could not be trusted; both come with an empty report.
//
// Several attacks may run at once, but the processor time that each reports is that of the whole process.
func Run(ctx context.Context, c Config) (Report, error) {
	urls, err := c.validate()
	if err != nil {
		return Report{}, err
	}
	attackCtx, stop := context.WithCancel(ctx)
	defer stop()
	carrier := &courier{
		ctx: attackCtx, transport: newTransport(c.MaxConnections), addresses: urls, timeout: c.Timeout,
		orders: orders{c.Seed, c.KeyPrefix, c.SKU, c.Quantity, len(c.Addresses)},
		hits:   make([]results.Hit, len(c.Schedule)),
	}
	defer carrier.transport.CloseIdleConnections()
	report, err := send(attackCtx, stop, c, carrier)
	if err != nil {
		return Report{}, err
	}
	if report.Attack.Sent < report.Attack.Planned && ctx.Err() != nil {
		a := report.Attack
		return report, fmt.Errorf("attack: stopped after %d of %d hits: %w", a.Sent, a.Planned, context.Cause(ctx))
	}
	return report, nil
}

// send lets vegeta attack, and keeps the record.
func send(ctx context.Context, stop context.CancelFunc, c Config, carrier *courier) (Report, error) {
	began := time.Now()
	zero := began.Add(lead)
	clock, err := newClock(zero)
	if err != nil {
		return Report{}, fmt.Errorf("attack: read the clock: %w", err)
	}
	cpu, err := cpuTime()
	if err != nil {
		return Report{}, err
	}
	pacer := &pacer{ctx: ctx, zero: zero, schedule: c.Schedule, sleepUntil: clock.sleepUntil}
	record := newRecord(zero, c.Schedule, carrier.hits)
	// An Attacker serves one attack: a second would end at once, and in silence.
	attacker := vegeta.NewAttacker(vegeta.Client(&http.Client{Transport: carrier}))
	reports := attacker.Attack(blank, pacer, 0, c.Name)
	unwatch := newWatch(pacer, record).start(c.Progress)
	err = record.drain(reports, stop)
	unwatch()
	if err != nil {
		return Report{}, err
	}
	hits, err := record.sent()
	if err != nil {
		return Report{}, err
	}
	report := Report{Zero: zero, Hits: hits, Attack: summary(len(c.Schedule), hits), LagP99: percentile(lags(hits), 99)}
	report.Attack.CPU, err = cpuShare(cpu, time.Since(began))
	return report, err
}

// blank is vegeta's target for every hit: all that is particular to it is added by the courier.
func blank(target *vegeta.Target) error {
	*target = vegeta.Target{Method: http.MethodPost, URL: "http://replica/"}
	return nil
}

// cpuShare returns the share of GOMAXPROCS that the process used since it had used before, elapsed ago.
func cpuShare(before, elapsed time.Duration) (float64, error) {
	now, err := cpuTime()
	return (now - before).Seconds() / (elapsed.Seconds() * float64(runtime.GOMAXPROCS(0))), err
}
