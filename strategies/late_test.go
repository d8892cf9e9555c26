package strategies_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/hotsku/hotsku/strategies"
)

// The textbook case: an order is held up before its write, its lease ends, another order sells, and then the first wakes.
// Only one unit is there.
func TestALateOrder(t *testing.T) {
	for name, want := range map[string]struct {
		late  error // what the late order is told
		sold  int64 // units in the ledger
		stock int64 // what the inventory row says in the end
	}{
		"none":                {nil, 2, 0}, // the stock column hides it
		"none-decrement":      {nil, 2, -1},
		"process-mutex":       {nil, 2, 0}, // the other order came to another replica
		"lock-only":           {nil, 2, 0},
		"lock-plain-del":      {nil, 2, 0},
		"lock-before-commit":  {nil, 2, 0},
		"lock-renewed":        {nil, 2, 0}, // the write was quicker than the next renewal
		"redlock":             {nil, 2, 0},
		"lock-fence-write":    {strategies.ErrSoldOut, 1, 0}, // so late that it is found out; see below for just late
		"db-conditional":      {strategies.ErrSoldOut, 1, 0},
		"lock-conditional":    {strategies.ErrSoldOut, 1, 0},
		"lock-fence":          {strategies.ErrSoldOut, 1, 0},
		"lock-fence-register": {strategies.ErrSoldOut, 1, 0},
		"optimistic":          {strategies.ErrSoldOut, 1, 0}, // it finds that out in its second transaction
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			wake, lateErr := w.stalled(t, name, "update inventory", 0)
			w.expire(t)
			if _, err := strategy(t, name, w).Checkout(t.Context(), w.order(1, 1)); err != nil {
				t.Fatalf("the other order: %v", err)
			}
			wake()
			if err := lateErr(); !errors.Is(err, want.late) {
				t.Errorf("the late order: %v, want %v", err, want.late)
			}
			if sold, stock := w.soldUnits(t), w.stock(t); sold != want.sold || stock != want.stock {
				t.Errorf("%d units of 1 are sold and the row says %d, want %d and %d", sold, stock, want.sold, want.stock)
			}
		})
	}
}

// A holder that is just late writes before the next holder has written. Then a token that is checked on the write alone
// refuses nobody, while one that was registered before the read does.
func TestAHolderThatIsJustLate(t *testing.T) {
	for name, want := range map[string]struct {
		late, next error
		sold       int64
	}{
		"lock-fence-write":    {nil, nil, 2},
		"lock-fence":          {nil, strategies.ErrSoldOut, 1},
		"lock-fence-register": {nil, strategies.ErrSoldOut, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			wakeLate, lateErr := w.stalled(t, name, "update inventory", 0)
			w.expire(t)
			wakeNext, nextErr := w.stalled(t, name, "update inventory", 1)
			wakeLate()
			if err := lateErr(); !errors.Is(err, want.late) {
				t.Errorf("the late holder: %v, want %v", err, want.late)
			}
			wakeNext()
			if err := nextErr(); !errors.Is(err, want.next) {
				t.Errorf("the next holder: %v, want %v", err, want.next)
			}
			if sold := w.soldUnits(t); sold != want.sold {
				t.Errorf("%d units of 1 are sold, want %d", sold, want.sold)
			}
		})
	}
}

func TestASnapshotOlderThanTheLeaseOversells(t *testing.T) {
	w := newWorld(t, 1)
	// The late order has begun its transaction and read; it is held up before it asks for the lease for the first time.
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	late := w
	late.Redis = hooked(t, before{"set", func() {
		if once.CompareAndSwap(false, true) {
			close(reached)
			<-goOn
		}
	}})
	s := strategy(t, "lock-after-snapshot", late)
	done := make(chan error, 1)
	go func() {
		_, err := s.Checkout(t.Context(), w.order(0, 1))
		done <- err
	}()
	<-reached
	if _, err := strategy(t, "lock-after-snapshot", w).Checkout(t.Context(), w.order(1, 1)); err != nil {
		t.Fatalf("the other order: %v", err)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Errorf("the late order: %v: it read the stock from a snapshot in which there is a unit left", err)
	}
	if sold := w.soldUnits(t); sold != 2 {
		t.Errorf("%d units of 1 are sold, want 2", sold)
	}
}

func TestALeaseReleasedBeforeCommitOversells(t *testing.T) {
	w := newWorld(t, 1)
	wake, lateErr := w.stalled(t, "lock-before-commit", "commit", 0) // its lease is free: nothing has to expire
	// The next holder has read, and finds the old stock; its write comes after the first one's COMMIT.
	wakeNext, nextErr := w.stalled(t, "lock-before-commit", "update inventory", 1)
	wake()
	if err := lateErr(); err != nil {
		t.Error(err)
	}
	wakeNext()
	if err := nextErr(); err != nil {
		t.Error(err)
	}
	if sold := w.soldUnits(t); sold != 2 {
		t.Errorf("%d units of 1 are sold, want 2", sold)
	}
}

func TestAPlainDelOpensTheDoorForTheNext(t *testing.T) {
	w := newWorld(t, 10)
	key := w.Prefix + "lease:{" + w.sku + "}"
	wake, lateErr := w.stalled(t, "lock-plain-del", "update inventory", 0)
	takeOver(t, w, key)
	wake()
	if err := lateErr(); err != nil {
		t.Fatal(err)
	}
	if left, err := w.Redis.Exists(t.Context(), key).Result(); err != nil || left != 0 {
		t.Errorf("%d leases left (%v): the late holder should have deleted its successor's", left, err)
	}
}

func TestRedlockNeedsAMajority(t *testing.T) {
	for _, row := range []struct {
		name string
		gone int
		want error
	}{
		{"all five answer", 0, nil},
		{"two of five are gone", 2, nil},
		{"three of five are gone", 3, strategies.ErrUnavailable},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, 5)
			for n := range row.gone {
				w.Nodes[n] = goneRedis(t)
			}
			if _, err := strategy(t, "redlock", w).Checkout(t.Context(), w.order(0, 1)); !errors.Is(err, row.want) {
				t.Errorf("%v, want %v", err, row.want)
			}
			for n, node := range w.Nodes[row.gone:] {
				if left, err := node.Exists(t.Context(), w.Prefix+"lease:{"+w.sku+"}").Result(); err != nil || left != 0 {
					t.Errorf("node %d still holds the lease (%v)", n+row.gone, err)
				}
			}
		})
	}
}

// stalled starts order n, lets it come as far as a step of its transaction, and holds it there. Calling wake lets it go on;
// result then waits for it and returns its error.
func (w world) stalled(t *testing.T, name, step string, n int) (wake func(), result func() error) {
	t.Helper()
	reached, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	slow := w
	var once atomic.Bool
	slow.DB = stallingDatabase(t, func(s string) {
		if s == step && once.CompareAndSwap(false, true) {
			close(reached)
			<-goOn
		}
	})
	s := strategy(t, name, slow)
	go func() {
		_, err := checkoutObserved(t.Context(), s, w.order(n, 1))
		done <- err
	}()
	select {
	case <-reached:
	case err := <-done:
		t.Fatalf("order %d ended before %s: %v", n, step, err)
	}
	return func() { close(goOn) }, func() error { return <-done }
}

// expire ends the lease of whoever holds it, on every Redis, as time would.
func (w world) expire(t *testing.T) {
	t.Helper()
	for _, client := range append(w.Nodes[:len(w.Nodes):len(w.Nodes)], w.Redis) {
		if err := client.Del(t.Context(), w.Prefix+"lease:{"+w.sku+"}").Err(); err != nil {
			t.Fatal(err)
		}
	}
}
