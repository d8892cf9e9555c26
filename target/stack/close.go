package stack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// closeLimit bounds how long Close waits for replicas that were asked to end, before it kills them.
const closeLimit = 10 * time.Second

// Close ends the replicas and the private servers, removes the private folder and dismisses the warden. It may be
// called repeatedly and on a nil Stack; later calls return the first one's error. What it couldn't end or remove is
// left to the warden, which tries again when this process is gone.
func (s *Stack) Close() error {
	if s == nil {
		return nil
	}
	s.closeOnce.Do(func() { s.closeErr = s.redacted(s.close()) })
	return s.closeErr
}

func (s *Stack) close() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.end()
	s.starting.Wait()

	s.mu.Lock()
	replicas := s.replicas
	s.mu.Unlock()
	replicaErr := stopAll(replicas)
	// The servers' data is thrown away, so there is nothing that a slow, orderly end would save.
	serverErr := s.database.close()
	for _, r := range s.allRedis() {
		serverErr = errors.Join(serverErr, r.close())
	}
	if serverErr != nil {
		return errors.Join(replicaErr, serverErr, s.warden.desert())
	}
	if err := s.warden.removeFolder(s.folder); err != nil {
		return errors.Join(replicaErr, fmt.Errorf("stack: remove the private folder: %w", err), s.warden.desert())
	}
	return errors.Join(replicaErr, s.warden.dismiss())
}

func stopAll(replicas []*Replica) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	errs := make([]error, len(replicas))
	var wg sync.WaitGroup
	for i, r := range replicas {
		wg.Go(func() { errs[i] = r.Stop(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
