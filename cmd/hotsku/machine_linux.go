package main

import (
	"os"
	"regexp"
	"strconv"
)

var (
	modelLine  = regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`)
	memoryLine = regexp.MustCompile(`(?m)^MemTotal:\s*(\d+) kB$`)
)

// processor returns the model of the first processor and the bytes of memory, as far as /proc tells them.
func processor() (model string, memory int64) {
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if found := modelLine.FindSubmatch(text); found != nil {
			model = string(found[1])
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if found := memoryLine.FindSubmatch(text); found != nil {
			kilobytes, _ := strconv.ParseInt(string(found[1]), 10, 64) // digits, by the pattern
			memory = kilobytes * 1024
		}
	}
	return model, memory
}
