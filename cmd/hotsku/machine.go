package main

import (
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/hotsku/hotsku/results"
)

// machine describes where hotsku runs. What the system does not tell is left empty.
func machine() results.Machine {
	m := results.Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0), Go: runtime.Version(),
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		m.FileLimit = limit.Cur
	}
	m.CPU, m.Memory = processor()
	return m
}
