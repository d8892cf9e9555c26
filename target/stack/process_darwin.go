package stack

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// inspect returns when a process was born, to the second, and whether it has ended but was not reaped yet.
// Its error is errNoProcess if there is no such process, and another one if that can't be told.
func inspect(pid int) (birth string, zombie bool, err error) {
	ps := exec.Command("ps", "-o", "stat=", "-o", "lstart=", "-p", strconv.Itoa(pid))
	ps.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=/bin:/usr/bin"}
	out, err := ps.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(out) == 0 && len(exit.Stderr) == 0 {
		return "", false, errNoProcess // ps selected nothing and had nothing to complain of
	}
	if err != nil {
		return "", false, fmt.Errorf("ps -p %d: %w", pid, err)
	}
	fields := strings.Fields(string(out))
	if len(fields) < 2 {
		return "", false, fmt.Errorf("ps -p %d: unexpected answer %q", pid, out)
	}
	return strings.Join(fields[1:], " "), strings.HasPrefix(fields[0], "Z"), nil
}
