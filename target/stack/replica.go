package stack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// The time that a replica has for each part of its life.
const (
	listenLimit = 30 * time.Second // until it says where it listens
	readyLimit  = 30 * time.Second // until it is ready to sell
	stopLimit   = 10 * time.Second // until it has ended after SIGTERM
)

// A Command says how to start a replica. Secrets belong into Env: arguments can be read by every user of the machine.
type Command struct {
	Name string // of the replica, for messages and the log's name; unique in the stack
	Path string
	Args []string // without the program's own name
	Env  []string // "KEY=value", added to the environment of this process
	// Log is the file that the replica's output is appended to. When empty it is NAME.log in the private folder, and
	// goes with it.
	Log string
}

// A Replica is one process of the service under test. Its methods may be called concurrently.
type Replica struct {
	stack   *Stack
	child   *child
	address string
}

// Address returns the replica's base URL, such as "http://127.0.0.1:40123".
func (r *Replica) Address() string { return r.address }

// Name returns the name that the replica's Command gave it.
func (r *Replica) Name() string { return strings.TrimPrefix(r.child.name, "replica ") }

// Pid returns the number of the replica's process, which is its process group's too. To signal it use Signal.
func (r *Replica) Pid() int { return r.child.pid }

// Log returns the path of the file that the replica's output goes to.
func (r *Replica) Log() string { return r.child.log }

// Done returns a channel that is closed when the replica has ended, for whatever reason.
func (r *Replica) Done() <-chan struct{} { return r.child.done }

// Signal sends sig to the replica's process group. It refuses once the replica has ended, as its number may be
// another process's by then.
func (r *Replica) Signal(sig syscall.Signal) error {
	if r.child.ended() {
		return fmt.Errorf("%w: %s has ended", errNotOurs, r.child.name)
	}
	return r.child.signal(sig)
}

// Stop ends the replica: SIGTERM, and SIGKILL when it hasn't ended within 10 seconds or ctx is done. It returns an
// error, with the end of the replica's log, if the replica had ended by itself, had to be killed, or failed while it
// ended. The first call tells; later ones return nil.
func (r *Replica) Stop(ctx context.Context) error {
	if !r.stack.dismiss(r) {
		return nil
	}
	c := r.child
	if c.ended() {
		return r.stack.redacted(fmt.Errorf("stack: %s had ended by itself: %w", c.name, c.failure()))
	}
	// A frozen process reads its SIGTERM only when it is thawed.
	if err := errors.Join(c.signal(syscall.SIGTERM), c.signal(syscall.SIGCONT)); err != nil && !c.gone() {
		return errors.Join(err, c.kill())
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	select {
	case <-c.done:
	case <-ctx.Done():
		err := fmt.Errorf("stack: %s did not end after SIGTERM and was killed: %w%s", c.name, ctx.Err(), c.lastWords())
		return r.stack.redacted(errors.Join(err, c.kill()))
	}
	if c.err != nil && !endedBy(c.err, syscall.SIGTERM) {
		return r.stack.redacted(fmt.Errorf("stack: %s ended badly: %w", c.name, c.failure()))
	}
	return nil
}

// dismiss takes r off the list of replicas. It reports whether r was on it.
func (s *Stack) dismiss(r *Replica) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.replicas {
		if other == r {
			s.replicas = append(s.replicas[:i:i], s.replicas[i+1:]...)
			return true
		}
	}
	return false
}
