//go:build !unix

package attack

import (
	"errors"
	"fmt"
	"time"
)

// cpuTime fails: a generator that cannot tell how busy it was cannot be trusted.
func cpuTime() (time.Duration, error) {
	return 0, fmt.Errorf("attack: read the processor time of this process: %w on this system", errors.ErrUnsupported)
}
