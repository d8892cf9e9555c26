package stack

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// wardenHello is the line by which a warden shows that it listens.
const wardenHello = "hotsku warden listens"

// RunWarden is the life of a [Warden]'s process: it reads from in, the standard input, what its parent starts and
// makes, and says on out, the standard output, that it listens. When in ends without a farewell the parent was killed;
// then it kills the parent's processes, removes its folders, and returns what went wrong in that.
//
// It ignores the signals by which terminals and users end programs: it ends with its parent.
func RunWarden(in io.Reader, out io.Writer) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	// A parent that was killed before it could read this is one to clean up after, not an error.
	_, _ = fmt.Fprintln(out, wardenHello)
	return tend(in)
}

// tend reads notices until the end, and cleans up if there was no farewell.
func tend(in io.Reader) error {
	w := newWard()
	var errs []error
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return errors.Join(append(errs, w.clean())...)
		}
		n, err := parseNotice(line[:len(line)-1])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if n.verb == verbDone {
			return errors.Join(errs...)
		}
		w.note(n)
	}
}

// A ward is what a warden would have to clean up now.
type ward struct {
	processes map[process]bool
	folders   map[folder]bool
}

func newWard() ward { return ward{map[process]bool{}, map[folder]bool{}} }

func (w ward) note(n notice) {
	switch n.verb {
	case verbChild:
		w.processes[n.process] = true
	case verbEnded:
		delete(w.processes, n.process)
	case verbFolder:
		w.folders[n.folder] = true
	case verbForget:
		delete(w.folders, n.folder)
	}
}

// clean kills all processes, then removes all folders: a server that lives would write new files.
func (w ward) clean() error {
	processes := slices.Collect(maps.Keys(w.processes))
	errs := make([]error, len(processes))
	var wg sync.WaitGroup
	for i, p := range processes {
		wg.Go(func() { errs[i] = p.kill() })
	}
	wg.Wait()
	for f := range w.folders {
		if err := f.remove(); err != nil {
			errs = append(errs, fmt.Errorf("stack: the warden could not remove a folder: %w", err))
		}
	}
	return errors.Join(errs...)
}
