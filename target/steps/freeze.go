package steps

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// freezer is a shell that stops its parent, sleeps, and lets it go on. It is given the parent's number, and does nothing
// if that has ended meanwhile and the shell has another parent. Being a process of its own it thaws the parent whatever
// becomes of the rest; being in the parent's process group it ends with it.
const freezer = `[ "$PPID" = "$1" ] && kill -STOP "$1" && { sleep "$2"; kill -CONT "$1"; }`

// beat is how often a process that is about to be frozen looks at the clock.
const beat = time.Millisecond

// freeze lets this process stand still for length, and returns for how long it really did: the longest time between two
// looks at the clock that were meant to be a beat apart. Its error says that the process went on.
func freeze(length time.Duration) (stood time.Duration, err error) {
	cmd := exec.Command("/bin/sh", "-c", freezer, "freezer",
		strconv.Itoa(os.Getpid()), strconv.FormatFloat(length.Seconds(), 'f', -1, 64))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // and none of the secrets
	from := time.Now()
	if err := cmd.Start(); err != nil { // the process may stand still before Start has returned
		return 0, fmt.Errorf("freeze: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stood, err = longestBeat(from, beat, ended)
	if err != nil {
		return stood, fmt.Errorf("freeze: %w", err)
	}
	// The shell slept for the whole length between the two signals, so that less is a clock that was not looked at.
	if stood < length-length/10 {
		return stood, fmt.Errorf("freeze: the process stood still for %v, not %v", stood, length)
	}
	return stood, nil
}

// longestBeat looks at the clock once a beat, until ended tells how it ended, and returns the longest time between two
// looks, of which the first was at from.
func longestBeat(from time.Time, beat time.Duration, ended <-chan error) (longest time.Duration, err error) {
	for last := from; ; {
		select {
		case err = <-ended: // perhaps before the look that is due since the process goes on
			return max(longest, time.Since(last)), err
		case <-time.After(beat):
			now := time.Now()
			longest = max(longest, now.Sub(last))
			last = now
		}
	}
}
