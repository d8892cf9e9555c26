package steps

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// frozenSelf starts this test binary as a process that freezes itself.
func frozenSelf(t *testing.T, length time.Duration) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd := exec.Command(exe, freezerPart, length.String())
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as the stack starts a replica
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &said
}

// awaitState waits until the system says that a process is stopped, or is not.
func awaitState(t *testing.T, pid int, stopped bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		state, err := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
		if err != nil {
			t.Fatalf("ps: %v", err)
		}
		if strings.HasPrefix(string(state), "T") == stopped {
			return
		}
	}
	t.Fatalf("process %d never was stopped: %t", pid, stopped)
}

func TestAProcessStandsStillAndGoesOn(t *testing.T) {
	cmd, said := frozenSelf(t, 700*time.Millisecond)
	awaitState(t, cmd.Process.Pid, true)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	var strikes, held, ms int
	if _, err := fmt.Sscanf(said.String(), "strikes %d, frozen %d ms, held %d ms", &strikes, &ms, &held); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if strikes != 1 || ms < 690 || held < ms {
		t.Errorf("%q, want one strike of 700 ms or more", said)
	}
}

// If each strike came to a freeze of its own, a few at once would add up to minutes.
func TestAStrikeWhileTheProcessIsAboutToStandStillIsNone(t *testing.T) {
	s := &Stall{Kind: FreezeReplica, Steps: []string{"commit"}, Length: time.Minute, Probability: 1}
	s.freezing.Lock()
	step := &Step{Name: "commit", Order: &Order{Key: "k/1", SKU: "hot"}}
	s.Before(step)
	if got := s.Tally("hot"); got != (Tally{}) || step.Stall != 0 {
		t.Errorf("counted %+v, and the step was held back for %v", got, step.Stall)
	}
}

// The freezer is in the group of the process that it froze, and must not keep it frozen, nor live on, whatever ends them.
func TestAFrozenProcessCanBeEnded(t *testing.T) {
	for name, signals := range map[string][]syscall.Signal{
		"killed":                  {syscall.SIGKILL},
		"asked to end and thawed": {syscall.SIGTERM, syscall.SIGCONT},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, said := frozenSelf(t, time.Minute)
			awaitState(t, cmd.Process.Pid, true)
			for _, signal := range signals {
				if err := syscall.Kill(-cmd.Process.Pid, signal); err != nil {
					t.Error(err)
				}
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != signals[0] {
				t.Errorf("it ended with %v: %s", err, said)
			}
			// The group is empty once freezer and sleep have ended, too; they are reaped by somebody else, a moment later.
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
				err := syscall.Kill(-cmd.Process.Pid, 0)
				if errors.Is(err, syscall.ESRCH) || allDead(t, cmd.Process.Pid) {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("the freezer is still there (%v)", err)
				}
			}
		})
	}
}

// allDead reports whether a process group has none but zombies left.
func allDead(t *testing.T, group int) bool {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pgid=", "-o", "stat=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == fmt.Sprint(group) && !strings.HasPrefix(f[1], "Z") {
			return false
		}
	}
	return true
}

// The freezer must stop nobody but the process that started it, whoever is its parent by now.
func TestTheFreezerStopsItsParentAlone(t *testing.T) {
	bystander := exec.Command("sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = bystander.Process.Kill()
		_ = bystander.Wait() // it was killed
	}()
	err := exec.Command("/bin/sh", "-c", freezer, "freezer", fmt.Sprint(bystander.Process.Pid), "0.2").Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("a freezer with another parent ended with %v, want exit code 1", err)
	}
	awaitState(t, bystander.Process.Pid, false)
}

// When the process goes on, the freezer may have ended before anybody has looked at the clock again; and it may have stopped
// the process before anybody has looked at it first.
func TestTheTimesBeforeTheFirstLookAndAfterTheLastCount(t *testing.T) {
	const stood = 20 * time.Millisecond
	ended := make(chan error, 1)
	time.AfterFunc(stood, func() { ended <- nil })
	if longest, err := longestBeat(time.Now(), time.Hour, ended); err != nil || longest < stood {
		t.Errorf("after the last look: %v (%v), want %v at least", longest, err, stood)
	}
	ended <- nil
	if longest, err := longestBeat(time.Now().Add(-stood), beat, ended); err != nil || longest < stood {
		t.Errorf("before the first look: %v (%v), want %v at least", longest, err, stood)
	}
}

func TestAFreezeThatDidNotHappenIsAnError(t *testing.T) {
	ended := make(chan error, 1)
	ended <- fs.ErrPermission
	if _, err := longestBeat(time.Now(), beat, ended); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v, want the shell's error", err)
	}
	t.Setenv("PATH", t.TempDir()) // without sleep there is no length
	if stood, err := freeze(300 * time.Millisecond); err == nil {
		t.Errorf("the process stood still for %v, and no error", stood)
	}
}
