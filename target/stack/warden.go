package stack

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
)

// A Warden is a second process that survives this one by a moment, to kill its children and remove its folders, even
// when this one was ended by SIGKILL and could do nothing. It learns of the death by the end of the pipe between them.
// Its methods may be called concurrently.
type Warden struct {
	command []string
	log     *slog.Logger
	lost    func(error) // told once, when the warden died and could not be replaced

	mu       sync.Mutex // guards what follows
	live     *wardenProcess
	ward     ward // what the process knows, to be repeated to the next one
	restarts int
	over     bool
}

// maxRestarts is how often a warden is replaced: one that keeps dying can't be relied on.
const maxRestarts = 3

// startWarden starts a warden by its command line.
func startWarden(command []string, log *slog.Logger, lost func(error)) (*Warden, error) {
	if len(command) == 0 {
		return nil, errors.New("stack: Options.Warden is empty: name a command that calls stack.RunWarden")
	}
	w := &Warden{
		command: command, log: log, lost: lost,
		ward: newWard(),
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w, w.launch()
}

// launch starts the process and repeats to it all that is to be cleaned up. The caller holds mu.
func (w *Warden) launch() error {
	p, err := newWardenProcess(w.command)
	if err != nil {
		return err
	}
	w.live = p
	for f := range w.ward.folders {
		err = errors.Join(err, p.tell(notice{verb: verbFolder, folder: f}))
	}
	for c := range w.ward.processes {
		err = errors.Join(err, p.tell(notice{verb: verbChild, process: c}))
	}
	go w.replaceAfter(p)
	return err
}

// replaceAfter waits until p ends, and starts another one if that wasn't meant.
func (w *Warden) replaceAfter(p *wardenProcess) {
	<-p.done
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.replace(p); err != nil {
		w.over = true
		go w.lost(err)
	}
}

// replace starts another process, unless somebody did so before or the end was meant. The caller holds mu.
func (w *Warden) replace(dead *wardenProcess) error {
	if w.over || w.live != dead {
		return nil
	}
	if w.restarts++; w.restarts > maxRestarts {
		return fmt.Errorf("stack: the warden died %d times: %w", w.restarts, dead.err)
	}
	w.log.Warn("the warden died and is started again", "pid", dead.cmd.Process.Pid, "err", dead.err)
	if err := w.launch(); err != nil {
		return fmt.Errorf("stack: the warden died and could not be started again: %w", err)
	}
	return nil
}

// note records n and tells the warden. A warden that died meanwhile is replaced, and the new one told.
func (w *Warden) note(n notice) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ward.note(n)
	if w.over {
		if n.verb == verbChild || n.verb == verbFolder {
			return errors.New("stack: the warden has ended, and nothing may be started without it")
		}
		return nil // nobody is left who would act on what is crossed off
	}
	p := w.live
	if err := p.tell(n); err == nil {
		return nil
	}
	<-p.done // a pipe breaks only when its reader is gone
	return w.replace(p)
}

func (w *Warden) makeFolder(f folder, mode fs.FileMode) error {
	if err := w.note(notice{verb: verbFolder, folder: f}); err != nil {
		return err
	}
	if err := f.create(mode); err != nil {
		err = fmt.Errorf("stack: make a folder: %w", err)
		return errors.Join(err, w.note(notice{verb: verbForget, folder: f}))
	}
	return nil
}

func (w *Warden) removeFolder(f folder) error {
	if err := f.remove(); err != nil {
		return err
	}
	return w.note(notice{verb: verbForget, folder: f})
}

// Guard makes the folder dir, or takes it if it is there and empty, and has it removed with all that is in it should
// this process be killed. keep ends that: call it when the content is complete, before the folder is renamed or moved.
// A marker file lies in the folder meanwhile, its name beginning with ".hotsku-".
func (w *Warden) Guard(dir string) (keep func() error, err error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("stack: guard %s: %w", dir, err)
	}
	f := newFolder(path)
	if err := w.makeFolder(f, 0o755); err != nil {
		return nil, err
	}
	return func() error {
		if err := f.unmark(); err != nil {
			return fmt.Errorf("stack: keep the folder %s: %w", path, err)
		}
		return w.note(notice{verb: verbForget, folder: f})
	}, nil
}

// dismiss says farewell: nothing is left to clean up.
func (w *Warden) dismiss() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return nil
	}
	w.over = true
	err := w.live.tell(notice{verb: verbDone})
	return errors.Join(err, w.live.close())
}

// desert ends the talk without a farewell, so that the warden cleans up what is left at once.
func (w *Warden) desert() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return nil
	}
	w.over = true
	return w.live.close()
}
