package stack

import (
	"fmt"
	"syscall"
)

// filesystems names the usual ones by the numbers of statfs(2).
var filesystems = map[int64]string{
	0x01021994: "tmpfs", // in memory: a flush to it costs nothing and saves nothing
	0x794c7630: "overlayfs",
	0xef53:     "ext4",
	0x58465342: "xfs",
	0x9123683e: "btrfs",
	0x2fc12fc1: "zfs",
	0x6969:     "nfs",
	0xf2f52010: "f2fs",
}

// filesystem returns the kind of file system that path lies on, or "unknown: " and the reason.
func filesystem(path string) string {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(path, &stat); err != nil {
		return "unknown: " + err.Error()
	}
	if name, ok := filesystems[int64(stat.Type)]; ok {
		return name
	}
	return fmt.Sprintf("0x%x", stat.Type)
}
