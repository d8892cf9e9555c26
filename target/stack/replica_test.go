package stack

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestAReplicaServesUntilItIsStopped(t *testing.T) {
	s := sharedStack(t)
	log := filepath.Join(t.TempDir(), "r1.log")
	c := replicaCommand("r1", "talkative")
	c.Env, c.Log = []string{"REPLICA_NOTE=told by environment"}, log
	r, err := s.StartReplica(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(r.Address() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if r.Name() != "r1" || r.Pid() <= 1 || r.Log() != log {
		t.Errorf("name %q, pid %d, log %q", r.Name(), r.Pid(), r.Log())
	}
	if group, err := syscall.Getpgid(r.Pid()); group != r.Pid() || err != nil {
		t.Errorf("process group %d, error %v; want %d", group, err, r.Pid())
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
	if err := r.Signal(syscall.SIGKILL); !errors.Is(err, errNotOurs) {
		t.Errorf("a signal after the end: error %v, want errNotOurs", err)
	}
	// The output is drained by another goroutine, which may end after the process.
	var text []byte
	whole := func() bool {
		text, err = os.ReadFile(log)
		return err == nil && len(text) > 1<<20
	}
	if !within(patience, whole) || !strings.Contains(string(text), "told by environment") {
		t.Errorf("the log has %d bytes, error %v", len(text), err)
	}
}

func TestAReplicaThatDoesNotStartIsQuoted(t *testing.T) {
	s := sharedStack(t)
	mark := t.TempDir() // by which this test's replicas can be told
	tests := map[string]struct {
		c     Command
		until string // the start is cancelled once the replica's log says so; "" for one that ends by itself
		want  []string
	}{
		"it exits before it listens": {
			replicaCommand("r1", "exit-early"), "", []string{"ended before it listened: exit status 1", "no such table: inventory"}},
		"it exits before it is ready": {
			replicaCommand("r2", "exit-unready"), "", []string{"ended before it was ready: exit status 1", "lost the database"}},
		"it never listens": {
			replicaCommand("r3", "never-listen"), "habit:", []string{"did not say where it listens", "habit: never-listen"}},
		"it is never ready": {
			replicaCommand("r4", "never-ready"), askedAgain, []string{"is not ready", "503", "redis: refused", "habit: never-ready"}},
		"it listens where nobody can ask it": {
			replicaCommand("r5", "bad-address"), "", []string{`"the roof", which is no address`}},
		"it isn't installed": {
			Command{Name: "r6", Path: "/nowhere/replica"}, "", []string{"exit status 127", "not found"}},
		"its log can't be written": {
			Command{Name: "r7", Path: self(), Log: "/nowhere/r7.log"}, "", []string{"log of replica r7"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.until != "" {
				test.c.Log = filepath.Join(t.TempDir(), "log")
				go func() {
					within(patience, func() bool { return logged(test.c.Log, test.until) })
					cancel()
				}()
			}
			test.c.Args = append(test.c.Args, mark)
			r, err := s.StartReplica(ctx, test.c)
			if r != nil || err == nil {
				t.Fatalf("StartReplica() = %v, %v", r, err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
	if got := tracesOf(t, mark); len(got) > 0 {
		t.Errorf("replicas left: %q", got)
	}
}

// logged reports whether a log says something already.
func logged(log, what string) bool {
	text, err := os.ReadFile(log)
	return err == nil && strings.Contains(string(text), what)
}

func TestStopTellsHowAReplicaEnded(t *testing.T) {
	s := sharedStack(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		habit  string
		before func(*Replica) error
		ctx    context.Context
		want   string // in the error; "" for none
	}{
		"in order":                 {habit: "serve"},
		"with an error of its own": {habit: "fail-at-end", want: "ended badly: exit status 1; the end of its log:\n"},
		"only by force":            {habit: "ignore-term", ctx: over, want: "did not end after SIGTERM and was killed"},
		"frozen, it is thawed": {habit: "serve",
			before: func(r *Replica) error { return r.Signal(syscall.SIGSTOP) }},
		"dead before": {habit: "serve", want: "had ended by itself: signal: killed",
			before: func(r *Replica) error {
				err := r.Signal(syscall.SIGKILL)
				<-r.Done()
				return err
			}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := s.StartReplica(t.Context(), replicaCommand("r1", test.habit))
			if err != nil {
				t.Fatal(err)
			}
			if test.before != nil {
				if err := test.before(r); err != nil {
					t.Fatal(err)
				}
			}
			err = r.Stop(cmp.Or(test.ctx, t.Context()))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Stop() = %v, want %q", err, test.want)
			}
			select {
			case <-r.Done():
			default:
				t.Error("the replica lives on")
			}
		})
	}
}

func TestPasswordsInAReplicasLogAreBlankedInErrors(t *testing.T) {
	s := sharedStack(t)
	c := replicaCommand("r1", "exit-early")
	c.Log = filepath.Join(t.TempDir(), "log")
	c.Env = []string{"REPLICA_NOTE=" + s.DSN() + " " + s.Redis().URL()}
	_, err := s.StartReplica(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "hotsku:[password]@tcp(") {
		t.Errorf("error %v", err)
	}
	for _, secret := range s.secrets() {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

func isReplica(trace string) bool { return strings.Contains(trace, "part-replica") }

func TestCloseEndsAReplicaThatIsStarting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := testStack(t, Options{TempDir: dir})
	failed := make(chan error)
	go func() {
		_, err := s.StartReplica(context.WithoutCancel(t.Context()), replicaCommand("r1", "never-ready", dir))
		failed <- err
	}()
	if !within(patience, func() bool { return slices.ContainsFunc(tracesOf(t, dir), isReplica) }) {
		t.Fatal("the replica does not start")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("StartReplica: %v", err)
	}
	if traces, files := tracesOf(t, dir), entries(t, dir); len(traces)+len(files) > 0 {
		t.Errorf("left: %q, %q", traces, files)
	}
}
