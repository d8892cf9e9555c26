package strategies_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/stack/stacktest"
)

func TestAConflictIsToldAndTriedAgain(t *testing.T) {
	w := newWorld(t, 5)
	told := w.tallied(nil)
	wake, lateErr := w.stalled(t, "optimistic", "update inventory", 0)
	if _, err := strategy(t, "optimistic", w).Checkout(t.Context(), w.order(1, 2)); err != nil {
		t.Fatal(err)
	}
	wake()
	if err := lateErr(); err != nil {
		t.Errorf("the late order: %v; it should have been sold in its second transaction", err)
	}
	if sold, left := w.soldUnits(t), w.stock(t); sold != 3 || left != 2 {
		t.Errorf("%d sold and %d left, want 3 and 2", sold, left)
	}
	told.want(t, strategies.Conflict, 1)
}

// Both orders hold a shared lock on the row when the first wants to write: one of them is the deadlock's victim.
func TestADeadlockIsToldAndTriedAgain(t *testing.T) {
	w := newWorld(t, 5)
	told := w.tallied(nil)
	wake, firstErr := w.stalled(t, "serializable", "update inventory", 0)
	second := make(chan error, 1)
	s := strategy(t, "serializable", w)
	go func() {
		_, err := s.Checkout(t.Context(), w.order(1, 2)) // it reads, and waits for the first one's shared lock
		second <- err
	}()
	w.awaitUpdate(t)
	wake()
	if err := errors.Join(firstErr(), <-second); err != nil {
		t.Error(err)
	}
	if sold, left := w.soldUnits(t), w.stock(t); sold != 3 || left != 2 {
		t.Errorf("%d sold and %d left, want 3 and 2", sold, left)
	}
	told.want(t, strategies.Deadlock, 1)
}

// awaitUpdate returns as soon as some connection is busy with an UPDATE of this world's row. Whatever its transaction did
// before it has done by then.
func (w world) awaitUpdate(t *testing.T) {
	t.Helper()
	for {
		n := w.number(t, `SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE ?`, "UPDATE inventory%"+w.sku+"%")
		if n > 0 {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(time.Millisecond): // it asks again; no outcome hangs on the time
		}
	}
}

// patientFor returns a world whose transactions wait for a row's lock for so many seconds.
func (w world) patientFor(t *testing.T, seconds int) world {
	t.Helper()
	dsn := stacktest.Start(t).DSN()
	separator := "?"
	if strings.Contains(dsn, "?") {
		separator = "&"
	}
	db, err := target.OpenDatabase(fmt.Sprintf("%s%sinnodb_lock_wait_timeout=%d", dsn, separator, seconds), 8, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w.DB = db
	return w
}

func TestALockWaitTimeoutIsToldAndTheOrderContended(t *testing.T) {
	w := newWorld(t, 5).patientFor(t, 1)
	told := w.tallied(nil)
	w.Lease.Wait = time.Millisecond // no time for a second try
	holder, err := w.DB.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback()
	if _, err := holder.ExecContext(t.Context(), `SELECT stock FROM inventory WHERE sku = ? FOR UPDATE`, w.sku); err != nil {
		t.Fatal(err)
	}
	if _, err := strategy(t, "for-update", w).Checkout(t.Context(), w.order(0, 1)); !errors.Is(err, strategies.ErrContended) {
		t.Errorf("%v, want %v", err, strategies.ErrContended)
	}
	told.want(t, strategies.LockWait, 1)
	if sold := w.soldUnits(t); sold != 0 {
		t.Errorf("%d units sold, want 0", sold)
	}
}

func TestAnAdvisoryLockThatIsTakenMakesAnOrderContended(t *testing.T) {
	w := newWorld(t, 5)
	told := w.tallied(nil)
	wake, holderErr := w.stalled(t, "advisory-lock", "update inventory", 0)
	impatient := w
	impatient.Lease.Wait = 20 * time.Millisecond
	if _, err := strategy(t, "advisory-lock", impatient).Checkout(t.Context(), w.order(1, 1)); !errors.Is(err, strategies.ErrContended) {
		t.Errorf("%v, want %v", err, strategies.ErrContended)
	}
	told.want(t, strategies.LockWait, 1)
	wake()
	if err := holderErr(); err != nil {
		t.Error(err)
	}
}

// The lock must not go back into the pool with its connection.
func TestAnAdvisoryLockEndsWithACancelledRequest(t *testing.T) {
	w := newWorld(t, 5)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cut := w
	cut.DB = stallingDatabase(t, func(step string) {
		if step == "update inventory" {
			cancel()
		}
	})
	if _, err := checkoutObserved(ctx, strategy(t, "advisory-lock", cut), w.order(0, 1)); !errors.Is(err, strategies.ErrUnavailable) {
		t.Errorf("%v, want %v", err, strategies.ErrUnavailable)
	}
	impatient := w
	impatient.Lease.Wait = time.Second
	if _, err := strategy(t, "advisory-lock", impatient).Checkout(t.Context(), w.order(1, 1)); err != nil {
		t.Errorf("the next order: %v; the lock was left behind", err)
	}
}
