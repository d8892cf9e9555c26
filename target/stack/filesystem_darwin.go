package stack

import (
	"bytes"
	"syscall"
)

// filesystem returns the kind of file system that path lies on, or "unknown: " and the reason.
func filesystem(path string) string {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(path, &stat); err != nil {
		return "unknown: " + err.Error()
	}
	name := make([]byte, 0, len(stat.Fstypename))
	for _, c := range stat.Fstypename {
		name = append(name, byte(c))
	}
	name, _, _ = bytes.Cut(name, []byte{0})
	return string(name)
}
