package stack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// inspect returns when a process was born, in clock ticks since the machine started, and whether it has ended but was
// not reaped yet. Its error is errNoProcess if there is no such process, and another one if that can't be told.
func inspect(pid int) (birth string, zombie bool, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) { // ESRCH: it ended between open and read
		return "", false, errNoProcess
	}
	if err != nil {
		return "", false, err
	}
	// proc(5): the second field is the program's name in parentheses and may contain anything, ')' and spaces too.
	// State is field 3, starttime field 22.
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return "", false, fmt.Errorf("unexpected text in /proc/%d/stat", pid)
	}
	return fields[19], fields[0] == "Z" || fields[0] == "X", nil
}
