package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A child is a process that the stack started: a server, a replica, or the initialisation of a data folder.
type child struct {
	process
	name string
	log  string        // the file that its output goes to
	done chan struct{} // closed when it has ended and was reaped
	err  error         // how it ended; read after done
}

// A program says what a child runs.
type program struct {
	name   string // for messages
	path   string
	args   []string
	env    []string // added to the environment of this process
	dir    string
	log    string   // its output is appended to this file
	stdout *os.File // takes its standard output instead, when not nil
}

// The gate is a shell that becomes the child when it is told to, as the same process. It closes the window between a
// child's birth and the notice to the warden: a child whose parent dies in it reads the end of the pipe and ends,
// having done nothing.
const gate = `read -r go && exec "$@" </dev/null`

// spawn starts a program behind the gate, announces it to the warden, and opens the gate.
func (s *Stack) spawn(p program) (*child, error) {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("stack: log of %s: %w", p.name, err)
	}
	defer log.Close()
	in, open, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("stack: start %s: %w", p.name, err)
	}
	defer open.Close()
	defer in.Close()

	cmd := exec.Command("/bin/sh", slices.Concat([]string{"-c", gate, p.name, p.path}, p.args)...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Dir = p.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, log, log
	if p.stdout != nil {
		cmd.Stdout = p.stdout
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("stack: start %s: %w", p.name, err)
	}
	c := &child{name: p.name, log: p.log, done: make(chan struct{})}
	if err := s.admit(c, cmd.Process.Pid, open); err != nil {
		open.Close() // the shell reads the end of its input, and ends
		return nil, errors.Join(fmt.Errorf("stack: start %s: %w", p.name, err), ignoreExit(cmd.Wait()))
	}
	go s.reap(c, cmd)
	return c, nil
}

// admit announces the shell to the warden and lets it become the child. Niceness is set before that, as it belongs to
// a thread: those that the program starts later inherit it.
func (s *Stack) admit(c *child, pid int, open *os.File) error {
	var err error
	if c.process, err = identify(pid); err != nil {
		return err
	}
	if err := s.warden.note(notice{verb: verbChild, process: c.process}); err != nil {
		return err
	}
	if s.nice != 0 {
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, pid, s.nice); err != nil {
			return fmt.Errorf("set its niceness to %d: %w", s.nice, err)
		}
	}
	_, err = open.WriteString("go\n")
	return err
}

func (s *Stack) reap(c *child, cmd *exec.Cmd) {
	c.err = cmd.Wait()
	if err := s.warden.note(notice{verb: verbEnded, process: c.process}); err != nil {
		s.log.Warn("the warden could not be told of an end", "child", c.name, "err", err)
	}
	close(c.done)
}

// ignoreExit drops an error that says how a process exited, and keeps one that says that it could not be waited for.
func ignoreExit(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil
	}
	return err
}

// ended reports whether the child has ended.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// kill ends the child's group at once. A nil or ended child is no error.
func (c *child) kill() error {
	if c == nil || c.ended() {
		return nil
	}
	if err := c.signal(syscall.SIGKILL); err != nil && !c.gone() {
		return err
	}
	select {
	case <-c.done:
		return nil
	case <-time.After(killWait):
		return fmt.Errorf("stack: %s (process %d) is still there %v after SIGKILL", c.name, c.pid, killWait)
	}
}

// wait waits until the child ends by itself, and kills it if ctx is done first.
func (c *child) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return errors.Join(ctx.Err(), c.kill())
	}
}

// failure says how an ended child ended, with its last words.
func (c *child) failure() error {
	how := "exit status 0"
	if c.err != nil {
		how = c.err.Error()
	}
	return fmt.Errorf("%s%s", how, c.lastWords())
}

// The part of a child's log that an error quotes.
const (
	tailLines = 20
	tailBytes = 8 << 10
)

// lastWords returns the end of the child's log, as the tail of a message.
func (c *child) lastWords() string {
	text, err := tail(c.log)
	switch {
	case err != nil:
		return fmt.Sprintf("; its log could not be read: %v", err)
	case text == "":
		return "; its log is empty"
	}
	return "; the end of its log:\n" + text
}

func tail(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	buf := make([]byte, min(info.Size(), tailBytes))
	n, err := file.ReadAt(buf, info.Size()-int64(len(buf)))
	if n < len(buf) && err != nil {
		return "", err
	}
	lines := strings.Split(string(bytes.TrimSpace(buf)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n"), nil
}

// endedBy reports whether err, of a process that was waited for, says that sig ended it.
func endedBy(err error, sig syscall.Signal) bool {
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == sig
}
