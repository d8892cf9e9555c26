package strategies_test

import (
	"context"
	"sync"
	"testing"

	"github.com/hotsku/hotsku/strategies"
)

// tally counts the events that a strategy tells.
type tally struct {
	mu sync.Mutex
	n  map[strategies.EventKind]int
}

// tallied makes the world's strategies tell their events to a tally. Each is passed on to do, unless that is nil, in the
// goroutine of the order, which waits for it.
func (w *world) tallied(do func(strategies.EventKind)) *tally {
	told := &tally{n: map[strategies.EventKind]int{}}
	w.Tell = func(_ context.Context, e strategies.Event) {
		told.mu.Lock()
		told.n[e.Kind]++
		told.mu.Unlock()
		if do != nil {
			do(e.Kind)
		}
	}
	return told
}

// want compares the count of an event.
func (told *tally) want(t *testing.T, kind strategies.EventKind, n int) {
	t.Helper()
	told.mu.Lock()
	defer told.mu.Unlock()
	if told.n[kind] != n {
		t.Errorf("%s was told %d times, want %d", kind, told.n[kind], n)
	}
}
