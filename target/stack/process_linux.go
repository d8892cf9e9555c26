package stack

import (
	"fmt"
	"os"
	"strings"
)

// inspect returns when a process was born, in clock ticks since the machine started, and whether it has ended but was
// not reaped yet. Its error means that there is no such process.
func inspect(pid int) (birth string, zombie bool, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
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
