package strategies_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotsku/hotsku/strategies"
)

// unordered are the strategies that keep units elsewhere than in the inventory row.
var unordered = []string{"skip-locked", "buckets"}

// holding starts order 0 and holds it back when it has taken its units and is about to write its order. Calling giveBack
// lets it go on: its key has an order already, so that it rolls back, and when giveBack returns it has.
func (w world) holding(t *testing.T, name string, quantity int) (giveBack func()) {
	t.Helper()
	w.exec(t, `INSERT INTO orders (sku, quantity, position, customer, idempotency_key, fence, replica, created_at)
		VALUES ('another', 1, 0, 'customer-1', ?, 0, 'test', ?)`, w.order(0, quantity).Key, time.Now().UTC())
	reached, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	slow := w
	slow.Tell = nil
	slow.DB = stallingDatabase(t, func(step string) {
		if step == "insert orders" {
			close(reached)
			<-goOn
		}
	})
	s := strategy(t, name, slow)
	go func() {
		_, err := checkoutObserved(context.WithoutCancel(t.Context()), s, w.order(0, quantity)) // it ends in the cleanup
		done <- err
	}()
	<-reached
	giveBack = sync.OnceFunc(func() {
		close(goOn)
		if err := <-done; !errors.Is(err, strategies.ErrDuplicate) {
			t.Errorf("the order that gives its units back: %v, want %v", err, strategies.ErrDuplicate)
		}
	})
	t.Cleanup(giveBack)
	return giveBack
}

// onceWaiting calls do, in a goroutine of its own, when the server is at work on a statement that begins so and names the
// SKU: with a row of it locked, the statement waits for that.
func (w world) onceWaiting(t *testing.T, statement string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; n == 0; {
			err := w.DB.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM information_schema.processlist
				WHERE info LIKE ? AND info LIKE ?`, statement+"%", "%'"+w.sku+"'%").Scan(&n)
			if err != nil {
				t.Errorf("before %q was at work: %v", statement, err)
				return
			}
		}
		do()
	}()
	t.Cleanup(func() { <-done })
}

func TestTheLastUnitIsNotSoldOutWhileItIsOnlyLocked(t *testing.T) {
	for _, name := range unordered {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			giveBack := w.holding(t, name, 1)
			told := w.tallied(func(strategies.EventKind) { giveBack() }) // skip-locked sees that the unit is locked
			if name == "buckets" {
				w.onceWaiting(t, "UPDATE buckets", giveBack)
			}
			s := strategy(t, name, w)
			if _, err := s.Checkout(t.Context(), w.order(1, 1)); err != nil {
				t.Fatalf("the second order: %v", err)
			}
			if left, sold := w.left(t, s); left != 0 || sold != 1 || w.soldUnits(t) != 1 {
				t.Errorf("%d left, %d sold, %d in the ledger; want 0, 1 and 1", left, sold, w.soldUnits(t))
			}
			told.want(t, strategies.LookedAgain, map[string]int{"skip-locked": 1}[name])
			if _, err := s.Checkout(t.Context(), w.order(2, 1)); !errors.Is(err, strategies.ErrSoldOut) {
				t.Errorf("the third order: %v, want %v", err, strategies.ErrSoldOut)
			}
			told.want(t, strategies.LookedAgain, map[string]int{"skip-locked": 1}[name])
		})
	}
}

func TestSkipLockedIsContendedWhenTheLastUnitsStayLocked(t *testing.T) {
	w := newWorld(t, 2)
	w.Lease.Wait = 20 * time.Millisecond
	w.holding(t, "skip-locked", 1)
	s := strategy(t, "skip-locked", w)
	if _, err := s.Checkout(t.Context(), w.order(1, 2)); !errors.Is(err, strategies.ErrContended) {
		t.Errorf("for 2, of which one is locked: %v, want %v", err, strategies.ErrContended)
	}
	if _, err := s.Checkout(t.Context(), w.order(2, 3)); !errors.Is(err, strategies.ErrSoldOut) {
		t.Errorf("for 3, of which one is not there: %v, want %v", err, strategies.ErrSoldOut)
	}
	if _, err := s.Checkout(t.Context(), w.order(3, 1)); err != nil {
		t.Errorf("for the one that is free: %v", err)
	}
}

// Two orders that each have a part of the last units would otherwise wait until both give up.
func TestSkipLockedHoldsNothingWhileItWaitsForMore(t *testing.T) {
	w := newWorld(t, 3)
	giveBack := w.holding(t, "skip-locked", 1)
	told := w.tallied(func(strategies.EventKind) {
		if n := w.number(t, `SELECT COUNT(*) FROM (SELECT unit FROM units WHERE sku = ? AND unit > 1 FOR UPDATE SKIP LOCKED) AS free`, w.sku); n != 2 {
			t.Errorf("%d of the 2 units that nobody holds are free", n)
		}
		giveBack()
	})
	if _, err := strategy(t, "skip-locked", w).Checkout(t.Context(), w.order(1, 3)); err != nil {
		t.Error(err)
	}
	told.want(t, strategies.LookedAgain, 1)
}

// With the units in a list the server reads the small table from end to end and waits for the other order's: a deadlock.
func TestSkipLockedDeletesWithoutWaitingForOthers(t *testing.T) {
	w := newWorld(t, 21)
	told := w.tallied(nil)
	if _, err := strategy(t, "skip-locked", w).Checkout(t.Context(), w.order(0, 1)); err != nil { // it fills the shelf
		t.Fatal(err)
	}
	var arrived atomic.Int64
	both := make(chan struct{})
	w.DB = stallingDatabase(t, func(step string) {
		if step == "delete units" {
			if arrived.Add(1) == 2 {
				close(both)
			}
			<-both
		}
	})
	s := strategy(t, "skip-locked", w)
	var done sync.WaitGroup
	for n := 1; n <= 2; n++ {
		done.Go(func() {
			if _, err := checkoutObserved(t.Context(), s, w.order(n, 10)); err != nil {
				t.Errorf("order %d: %v", n, err)
			}
		})
	}
	done.Wait()
	if left, sold := w.left(t, s); left != 0 || sold != 21 {
		t.Errorf("%d left and %d sold, want 0 and 21", left, sold)
	}
	told.want(t, strategies.Deadlock, 0)
	told.want(t, strategies.LookedAgain, 0)
}

func TestAStockIsMovedOnceHoweverManyFindItMissing(t *testing.T) {
	for _, name := range unordered {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 200)
			told := w.tallied(nil)
			s := strategy(t, name, w)
			if sold := contend(t, w, s, 64, 64); sold != 64 {
				t.Errorf("%d of 64 orders sold", sold)
			}
			told.want(t, strategies.Loaded, 1)
			if left, sold := w.left(t, s); left != 136 || sold != 64 {
				t.Errorf("%d left and %d sold, want 136 and 64", left, sold)
			}
		})
	}
}

func TestAStockOfSeveralShelvesIsSoldExactly(t *testing.T) {
	w := newWorld(t, 2500)
	told := w.tallied(nil)
	s := strategy(t, "skip-locked", w)
	var quantities []int
	for n := range 500 {
		quantities = append(quantities, 1+n%10)
	}
	quantities = append(quantities, slices.Repeat([]int{1}, 20)...)
	sold := 0
	for _, o := range crowd(t, w, s, quantities, 16) {
		if o.err == nil {
			sold += o.quantity
		}
	}
	if left, kept := w.left(t, s); sold != 2500 || left != 0 || kept != 2500 || w.soldUnits(t) != 2500 {
		t.Errorf("%d acknowledged, %d left, %d sold, %d in the ledger; want 2500, 0, 2500 and 2500", sold, left, kept, w.soldUnits(t))
	}
	told.want(t, strategies.Loaded, 3)
}

func TestALargeStockNeedsFewRows(t *testing.T) {
	for name, rows := range map[string]int64{"skip-locked": 997, "buckets": 16} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1_000_000_000)
			s := strategy(t, name, w)
			if _, err := s.Checkout(t.Context(), w.order(0, 3)); err != nil {
				t.Fatal(err)
			}
			if left, sold := w.left(t, s); left != 999_999_997 || sold != 3 {
				t.Errorf("%d left and %d sold, want 999999997 and 3", left, sold)
			}
			table := map[string]string{"skip-locked": "units", "buckets": "buckets"}[name]
			if n := w.number(t, fmt.Sprintf(`SELECT COUNT(*) FROM %s WHERE sku = ?`, table), w.sku); n != rows {
				t.Errorf("%d rows, want %d", n, rows)
			}
		})
	}
}

func TestSkipLockedFillsTheShelfRatherThanWait(t *testing.T) {
	for name, row := range map[string]struct{ held, wanted int }{
		"when all that is on it is locked":             {1000, 1},
		"when an order wants more than it can hold":    {1, 1500},
		"when an order wants more than is left of one": {999, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2500)
			w.holding(t, "skip-locked", row.held)
			told := w.tallied(nil)
			s := strategy(t, "skip-locked", w)
			if _, err := s.Checkout(t.Context(), w.order(1, row.wanted)); err != nil {
				t.Error(err)
			}
			told.want(t, strategies.LookedAgain, 0)
			told.want(t, strategies.Loaded, 1)
			if left, sold := w.left(t, s); left != 2500-int64(row.wanted) || sold != int64(row.wanted) {
				t.Errorf("%d left and %d sold, want %d and %d", left, sold, 2500-row.wanted, row.wanted)
			}
		})
	}
}

func TestBucketsGatherWhatNoneHasAlone(t *testing.T) {
	w := newWorld(t, 40) // 2 or 3 in each
	told := w.tallied(nil)
	s := strategy(t, "buckets", w)
	for n, row := range []struct {
		quantity int
		want     error
		looked   int
	}{
		{3, nil, 0}, {10, nil, 1}, {28, strategies.ErrSoldOut, 1}, {27, nil, 2}, {1, strategies.ErrSoldOut, 2},
	} {
		if _, err := s.Checkout(t.Context(), w.order(n, row.quantity)); !errors.Is(err, row.want) {
			t.Errorf("order %d for %d: %v, want %v", n, row.quantity, err, row.want)
		}
		told.want(t, strategies.LookedAgain, row.looked)
	}
	if left, sold := w.left(t, s); left != 0 || sold != 40 {
		t.Errorf("%d left and %d sold, want 0 and 40", left, sold)
	}
}

// Whether 16 units are left or 15 is open while one is locked: the order that gathers must wait to know.
func TestBucketsGatherWaitsForALockedUnit(t *testing.T) {
	w := newWorld(t, 16)
	giveBack := w.holding(t, "buckets", 1)
	told := w.tallied(nil)
	s := strategy(t, "buckets", w)
	w.onceWaiting(t, "SELECT bucket, stock", giveBack)
	if _, err := s.Checkout(t.Context(), w.order(1, 16)); err != nil {
		t.Error(err)
	}
	told.want(t, strategies.LookedAgain, 1)
	if left, sold := w.left(t, s); left != 0 || sold != 16 {
		t.Errorf("%d left and %d sold, want 0 and 16", left, sold)
	}
}

func TestBucketsThatGatherTogetherDoNotDeadlock(t *testing.T) {
	for name, row := range map[string]struct {
		quantities []int
		looked     int // -1: as it happens
	}{
		"all of them":                       {slices.Repeat([]int{20}, 32), 8},
		"among others that take from one":   {slices.Repeat([]int{11, 1, 2, 3, 9, 1}, 10), -1},
		"and probe buckets that just empty": {slices.Repeat([]int{7, 8, 9, 10}, 10), -1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 160) // 10 in each
			told := w.tallied(nil)
			s := strategy(t, "buckets", w)
			sold, refused := 0, 160
			for _, o := range crowd(t, w, s, row.quantities, 32) {
				if o.err == nil {
					sold += o.quantity
				} else {
					refused = min(refused, o.quantity)
				}
			}
			if left, kept := w.left(t, s); int64(sold) != kept || left+kept != 160 || left >= int64(refused) {
				t.Errorf("%d units acknowledged, %d sold, %d left, and an order for %d refused", sold, kept, left, refused)
			}
			told.want(t, strategies.Deadlock, 0)
			if row.looked >= 0 {
				told.want(t, strategies.LookedAgain, row.looked)
			}
		})
	}
}
