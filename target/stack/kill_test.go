package stack

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A parent is a process that starts a stack in dir.
type parent struct {
	cmd    *exec.Cmd
	dir    string
	errors *bytes.Buffer
	lines  *bufio.Reader
}

func startParent(t *testing.T) *parent {
	t.Helper()
	p := &parent{dir: t.TempDir(), errors: &bytes.Buffer{}}
	p.cmd = exec.Command(self(), "part-parent", p.dir)
	p.cmd.Stderr = p.errors
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// awaitStarted waits until the parent says that all stands, and returns the number of its warden.
func (p *parent) awaitStarted(t *testing.T) (warden int) {
	t.Helper()
	line, err := p.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("the parent did not start: %v, %v\n%s", err, p.cmd.Wait(), p.errors)
	}
	if _, err := fmt.Sscanf(line, "started %d\n", &warden); err != nil {
		t.Fatal(err)
	}
	return warden
}

func (p *parent) mustLeaveNothing(t *testing.T) {
	t.Helper()
	var traces, files []string
	clean := within(patience, func() bool {
		if files = entries(t, p.dir); len(files) > 0 {
			return false // to look for processes costs much more
		}
		traces = tracesOf(t, p.dir)
		return len(traces) == 0
	})
	if !clean {
		t.Errorf("left after %v: files %q, processes %q", patience, files, traces)
	}
}

func TestASignalledParentLeavesNothing(t *testing.T) {
	needServers(t)
	for _, test := range []struct {
		name string
		sig  syscall.Signal
		keep bool // the parent ends in order, and keeps the folder that it guarded
	}{
		{"killed, the warden cleans up", syscall.SIGKILL, false},
		{"terminated, the parent closes", syscall.SIGTERM, true},
		{"interrupted, the parent closes", syscall.SIGINT, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := startParent(t)
			p.awaitStarted(t)
			if traces := tracesOf(t, p.dir); len(traces) < 3 { // the parent itself is one
				t.Fatalf("the test can't see what it must not find later: %q", traces)
			}
			if err := p.cmd.Process.Signal(test.sig); err != nil {
				t.Fatal(err)
			}
			err := p.cmd.Wait()
			if test.keep {
				if err != nil {
					t.Errorf("the parent ended with %v: %s", err, p.errors)
				}
				if got := entries(t, p.dir); len(got) != 1 || got[0] != "half-written" {
					t.Errorf("files left: %q, want the kept folder", got)
				}
				if err := syscall.Rmdir(p.dir + "/half-written"); err != nil { // empty: the marker has gone
					t.Error(err)
				}
			}
			p.mustLeaveNothing(t)
		})
	}
}

func TestAParentKilledAtAnyMomentOfItsStartLeavesNothing(t *testing.T) {
	needServers(t)
	const seed = 1
	tries := 20
	if testing.Short() {
		tries = 4
	}
	random := rand.New(rand.NewPCG(seed, 0))
	began := time.Now()
	p := startParent(t)
	p.awaitStarted(t)
	whole := time.Since(began)
	if err := errors.Join(p.cmd.Process.Kill(), ignoreExit(p.cmd.Wait())); err != nil {
		t.Fatal(err)
	}
	p.mustLeaveNothing(t)
	t.Logf("a start takes %v; seed %d", whole, seed)
	for i := range tries {
		// Half of the moments lie in the first eighth, where processes and folders are made one upon the other.
		span := whole
		if i%2 == 0 {
			span /= 8
		}
		after := time.Duration(random.Int64N(int64(span)))
		t.Run(fmt.Sprintf("killed after %v", after), func(t *testing.T) {
			t.Parallel()
			p := startParent(t)
			time.Sleep(after)
			if err := errors.Join(p.cmd.Process.Kill(), ignoreExit(p.cmd.Wait())); err != nil {
				t.Fatal(err)
			}
			p.mustLeaveNothing(t)
		})
	}
}

func TestAWardenThatDiesIsReplaced(t *testing.T) {
	t.Parallel()
	needServers(t)
	p := startParent(t)
	warden := p.awaitStarted(t)
	if err := syscall.Kill(warden, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if line, err := p.lines.ReadString('\n'); line != "replaced\n" {
		t.Fatalf("no other warden appeared: %q, %v", line, err)
	}
	if err := errors.Join(p.cmd.Process.Kill(), ignoreExit(p.cmd.Wait())); err != nil {
		t.Fatal(err)
	}
	p.mustLeaveNothing(t)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestAWardenThatKeepsDyingBreaksTheStack(t *testing.T) {
	t.Parallel()
	s := testStack(t, Options{})
	for range maxRestarts + 1 {
		live := s.warden.current()
		if err := live.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-live.done
		within(patience, func() bool { return s.warden.current() != live || closed(s.Done()) })
	}
	select {
	case <-s.Done():
	case <-time.After(patience):
		t.Fatal("nobody noticed that there is no warden")
	}
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "the warden died 4 times") {
		t.Errorf("Err() = %v", err)
	}
	if _, err := s.StartReplica(t.Context(), replicaCommand("r1", "serve")); err == nil {
		t.Error("a replica was started without a warden")
	}
}
