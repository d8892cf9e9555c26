package stack

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestOnlyTheProcessThatWasStartedIsSignalled(t *testing.T) {
	sleeper := exec.Command("sleep", "60")
	sleeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = sleeper.Wait() // it is killed below
		close(ended)
	}()
	ours, err := identify(sleeper.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	one, err := identify(1)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]process{
		"number 0 would reach our own group":       {0, ours.birth},
		"number 1 is everyone, or the system":      {1, one.birth},
		"number -1 would reach process 1":          {-1, one.birth},
		"a negative number would reach a process":  {-ours.pid, ours.birth},
		"another birth is another process":         {ours.pid, ours.birth + "1"},
		"an unknown birth is another process":      {ours.pid, ""},
		"a number without a process is not reused": {1 << 30, ours.birth},
	} {
		if err := p.signal(syscall.SIGKILL); !errors.Is(err, errNotOurs) {
			t.Errorf("%s: error %v, want errNotOurs", name, err)
		}
		if err := p.kill(); err != nil && !errors.Is(err, errNotOurs) {
			t.Errorf("%s: kill: %v", name, err)
		}
	}
	if ours.gone() {
		t.Fatal("the process was killed under a wrong name")
	}
	if err := ours.kill(); err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the process lives on")
	}
	if err := ours.kill(); err != nil {
		t.Errorf("a process that has ended: %v", err)
	}
}
