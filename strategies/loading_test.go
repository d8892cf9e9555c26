package strategies_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotsku/hotsku/strategies"
)

// loaders are the strategies that load a counter into Redis, with the key that holds it.
var loaders = map[string]string{"redis-counter": "stock", "redis-reserve": "free"}

func TestAMissingCounterIsLoadedOnce(t *testing.T) {
	const crowd, stock = 64, 100
	for name, key := range loaders {
		t.Run(name, func(t *testing.T) {
			w, told := newWorld(t, stock).counting()
			var reads atomic.Int64
			s := strategy(t, name, w.watched(t, 32, func(step string) {
				if step == "select inventory" {
					reads.Add(1)
				}
			}))
			for range 20 {
				w = w.restocked(t, stock)
				before := told.of(strategies.Loaded)
				reads.Store(0)
				var start, done sync.WaitGroup
				start.Add(1)
				for n := range crowd {
					done.Go(func() {
						start.Wait()
						if _, err := checkoutObserved(t.Context(), s, w.order(n, 1)); err != nil {
							t.Errorf("order %d: %v", n, err)
						}
					})
				}
				start.Done()
				done.Wait()
				if n := told.of(strategies.Loaded) - before; n != 1 || reads.Load() != 1 {
					t.Errorf("loaded %d times after %d reads of the row, want one and one", n, reads.Load())
				}
				if left, _ := w.counter(t, key); left != stock-crowd {
					t.Errorf("the counter is at %d, want %d", left, stock-crowd)
				}
				if _, err := s.Checkout(t.Context(), w.order(crowd, stock-crowd)); err != nil {
					t.Errorf("an order for all that is left: %v", err)
				}
				if _, err := s.Checkout(t.Context(), w.order(crowd+1, 1)); !errors.Is(err, strategies.ErrSoldOut) {
					t.Errorf("one more: %v, want %v", err, strategies.ErrSoldOut)
				}
				if sold, left := w.soldUnits(t), w.stock(t); sold != stock || left != 0 {
					t.Errorf("%d sold and %d left, want %d and 0", sold, left, stock)
				}
			}
		})
	}
}

// An order reads the row and stalls. Redis loses its memory, the counter is loaded by another, units are sold from it, and
// it is lost again: the row that the first order has read is old, and a SET NX would succeed.
func TestALoaderThatStallsDoesNotLoadWhatItRead(t *testing.T) {
	for name, key := range loaders {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 10).alone()
			late := w.hold(t, name, "load", w.order(0, 1))
			w.forget(t)
			s := strategy(t, name, w)
			for n := range 4 {
				if _, err := s.Checkout(t.Context(), w.order(1+n, 2)); err != nil {
					t.Fatal(err)
				}
			}
			w.forget(t)
			if err := late(); err != nil {
				t.Errorf("the late loader: %v, want that it loads anew and is sold to", err)
			}
			if left, _ := w.counter(t, key); left != 1 {
				t.Errorf("the counter is at %d, want 1: an old stock was loaded", left)
			}
		})
	}
}

func TestALoaderThatDiesHoldsNobodyUp(t *testing.T) {
	for name, key := range loaders {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 5).alone()
			w.hold(t, name, "load", w.order(0, 1)) // for ever
			lease := w.Prefix + "loading:{" + w.sku + "}"
			if life, err := w.Redis.PTTL(t.Context(), lease).Result(); err != nil || life <= 0 || life.Seconds() > 1 {
				t.Errorf("the lease to load lives for %v (%v), want at most a second", life, err)
			}
			if err := w.Redis.PExpire(t.Context(), lease, time.Millisecond).Err(); err != nil {
				t.Fatal(err)
			}
			if _, err := strategy(t, name, w).Checkout(t.Context(), w.order(1, 1)); err != nil {
				t.Error(err)
			}
			if left, _ := w.counter(t, key); left != 4 {
				t.Errorf("the counter is at %d, want 4", left)
			}
		})
	}
}

func TestAnOrderThatCannotLoadLetsTheNextOneTry(t *testing.T) {
	for name, key := range loaders {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 5).alone()
			broken := w
			broken.DB = stallingDatabase(t, func(string) {})
			if err := broken.DB.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := strategy(t, name, broken).Checkout(t.Context(), w.order(0, 1)); !errors.Is(err, strategies.ErrUnavailable) {
				t.Errorf("without a database: %v, want %v", err, strategies.ErrUnavailable)
			}
			if keys := w.keys(t); len(keys) != 0 {
				t.Errorf("it left %v", keys)
			}
			if _, err := strategy(t, name, w).Checkout(t.Context(), w.order(1, 1)); err != nil {
				t.Error(err)
			}
			if left, _ := w.counter(t, key); left != 4 {
				t.Errorf("the counter is at %d, want 4", left)
			}
		})
	}
}
