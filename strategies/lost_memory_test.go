package strategies_test

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotsku/hotsku/strategies"
)

// inRedis returns the strategies that sell nothing without Redis, each by its name.
func inRedis() map[string]strategies.Info {
	infos := map[string]strategies.Info{}
	for _, info := range strategies.All() {
		if info.Redis {
			infos[info.Name] = info
		}
	}
	return infos
}

// unsold returns how many units are left, wherever the strategy keeps them.
func (w world) unsold(t *testing.T, s strategies.Strategy) int64 {
	t.Helper()
	left, _ := w.left(t, s)
	return left
}

// afterTheLoss says what the first order gets after Redis lost its memory while nobody was buying. The second is sold to.
var afterTheLoss = map[string]error{
	// The lease is free.
	"lock-only": nil, "lock-plain-del": nil, "lock-after-snapshot": nil, "lock-before-commit": nil, "lock-renewed": nil,
	"lock-conditional": nil, "redlock": nil,
	// The counter is loaded anew.
	"redis-counter": nil, "redis-reserve": nil,
	// It is fenced off by the tokens of before the loss, and raises the counter to them.
	"lock-fence": strategies.ErrFenced, "lock-fence-register": strategies.ErrFenced, "lock-fence-write": strategies.ErrFenced,
	"fair-lock-fence": strategies.ErrFenced,
	// It waits while a leader is refused by the generations of before the loss, raises the counter, and leads again.
	"queue": nil,
}

func TestTheFirstOrderAfterRedisLostItsMemory(t *testing.T) {
	if all := slices.Sorted(maps.Keys(inRedis())); !slices.Equal(all, slices.Sorted(maps.Keys(afterTheLoss))) {
		t.Errorf("the strategies that need Redis are %v: say in afterTheLoss what becomes of each", all)
	}
	for name, info := range inRedis() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 10).alone()
			s := start(t, info, w.Env)
			for n := range 3 {
				if _, err := s.Checkout(t.Context(), w.order(n, 1)); err != nil {
					t.Fatal(err)
				}
			}
			w.forget(t)
			if _, err := s.Checkout(t.Context(), w.order(3, 1)); !errors.Is(err, afterTheLoss[name]) || (err == nil) != (afterTheLoss[name] == nil) {
				t.Errorf("the first order: %v, want %v", err, afterTheLoss[name])
			}
			if _, err := s.Checkout(t.Context(), w.order(4, 1)); err != nil {
				t.Errorf("the second order: %v", err)
			}
		})
	}
}

// Redis loses its memory again and again, each time while 8 orders are anywhere between two of their steps.
func TestRedisLosesItsMemoryBetweenSteps(t *testing.T) {
	for supply, stock := range map[string]int{"plenty": 200, "sold out on the way": 30} {
		t.Run(supply, func(t *testing.T) {
			for name, info := range inRedis() {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, stock).alone()
					w.Lease.TTL, w.Lease.Wait = time.Second, 2*time.Second
					sold, unknown, losses := w.sellWhileRedisForgets(t, info, 96)
					t.Logf("%d units sold and %d unknown while Redis lost its memory %d times", sold, unknown, losses)
					if losses < 10 {
						t.Errorf("Redis lost its memory %d times: the test proves nothing", losses)
					}
					if got := w.soldUnits(t); got < sold || got > sold+unknown {
						t.Errorf("%d units were acknowledged and %d are unknown, and the ledger has %d", sold, unknown, got)
					}
					if info.Safe || stock == 200 {
						w.sellsTheRest(t, start(t, info, w.Env), stock, info.Safe)
					}
				})
			}
		})
	}
}

// sellWhileRedisForgets sends so many orders for one unit from 8 goroutines. Before every 13th step, whosever it is, Redis
// loses its memory.
func (w world) sellWhileRedisForgets(t *testing.T, info strategies.Info, orders int64) (sold, unknown, losses int64) {
	t.Helper()
	const goroutines = 8
	var steps, lost, bought, unsure, next atomic.Int64
	watched := w.watched(t, goroutines, func(string) {
		if steps.Add(1)%13 == 0 {
			lost.Add(1)
			w.forget(t)
		}
	})
	s := start(t, info, watched.Env)
	var done sync.WaitGroup
	for range goroutines {
		done.Go(func() {
			for n := next.Add(1); n <= orders; n = next.Add(1) {
				_, err := checkoutObserved(t.Context(), s, w.order(int(n), 1))
				switch {
				case err == nil:
					bought.Add(1)
				case errors.Is(err, strategies.ErrSoldOut) && info.Safe:
					if left := w.unsold(t, s); left > 0 { // units never come back, so that there were some before
						t.Errorf("order %d was told sold out, and %d units are left", n, left)
					}
				case info.Name == "queue" && !surelyNotSold(err): // the line was lost while a leader had read the order
					unsure.Add(1)
				case !meanwhile(err) && !errors.Is(err, strategies.ErrSoldOut):
					t.Errorf("order %d: %v", n, err)
				}
			}
		})
	}
	done.Wait()
	return bought.Load(), unsure.Load(), lost.Load()
}

// meanwhile reports whether an order may get this answer until a loss is healed.
func meanwhile(err error) bool {
	return errors.Is(err, strategies.ErrFenced) || errors.Is(err, strategies.ErrContended)
}

// sellsTheRest checks that after the last loss orders are answered rightly within a few tries: one for all units that are
// left is sold, the next is sold out, and exactly the stock is sold then. Of an unsafe strategy, which may have sold
// anything, it only wants that it sells.
func (w world) sellsTheRest(t *testing.T, s strategies.Strategy, stock int, safe bool) {
	t.Helper()
	try := 0
	answer := func(quantity int) (err error) {
		for range 5 {
			try++
			if _, err = s.Checkout(t.Context(), w.order(1000+try, quantity)); !meanwhile(err) {
				return err
			}
		}
		return err
	}
	if !safe {
		if err := answer(1); err != nil {
			t.Errorf("after the last loss: %v", err)
		}
		return
	}
	if rest := int(w.unsold(t, s)); rest > 0 {
		if err := answer(rest); err != nil {
			t.Errorf("an order for the %d units that are left: %v", rest, err)
		}
	}
	if err := answer(1); !errors.Is(err, strategies.ErrSoldOut) {
		t.Errorf("one more: %v, want %v", err, strategies.ErrSoldOut)
	}
	if sold, left := w.soldUnits(t), w.unsold(t, s); sold != int64(stock) || left != 0 {
		t.Errorf("%d units are sold and %d left, want %d and 0", sold, left, stock)
	}
}

func TestKeysInRedisDoNotPileUp(t *testing.T) {
	for _, info := range strategies.All() {
		t.Run(info.Name, func(t *testing.T) {
			w := newWorld(t, 10).alone()
			s := start(t, info, w.Env)
			unknown := w.order(20, 1)
			unknown.SKU += "-not"
			orders := []strategies.Order{unknown, w.order(0, 11)} // in vain
			for n := range 10 {
				orders = append(orders, w.order(1+n, 1)) // sold
			}
			orders = append(orders, w.order(1, 1), w.order(11, 1)) // a key that has an order, and one that is sold out
			for n, o := range orders {
				if _, err := s.Checkout(t.Context(), o); (err == nil) != (n >= 2 && n < 12) {
					t.Errorf("order %d, %+v: %v", n, o, err)
				}
				w.keysExpire(t)
			}
		})
	}
}

// keysExpire checks that every key below the world's prefix does, within a day.
func (w world) keysExpire(t *testing.T) {
	t.Helper()
	const gone = -2 // says Redis of a key that has expired meanwhile
	for key, client := range w.keys(t) {
		if life, err := client.PTTL(t.Context(), key).Result(); err != nil || life != gone && life <= 0 || life > 24*time.Hour {
			t.Errorf("%s lives for %v (%v), want it to expire within a day", key, life, err)
		}
	}
}

// Three orders have all six units in Redis and are about to write. Redis loses its memory; three others buy all six units.
// Then the first three go on.
func TestMemoryThatIsLostBetweenRedisAndTheDatabase(t *testing.T) {
	for name, want := range map[string]struct {
		late       error
		sold, left int64
	}{
		"redis-counter": {nil, 12, -6},
		"redis-reserve": {strategies.ErrSoldOut, 6, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 6).alone()
			var late []func() error
			for n := range 3 {
				late = append(late, w.hold(t, name, "update inventory", w.order(n, 2)))
			}
			w.forget(t)
			s := strategy(t, name, w)
			for n := range 3 {
				if _, err := s.Checkout(t.Context(), w.order(3+n, 2)); err != nil {
					t.Fatal(err)
				}
			}
			for n, goOn := range late {
				if err := goOn(); !errors.Is(err, want.late) || (err == nil) != (want.late == nil) {
					t.Errorf("late order %d: %v, want %v", n, err, want.late)
				}
			}
			if sold, left := w.soldUnits(t), w.stock(t); sold != want.sold || left != want.left {
				t.Errorf("%d units of 6 are sold and %d left, want %d and %d", sold, left, want.sold, want.left)
			}
		})
	}
}
