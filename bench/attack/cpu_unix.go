//go:build unix

package attack

import (
	"fmt"
	"syscall"
	"time"
)

// cpuTime returns the processor time, user and system, that this process has used.
func cpuTime() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("attack: read the processor time of this process: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
