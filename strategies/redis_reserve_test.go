package strategies_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/strategies"
)

// reserved returns the order keys that have a reservation.
func (w world) reserved(t *testing.T) []string {
	t.Helper()
	all, err := w.Redis.HGetAll(t.Context(), w.Prefix+"reserved:{"+w.sku+"}").Result()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(all))
}

// forgetFloor lets the database's word expire.
func (w world) forgetFloor(t *testing.T) {
	t.Helper()
	if err := w.Redis.Del(t.Context(), w.Prefix+"floor:{"+w.sku+"}").Err(); err != nil {
		t.Fatal(err)
	}
}

// books are what Redis and the database think of a SKU.
type books struct {
	free, floor, stock int64
	reservations       int
}

// books reads them. Without a floor it says −1.
func (w world) books(t *testing.T) books {
	t.Helper()
	free, ok := w.counter(t, "free")
	if !ok {
		t.Error("there is no counter")
	}
	floor, ok := w.counter(t, "floor")
	if !ok {
		floor = -1
	}
	return books{free, floor, w.stock(t), len(w.reserved(t))}
}

// atRest checks that Redis and the database agree. A floor that has expired on a slow machine is no disagreement.
func (w world) atRest(t *testing.T, stock int64) {
	t.Helper()
	if b := w.books(t); b != (books{stock, stock, stock, 0}) && b != (books{stock, -1, stock, 0}) {
		t.Errorf("free, floor, stock, reservations: %v, want %d each and no reservation", b, stock)
	}
}

// What has become of 5 units after an order for 2, its key aside, ended otherwise than it should; and that all units that
// the row has are sold to the next order, at the latest when the reservation is older than the lease's TTL.
func TestAReservationAfterAnOrderThatFailed(t *testing.T) {
	misfit := string(make([]byte, 1000)) // a customer who does not fit into the column
	for name, row := range map[string]struct {
		send     func(*testing.T, world) error
		want     error
		after    books
		returned int
	}{
		"the key has an order already: the units are free again": {func(t *testing.T, w world) error {
			w.exec(t, `INSERT INTO orders (sku, quantity, position, customer, idempotency_key, fence, replica, created_at)
				VALUES ('another', 1, 1, 'c', ?, 0, 'test', NOW(6))`, w.order(0, 2).Key)
			return checkout(t, w, "redis-reserve", w.order(0, 2))
		}, strategies.ErrDuplicate, books{5, 5, 5, 0}, 1},
		"the database refuses before COMMIT: the units are free again": {func(t *testing.T, w world) error {
			return checkout(t, w, "redis-reserve", strategies.Order{Key: w.sku + "/0", SKU: w.sku, Quantity: 2, Customer: misfit})
		}, strategies.ErrUnavailable, books{5, 5, 5, 0}, 1},
		"the request is cancelled before COMMIT: the units are free again": {func(t *testing.T, w world) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w.DB = stallingDatabase(t, func(step string) {
				if step == "insert orders" {
					cancel()
				}
			})
			_, err := checkoutObserved(ctx, strategy(t, "redis-reserve", w), w.order(0, 2))
			return err
		}, strategies.ErrUnavailable, books{5, 5, 5, 0}, 1},
		"COMMIT took place and its reply was lost: the reservation stays": {func(t *testing.T, w world) error {
			return checkout(t, w.losingCommits(t, true), "redis-reserve", w.order(0, 2))
		}, nil, books{3, 5, 3, 1}, 0},
		"COMMIT did not take place, and nobody knows: the reservation stays": {func(t *testing.T, w world) error {
			return checkout(t, w.losingCommits(t, false), "redis-reserve", w.order(0, 2))
		}, nil, books{3, 5, 5, 1}, 0},
		"the reply of the reservation was lost: it stays": {func(t *testing.T, w world) error {
			return checkout(t, w.losingReplies(t, "reserve"), "redis-reserve", w.order(0, 2))
		}, strategies.ErrUnavailable, books{3, 5, 5, 1}, 0},
		"the reservation was lost before it was settled: the units are free when they are counted": {func(t *testing.T, w world) error {
			return checkout(t, w.watched(t, 2, func(step string) {
				if step == "settle" {
					if err := w.Redis.Del(t.Context(), w.Prefix+"reserved:{"+w.sku+"}").Err(); err != nil {
						t.Error(err)
					}
				}
			}), "redis-reserve", strategies.Order{Key: w.sku + "/0", SKU: w.sku, Quantity: 2, Customer: misfit})
		}, strategies.ErrUnavailable, books{3, 5, 5, 0}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, told := newWorld(t, 5).alone().counting()
			w.Lease.TTL = time.Millisecond
			if err := checkout(t, w, "redis-reserve", w.order(99, 6)); !errors.Is(err, strategies.ErrSoldOut) {
				t.Fatalf("6 of 5, so that the counter is loaded: %v", err)
			}
			w.keepFloor(t)
			err := row.send(t, w)
			if row.want == nil && (!errors.Is(err, errReplyLost) || errors.Is(err, strategies.ErrUnavailable)) {
				t.Errorf("%v, want an unknown outcome", err)
			}
			if row.want != nil && !errors.Is(err, row.want) {
				t.Errorf("%v, want %v", err, row.want)
			}
			if b := w.books(t); b != row.after {
				t.Errorf("free, floor, stock, reservations: %v, want %v", b, row.after)
			}
			if n := told.of(strategies.Returned); n != row.returned {
				t.Errorf("units were given back %d times, want %d", n, row.returned)
			}
			w.forgetFloor(t)
			if err := checkout(t, w, "redis-reserve", w.order(1, int(row.after.stock))); err != nil {
				t.Errorf("an order for all that is left: %v", err)
			}
			w.forgetFloor(t)
			if err := checkout(t, w, "redis-reserve", w.order(2, 1)); !errors.Is(err, strategies.ErrSoldOut) {
				t.Errorf("one more: %v, want %v", err, strategies.ErrSoldOut)
			}
			w.atRest(t, 0)
		})
	}
}

// keepFloor keeps the floor from expiring, so that a test does not depend on the machine's speed.
func (w world) keepFloor(t *testing.T) {
	t.Helper()
	if err := w.Redis.Persist(t.Context(), w.Prefix+"floor:{"+w.sku+"}").Err(); err != nil {
		t.Fatal(err)
	}
}

// An order stalls before its write, and its client sends it again. Both have the same reservation; the retry is sold, and
// the first finds that its key has an order.
func TestARetryReservesNothingMore(t *testing.T) {
	w := newWorld(t, 5).alone()
	late := w.hold(t, "redis-reserve", "update inventory", w.order(0, 2))
	retry := w.hold(t, "redis-reserve", "update inventory", w.order(0, 2))
	if free, _ := w.counter(t, "free"); free != 3 || len(w.reserved(t)) != 1 {
		t.Errorf("%d units are free and %v is reserved, want 3 and one reservation", free, w.reserved(t))
	}
	w.keysExpire(t)
	if err := retry(); err != nil {
		t.Errorf("the retry: %v", err)
	}
	if err := late(); !errors.Is(err, strategies.ErrDuplicate) {
		t.Errorf("the first: %v, want %v", err, strategies.ErrDuplicate)
	}
	w.atRest(t, 3)
}

// A retry that fails leaves the reservation to the order that made it.
func TestARetryThatFailsGivesNothingBack(t *testing.T) {
	w := newWorld(t, 5)
	first := w.hold(t, "redis-reserve", "update inventory", w.order(0, 2))
	misfit := w.order(0, 2)
	misfit.Customer = string(make([]byte, 1000))
	if err := checkout(t, w, "redis-reserve", misfit); !errors.Is(err, strategies.ErrUnavailable) {
		t.Errorf("the retry: %v, want %v", err, strategies.ErrUnavailable)
	}
	if free, _ := w.counter(t, "free"); free != 3 {
		t.Errorf("%d units are free, want 3", free)
	}
	if err := first(); err != nil {
		t.Error(err)
	}
	w.atRest(t, 3)
}

func TestSoldOutIsAskedOfTheDatabaseOnceAndOfRedisAfterwards(t *testing.T) {
	w := newWorld(t, 7)
	if err := checkout(t, w, "redis-reserve", w.order(0, 4)); err != nil {
		t.Fatal(err)
	}
	w.forgetFloor(t)
	asked := map[string]int{}
	s := strategy(t, "redis-reserve", w.watched(t, 2, func(step string) { asked[step]++ }))
	for n := range 50 {
		if _, err := checkoutObserved(t.Context(), s, w.order(1+n, 4)); !errors.Is(err, strategies.ErrSoldOut) {
			t.Errorf("4 of 3: %v, want %v", err, strategies.ErrSoldOut)
		}
		w.keepFloor(t)
	}
	// The first order loads and looks again.
	if want := map[string]int{"reserve": 51, "select inventory": 1, "load": 1}; !maps.Equal(asked, want) {
		t.Errorf("50 orders took the steps %v, want %v", asked, want)
	}
	if _, err := s.Checkout(t.Context(), w.order(51, 3)); err != nil {
		t.Errorf("3 of 3: %v", err)
	}
	if _, err := s.Checkout(t.Context(), w.order(52, 1)); !errors.Is(err, strategies.ErrSoldOut) {
		t.Errorf("1 of 0: %v, want %v", err, strategies.ErrSoldOut)
	}
	if asked["select inventory"] != 1 {
		t.Errorf("the database was asked %d times for what is left, want once: a sale lowers the floor", asked["select inventory"])
	}
}

func TestTheFloorExpires(t *testing.T) {
	w := newWorld(t, 1)
	for n := range 2 {
		if err := checkout(t, w, "redis-reserve", w.order(n, 1)); (err == nil) != (n == 0) {
			t.Fatal(err)
		}
	}
	if life, err := w.Redis.PTTL(t.Context(), w.Prefix+"floor:{"+w.sku+"}").Result(); err != nil || life <= 0 || life > time.Second {
		t.Errorf("the floor lives for %v (%v), want at most a second", life, err)
	}
	w.keepFloor(t)
	w.exec(t, `UPDATE inventory SET stock = stock + 3 WHERE sku = ?`, w.sku) // a delivery
	if err := checkout(t, w, "redis-reserve", w.order(2, 1)); !errors.Is(err, strategies.ErrSoldOut) {
		t.Errorf("before anybody can know of the delivery: %v, want %v", err, strategies.ErrSoldOut)
	}
	w.forgetFloor(t)
	if err := checkout(t, w, "redis-reserve", w.order(3, 3)); err != nil {
		t.Errorf("after the delivery: %v", err)
	}
}

// Units that may be given up soon must be looked for then, and not when the floor has lived its full second.
func TestTheFloorExpiresWithTheFirstReservation(t *testing.T) {
	w := newWorld(t, 5)
	w.Lease.TTL = 500 * time.Millisecond
	w.hold(t, "redis-reserve", "update inventory", w.order(0, 2))
	w.forgetFloor(t)
	if err := checkout(t, w, "redis-reserve", w.order(1, 6)); !errors.Is(err, strategies.ErrSoldOut) {
		t.Errorf("6 of 5: %v, want %v", err, strategies.ErrSoldOut)
	}
	if life, err := w.Redis.PTTL(t.Context(), w.Prefix+"floor:{"+w.sku+"}").Result(); err != nil || life > w.Lease.TTL && len(w.reserved(t)) == 1 {
		t.Errorf("the floor lives for %v (%v), want at most %v, as the reservation", life, err, w.Lease.TTL)
	}
}

func TestUnitsThatAreOnlyReserved(t *testing.T) {
	for name, row := range map[string]struct {
		wait  time.Duration
		first func(*world) // what happens to the order that has the last unit, after the second looked twice
		want  error
		sold  int64
	}{
		"are sold to the next order if the first fails": {time.Minute, func(w *world) {
			if _, err := w.DB.ExecContext(context.Background(), `INSERT INTO orders
				(sku, quantity, position, customer, idempotency_key, fence, replica, created_at)
				VALUES ('another', 1, 1, 'c', ?, 0, 'test', NOW(6))`, w.order(0, 1).Key); err != nil {
				panic(err)
			}
		}, nil, 1},
		"are sold out once the first is sold":                  {time.Minute, func(*world) {}, strategies.ErrSoldOut, 1},
		"are contended if the first does not end within reach": {20 * time.Millisecond, nil, strategies.ErrContended, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.Lease.TTL = time.Minute
			first := w.hold(t, "redis-reserve", "update inventory", w.order(0, 1))
			w.Lease.Wait = row.wait
			looked := make(chan struct{}, 1000)
			w.Tell = func(_ context.Context, e strategies.Event) {
				if e.Kind == strategies.LookedAgain {
					looked <- struct{}{}
				}
			}
			second := make(chan error, 1)
			go func() { second <- checkout(t, w, "redis-reserve", w.order(1, 1)) }()
			<-looked
			<-looked
			if row.first != nil {
				row.first(&w)
				_ = first()
			}
			if err := <-second; !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
				t.Errorf("the second order: %v, want %v", err, row.want)
			}
			_ = first()
			if sold := w.soldUnits(t); sold != row.sold {
				t.Errorf("%d units are sold, want %d", sold, row.sold)
			}
		})
	}
}

// One order loads while another, which has reserved 2 of 5 units, is sold. Whatever the first has read of the second, the
// counter and the floor must come out right.
func TestALoadDuringASale(t *testing.T) {
	for name, row := range map[string]struct {
		seller, loader string // the steps before which they are held, one after the other; "" for not at all
	}{
		"which is committed and settled after the read":                 {"update inventory", "load"},
		"which is committed before the read and settled after the load": {"settle", ""},
		"which is committed before the read and settled after it":       {"settle", "load"},
		"which is committed and settled before the read":                {"update inventory", "select inventory"},
		"which is committed and settled after the load":                 {"update inventory", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 5)
			seller := w.hold(t, "redis-reserve", row.seller, w.order(0, 2))
			w.forgetFloor(t)
			load := func() error { return checkout(t, w, "redis-reserve", w.order(1, 6)) }
			if row.loader != "" {
				load = w.hold(t, "redis-reserve", row.loader, w.order(1, 6))
				if err := seller(); err != nil {
					t.Error(err)
				}
			}
			if err := load(); !errors.Is(err, strategies.ErrSoldOut) {
				t.Errorf("6 of 5: %v, want %v", err, strategies.ErrSoldOut)
			}
			if err := seller(); err != nil {
				t.Error(err)
			}
			w.atRest(t, 3)
		})
	}
}

// An order is sold and stalls before it settles its reservation. Redis loses its memory, and the order's key gets another
// reservation by a retry. The first must not settle that: the load has counted its sale, and a floor that is lowered twice
// would call units sold out that are there.
func TestAReservationIsSettledByItsOwnerOnly(t *testing.T) {
	w := newWorld(t, 5).alone()
	first := w.hold(t, "redis-reserve", "settle", w.order(0, 1))
	w.forget(t)
	retry := w.hold(t, "redis-reserve", "update inventory", w.order(0, 1))
	w.keepFloor(t)
	if err := first(); err != nil {
		t.Error(err)
	}
	if b, want := w.books(t), (books{3, 4, 4, 1}); b != want {
		t.Errorf("free, floor, stock, reservations: %v, want %v", b, want)
	}
	if err := retry(); !errors.Is(err, strategies.ErrDuplicate) {
		t.Errorf("the retry: %v, want %v", err, strategies.ErrDuplicate)
	}
	w.atRest(t, 4)
}

// A counter that drifted sells neither too much nor too little, and nobody is told sold out while there are units.
func TestACounterThatDriftedHeals(t *testing.T) {
	for _, free := range []int{-7, 0, 4, 4000} {
		t.Run(fmt.Sprintf("%d instead of 10", free), func(t *testing.T) {
			w := newWorld(t, 10)
			if err := checkout(t, w, "redis-reserve", w.order(0, 11)); !errors.Is(err, strategies.ErrSoldOut) {
				t.Fatal(err)
			}
			if err := w.Redis.Set(t.Context(), w.Prefix+"free:{"+w.sku+"}", free, time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
			w.forgetFloor(t)
			if sold := contend(t, w, strategy(t, "redis-reserve", w), 40, 8); sold != 10 {
				t.Errorf("%d units acknowledged, want 10", sold)
			}
			if sold := w.soldUnits(t); sold != 10 {
				t.Errorf("the ledger has %d units, want 10", sold)
			}
			if err := checkout(t, w, "redis-reserve", w.order(50, 1)); !errors.Is(err, strategies.ErrSoldOut) {
				t.Errorf("one more: %v, want %v", err, strategies.ErrSoldOut)
			}
			w.atRest(t, 0)
		})
	}
}

// Everything at once: orders and their retries die at any step, Redis loses its memory, its replies and single keys. No
// unit is sold twice, whoever is told sold out is told the truth, and in the end every unit is sold.
func TestTroubleEverywhere(t *testing.T) {
	const stock, orders, goroutines = 40, 160, 8
	w := newWorld(t, stock).alone()
	w.Lease.TTL, w.Lease.Wait = 20*time.Millisecond, 100*time.Millisecond
	for round := range uint64(5) {
		w := w.restocked(t, stock)
		w.Prefix += fmt.Sprint(round, ":")
		var sold, refused atomic.Int64
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(round, 3))
		draw := func(n int) int { mu.Lock(); defer mu.Unlock(); return random.IntN(n) }
		watched := w.watched(t, goroutines, func(string) {
			switch draw(150) {
			case 0:
				w.forget(t)
			case 1, 2, 3:
				for key := range w.keys(t) { // one of them, such as an eviction would take
					w.Redis.Del(context.WithoutCancel(t.Context()), key)
					break
				}
			}
		})
		watched.Redis.(*redis.Client).AddHook(lossyReply(func(string) bool { return draw(40) == 0 }))
		s := strategy(t, "redis-reserve", watched)
		broken := strategy(t, "redis-reserve", watched.losingCommits(t, round%2 == 0))
		var next atomic.Int64
		var done sync.WaitGroup
		for range goroutines {
			done.Go(func() {
				for n := next.Add(1); n <= orders; n = next.Add(1) {
					o := w.order(int(n)/2, 1+int(n)/2%3) // every key is sent twice
					ctx, cancel := context.WithCancel(t.Context())
					use := s
					switch draw(8) {
					case 0:
						use = broken
					case 1:
						ctx, cancel = context.WithTimeout(t.Context(), time.Duration(draw(3000))*time.Microsecond)
					}
					_, err := checkoutObserved(ctx, use, o)
					cancel()
					switch {
					case err == nil:
						sold.Add(int64(o.Quantity))
					case errors.Is(err, strategies.ErrSoldOut):
						refused.Add(1)
						if left := w.stock(t); left >= int64(o.Quantity) {
							t.Errorf("order %d for %d was told sold out, and %d are left: %v", n, o.Quantity, left, err)
						}
					}
				}
			})
		}
		done.Wait()
		if got := w.soldUnits(t); got < sold.Load() || got+w.stock(t) != stock {
			t.Errorf("%d units are acknowledged, %d in the ledger and %d left of %d", sold.Load(), got, w.stock(t), stock)
		}
		t.Logf("%d units sold, %d orders refused", sold.Load(), refused.Load())
		w.Lease.Wait = 5 * time.Second
		w.sellsTheRest(t, strategy(t, "redis-reserve", w), stock, true)
	}
}
