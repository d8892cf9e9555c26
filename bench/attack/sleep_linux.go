package attack

import (
	"time"

	"golang.org/x/sys/unix"
)

// A clock sleeps until offsets from time zero. The instant of waking is absolute, so that losing the processor on the
// way to sleep delays nothing.
type clock struct {
	zero int64 // time zero on CLOCK_MONOTONIC in ns, which is Go's monotonic clock as well
}

func newClock(zero time.Time) (clock, error) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return clock{now.Nano() + int64(time.Until(zero))}, err
}

// sleepUntil blocks the thread until offset, or shorter when a signal comes. The kernel wakes it some 50 µs late
// (its default timer slack).
func (c clock) sleepUntil(offset time.Duration) {
	at := unix.NsecToTimespec(c.zero + int64(offset))
	err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil)
	if err != nil && err != unix.EINTR {
		time.Sleep(time.Millisecond) // a sandbox that forbids the call must not make the pacer spin
	}
}
