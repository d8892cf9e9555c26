package stack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// StartReplica starts a process and waits until it is ready. The process must print the line
// "listening on http://HOST:PORT" on its standard output, and answer GET /readyz with 200 once it can sell. ctx bounds
// the start alone. When it fails the process is ended, and the error quotes the end of its log.
func (s *Stack) StartReplica(ctx context.Context, c Command) (*Replica, error) {
	if err := s.beginStart(); err != nil {
		return nil, fmt.Errorf("stack: start replica %s: %w", c.Name, err)
	}
	defer s.starting.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	r, err := s.startReplica(ctx, c)
	if err != nil {
		return nil, s.redacted(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = append(s.replicas, r)
	return r, nil
}

// beginStart refuses if the stack is closed or broken. Otherwise Close waits until starting is done.
func (s *Stack) beginStart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return errors.New("the stack is closed")
	}
	if s.err != nil {
		return fmt.Errorf("the stack is broken: %w", s.err)
	}
	s.starting.Add(1)
	return nil
}

func (s *Stack) startReplica(ctx context.Context, c Command) (*Replica, error) {
	log := c.Log
	if log == "" {
		log = filepath.Join(s.folder.path, filepath.Base(c.Name)+".log")
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("stack: start replica %s: %w", c.Name, err)
	}
	child, err := s.spawn(program{
		name: "replica " + c.Name, path: c.Path, args: c.Args, env: c.Env, log: log, stdout: stdout,
	})
	stdout.Close()
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	lines := make(chan string, 1)
	go s.drain(out, log, lines)
	r := &Replica{stack: s, child: child}
	if err := r.await(ctx, lines); err != nil {
		return nil, errors.Join(err, child.kill())
	}
	return r, nil
}

const listening = "listening on "

// drain hands the address that a replica prints to found and copies all that it prints to its log, until it ends.
// A replica whose output nobody reads would stand still one day.
func (s *Stack) drain(out io.ReadCloser, log string, found chan<- string) {
	defer out.Close()
	file, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		s.log.Warn("a replica's output is lost", "err", err)
		file = nil
	}
	defer file.Close() // closing a nil file is an error that says nothing new
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 && file != nil {
			if _, err := file.Write(line); err != nil {
				s.log.Warn("a part of a replica's output is lost", "err", err)
			}
		}
		if address, ok := strings.CutPrefix(strings.TrimSpace(string(line)), listening); ok && found != nil {
			found <- address
			found = nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// await waits until the replica listens and is ready.
func (r *Replica) await(ctx context.Context, lines <-chan string) error {
	limited, cancel := context.WithTimeout(ctx, listenLimit)
	defer cancel()
	select {
	case address := <-lines:
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" || u.Port() == "" {
			return fmt.Errorf("stack: %s says that it listens on %q, which is no address", r.child.name, address)
		}
		r.address = "http://" + u.Host
	case <-r.child.done:
		return fmt.Errorf("stack: %s ended before it listened: %w", r.child.name, r.child.failure())
	case <-limited.Done():
		return fmt.Errorf("stack: %s did not say where it listens: %w%s", r.child.name, limited.Err(), r.child.lastWords())
	}
	return r.awaitReady(ctx)
}

func (r *Replica) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true} // and no proxy
	client := http.Client{Transport: transport, Timeout: 2 * time.Second}
	last := errors.New("it was not asked yet")
	for {
		answer := askReady(ctx, &client, r.address)
		if answer == nil {
			return nil
		}
		if ctx.Err() == nil { // else the answer says only that time is up
			last = answer
		}
		select {
		case <-r.child.done:
			return fmt.Errorf("stack: %s ended before it was ready: %w", r.child.name, r.child.failure())
		case <-ctx.Done():
			return fmt.Errorf("stack: %s is not ready: %w (last try: %w)%s",
				r.child.name, ctx.Err(), last, r.child.lastWords())
		case <-time.After(pollEvery):
		}
	}
}

// maxAnswer bounds how much of a refusal is quoted.
const maxAnswer = 512

func askReady(ctx context.Context, client *http.Client, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/readyz", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET /readyz: %s: %s", answer.Status, strings.TrimSpace(string(body)))
	}
	return nil
}
