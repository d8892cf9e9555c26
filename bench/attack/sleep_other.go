//go:build !linux

package attack

import "time"

// A clock sleeps until offsets from time zero.
type clock struct {
	zero time.Time
}

func newClock(zero time.Time) (clock, error) { return clock{zero}, nil }

// sleepUntil blocks the goroutine until offset. The runtime wakes it up to a millisecond late.
func (c clock) sleepUntil(offset time.Duration) { time.Sleep(offset - time.Since(c.zero)) }
