package strategies_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/stack/stacktest"
)

func TestMain(m *testing.M) { stacktest.Main(m) }

// world is a real database and a real Redis, with a SKU of the test's own.
type world struct {
	strategies.Env
	sku string
}

// newWorld puts stock units of a fresh SKU on sale.
func newWorld(t testing.TB, stock int) world {
	t.Helper()
	s := stacktest.Start(t)
	db, err := target.OpenDatabase(s.DSN(), 32, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := target.OpenRedis(s.Redis().URL()+"?read_timeout=1m", 64, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(db.Close(), client.Close()); err != nil {
			t.Error(err)
		}
	})
	if err := target.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	w := world{sku: fmt.Sprintf("test-%d", time.Now().UnixNano()), Env: strategies.Env{
		DB: db, Redis: client, Prefix: s.KeyPrefix(), Replica: "test",
		// However slow the machine, every order gets its turn.
		Lease: strategies.LeaseSettings{TTL: time.Minute, Wait: time.Minute, Retry: 2 * time.Millisecond},
		Log:   slog.New(slog.DiscardHandler),
	}}
	w.exec(t, `INSERT INTO inventory (sku, stock) VALUES (?, ?)`, w.sku, stock)
	return w
}

func (w world) exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := w.DB.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// number returns the one number that a query finds.
func (w world) number(t testing.TB, query string, args ...any) (n int64) {
	t.Helper()
	if err := w.DB.QueryRowContext(context.WithoutCancel(t.Context()), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (w world) order(n, quantity int) strategies.Order {
	return strategies.Order{Key: fmt.Sprintf("%s/%d", w.sku, n), SKU: w.sku, Quantity: quantity, Customer: "customer-1"}
}

func (w world) stock(t testing.TB) int64 {
	return w.number(t, `SELECT stock FROM inventory WHERE sku = ?`, w.sku)
}

func (w world) soldUnits(t testing.TB) int64 {
	return w.number(t, `SELECT COALESCE(SUM(quantity), 0) FROM orders WHERE sku = ?`, w.sku)
}

// rules are what every strategy must do, safe or not, as long as nothing is broken and one order comes at a time. Each
// is named by the rule that a failure breaks.
var rules = []struct {
	name  string
	stock int
	check func(*testing.T, world, strategies.Strategy)
}{
	{"units are taken from the stock and positions count units", 10, func(t *testing.T, w world, s strategies.Strategy) {
		for n, want := range []struct{ quantity, position int64 }{{3, 3}, {1, 4}, {4, 8}} {
			r, err := s.Checkout(t.Context(), w.order(n, int(want.quantity)))
			if err != nil || r.Position != want.position || r.ID == 0 {
				t.Fatalf("order %d: receipt %+v, error %v; want the position %d", n, r, err, want.position)
			}
		}
		if left, sold := w.stock(t), w.number(t, `SELECT sold FROM inventory WHERE sku = ?`, w.sku); left != 2 || sold != 8 {
			t.Errorf("the inventory row says %d left and %d sold, want 2 and 8", left, sold)
		}
	}},
	{"an order for more than is left is sold out, and a smaller one is not", 2, func(t *testing.T, w world, s strategies.Strategy) {
		if _, err := s.Checkout(t.Context(), w.order(0, 3)); !errors.Is(err, strategies.ErrSoldOut) {
			t.Errorf("3 of 2: %v, want %v", err, strategies.ErrSoldOut)
		}
		if _, err := s.Checkout(t.Context(), w.order(1, 2)); err != nil {
			t.Errorf("2 of 2: %v", err)
		}
		if _, err := s.Checkout(t.Context(), w.order(2, 1)); !errors.Is(err, strategies.ErrSoldOut) {
			t.Errorf("1 of 0: %v, want %v", err, strategies.ErrSoldOut)
		}
		if left := w.stock(t); left != 0 {
			t.Errorf("%d left, want 0", left)
		}
	}},
	{"a sale writes its order and both outbox rows", 5, func(t *testing.T, w world, s strategies.Strategy) {
		r, err := s.Checkout(t.Context(), w.order(0, 2))
		if err != nil {
			t.Fatal(err)
		}
		if n := w.number(t, `SELECT COUNT(*) FROM orders WHERE id = ? AND sku = ? AND quantity = 2 AND position = 2
			AND customer = 'customer-1' AND idempotency_key = ? AND fence = ? AND replica = 'test' AND created_at = ?`,
			r.ID, w.sku, w.order(0, 2).Key, r.Fence, r.Created); n != 1 {
			t.Errorf("%d rows match the receipt %+v, want 1", n, r)
		}
		if n := w.number(t, `SELECT COUNT(DISTINCT kind) FROM outbox WHERE order_id = ? AND state = 'waiting'`, r.ID); n != 2 {
			t.Errorf("%d kinds of outbox rows, want payment and mail", n)
		}
	}},
	{"a second order with one key sells nothing", 5, func(t *testing.T, w world, s strategies.Strategy) {
		if _, err := s.Checkout(t.Context(), w.order(0, 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Checkout(t.Context(), w.order(0, 1)); !errors.Is(err, strategies.ErrDuplicate) {
			t.Errorf("again: %v, want %v", err, strategies.ErrDuplicate)
		}
		if left, sold := w.stock(t), w.soldUnits(t); left != 4 || sold != 1 {
			t.Errorf("%d left and %d sold, want 4 and 1", left, sold)
		}
	}},
	{"a SKU that is not there is unknown, not sold out", 5, func(t *testing.T, w world, s strategies.Strategy) {
		o := w.order(0, 1)
		o.SKU += "-not"
		if _, err := s.Checkout(t.Context(), o); !errors.Is(err, strategies.ErrUnknownSKU) {
			t.Errorf("%v, want %v", err, strategies.ErrUnknownSKU)
		}
	}},
	{"a request that is cancelled before COMMIT sells nothing", 5, func(t *testing.T, w world, s strategies.Strategy) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Checkout(ctx, w.order(0, 1))
		if !errors.Is(err, strategies.ErrUnavailable) && !errors.Is(err, strategies.ErrContended) {
			t.Errorf("%v, want an error that means surely not sold", err)
		}
		if left, sold := w.stock(t), w.soldUnits(t); left != 5 || sold != 0 {
			t.Errorf("%d left and %d sold, want 5 and 0", left, sold)
		}
	}},
	{"nothing is left locked, whatever the outcome", 1, func(t *testing.T, w world, s strategies.Strategy) {
		for n := range 3 { // sold, sold out, sold out
			if _, err := s.Checkout(t.Context(), w.order(n, 1)); (err == nil) != (n == 0) {
				t.Errorf("order %d: %v", n, err)
			}
		}
		keys, err := w.Redis.Keys(t.Context(), w.Prefix+"lease:{"+w.sku+"}*").Result()
		if err != nil || len(keys) != 0 {
			t.Errorf("keys left in Redis: %v, %v", keys, err)
		}
		tx, err := w.DB.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(t.Context(), `SELECT stock FROM inventory WHERE sku = ? FOR UPDATE NOWAIT`, w.sku); err != nil {
			t.Errorf("the inventory row is locked: %v", err)
		}
	}},
}

func TestEveryStrategyObeysTheRules(t *testing.T) {
	for _, info := range strategies.All() {
		t.Run(info.Name, func(t *testing.T) {
			for _, rule := range rules {
				t.Run(rule.name, func(t *testing.T) {
					w := newWorld(t, rule.stock)
					s, err := info.New(w.Env)
					if err != nil {
						t.Fatal(err)
					}
					rule.check(t, w, s)
				})
			}
		})
	}
}

// contend sends orders for one unit each from so many goroutines at once, and returns how many were sold.
func contend(t *testing.T, w world, s strategies.Strategy, orders, goroutines int) (sold int) {
	t.Helper()
	var mu sync.Mutex
	var done sync.WaitGroup
	next := make(chan int)
	for range goroutines {
		done.Go(func() {
			for n := range next {
				_, err := s.Checkout(t.Context(), w.order(n, 1))
				mu.Lock()
				switch {
				case err == nil:
					sold++
				case !errors.Is(err, strategies.ErrSoldOut):
					t.Errorf("order %d: %v", n, err)
				}
				mu.Unlock()
			}
		})
	}
	for n := range orders {
		next <- n
	}
	close(next)
	done.Wait()
	return sold
}

func TestSafeStrategiesSellTheStockAndNoMore(t *testing.T) {
	for _, info := range strategies.All() {
		if !info.Safe {
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			w := newWorld(t, 100)
			s, err := info.New(w.Env)
			if err != nil {
				t.Fatal(err)
			}
			if sold := contend(t, w, s, 200, 16); sold != 100 {
				t.Errorf("%d of 100 units acknowledged as sold", sold)
			}
			if sold, left := w.soldUnits(t), w.stock(t); sold != 100 || left != 0 {
				t.Errorf("the ledger has %d units and the row %d, want 100 and 0", sold, left)
			}
		})
	}
}

func TestNoGuardOversells(t *testing.T) {
	info, err := strategies.Get("none")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, 50)
	s, err := info.New(w.Env)
	if err != nil {
		t.Fatal(err)
	}
	contend(t, w, s, 400, 16)
	if sold, left := w.soldUnits(t), w.stock(t); sold <= 50 || left < 0 {
		t.Errorf("the ledger has %d units of 50 and the row says %d: the control did not oversell, or not in silence", sold, left)
	}
}

func TestRedisGoneMeansUnavailableAndFast(t *testing.T) {
	w := newWorld(t, 5)
	gone := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1, DialTimeout: 200 * time.Millisecond})
	defer gone.Close()
	w.Env.Redis = gone
	for _, info := range strategies.All() {
		s, err := info.New(w.Env)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Checkout(t.Context(), strategies.Order{Key: w.sku + info.Name, SKU: w.sku, Quantity: 1, Customer: "c"})
		if info.Redis && !errors.Is(err, strategies.ErrUnavailable) {
			t.Errorf("%s: %v, want %v", info.Name, err, strategies.ErrUnavailable)
		}
		if !info.Redis && err != nil {
			t.Errorf("%s does without Redis, yet: %v", info.Name, err)
		}
	}
}
