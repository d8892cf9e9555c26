//go:build unix

package attack

import (
	"syscall"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

func fileLimit(t *testing.T) syscall.Rlimit {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return limit
}

// The package's comment says so of package os.
func TestGoRaisesTheFileLimit(t *testing.T) {
	if limit := fileLimit(t); limit.Cur != limit.Max {
		t.Errorf("soft limit %d of open files, hard limit %d", limit.Cur, limit.Max)
	}
}

// The process is really put out of file descriptors while it attacks.
func TestHitsThatRunOutOfFilesAreCountedAndFailTheGate(t *testing.T) {
	c := config(t, 1000, 20*time.Millisecond, shop(t, empty))
	limit := fileLimit(t)
	low := limit
	low.Cur = 3
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Skipf("cannot lower the limit of open files: %v", err)
	}
	report, err := Run(t.Context(), c)
	if restored := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); restored != nil {
		t.Fatal(restored)
	}
	if err != nil {
		t.Fatal(err)
	}
	a := report.Attack
	if a.SocketErrors != 20 || a.Outcomes[api.Unknown] != 20 || report.Hits[0].Error != processFiles {
		t.Errorf("%+v; the first hit met %q", a, report.Hits[0].Error)
	}
	for _, gate := range Gates(results.Gates{}, report) {
		if gate.Name == "socket errors" && gate.Passed {
			t.Error("the gate passed")
		}
	}
}
