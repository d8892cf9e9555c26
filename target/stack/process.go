package stack

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

var (
	// errNotOurs means that a process number doesn't, or no longer, belong to the process that was recorded.
	errNotOurs = errors.New("stack: not the process that was started")
	// errNoProcess means that a number belongs to no process.
	errNoProcess = errors.New("no such process")
)

// A process is one process of the operating system, told from a later one of the same number by its birth.
// All of ours lead a process group of their own, so the number is the group's too.
type process struct {
	pid   int
	birth string // when it was started, in the words of the operating system
}

// identify returns the process that has the number pid now.
func identify(pid int) (process, error) {
	birth, _, err := inspect(pid)
	return process{pid, birth}, err
}

// signal sends sig to the whole group of p. It refuses with errNotOurs if the number is 0, 1 or negative, which would
// reach far more than p, or belongs to another process by now.
func (p process) signal(sig syscall.Signal) error {
	if p.pid <= 1 {
		return fmt.Errorf("%w: number %d", errNotOurs, p.pid)
	}
	birth, _, err := inspect(p.pid)
	if errors.Is(err, errNoProcess) {
		return fmt.Errorf("%w: number %d: %w", errNotOurs, p.pid, err)
	}
	if err != nil {
		return fmt.Errorf("stack: whose process is %d: %w", p.pid, err)
	}
	if birth != p.birth {
		return fmt.Errorf("%w: number %d was born at %s, not %s", errNotOurs, p.pid, birth, p.birth)
	}
	if err := syscall.Kill(-p.pid, sig); err != nil {
		return fmt.Errorf("stack: signal process group %d: %w", p.pid, err)
	}
	return nil
}

// gone reports whether p has surely ended, reaped by its parent or not.
func (p process) gone() bool {
	birth, zombie, err := inspect(p.pid)
	if err != nil {
		return errors.Is(err, errNoProcess)
	}
	return zombie || birth != p.birth
}

// killWait is how long a killed process may take to end. SIGKILL can't be refused, but a process that waits for a
// disk ends only when the disk has answered.
const killWait = 10 * time.Second

// kill ends the group of p, which need not be a child of this process, and waits until p is gone.
func (p process) kill() error {
	if p.gone() {
		return nil
	}
	if err := p.signal(syscall.SIGKILL); err != nil && !p.gone() {
		return err
	}
	for deadline := time.Now().Add(killWait); !p.gone(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("stack: process %d is still there %v after SIGKILL", p.pid, killWait)
		}
	}
	return nil
}
