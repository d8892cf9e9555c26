package strategies_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/stack"
	"github.com/hotsku/hotsku/target/stack/stacktest"
)

func TestMain(m *testing.M) {
	target.LogRedis(slog.New(slog.DiscardHandler))
	stacktest.Main(m)
}

// world is a real database and a real Redis, with a SKU of the test's own.
type world struct {
	strategies.Env
	sku       string
	unordered bool // the strategy under test gives no positions
}

// patient, behind the address of Redis, gives every command a minute: longer than the slowest machine needs.
const patient = "?read_timeout=1m"

// patientDSN is the database's address, by which a statement may take a minute, too, also one that waits for a row's lock.
func patientDSN(t testing.TB) string {
	t.Helper()
	return stacktest.Start(t).DSN() + "&readTimeout=1m&innodb_lock_wait_timeout=60"
}

// newWorld puts stock units of a fresh SKU on sale.
func newWorld(t testing.TB, stock int) world {
	t.Helper()
	s := stacktest.Start(t)
	db, err := target.OpenDatabase(patientDSN(t), 32, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := target.OpenRedis(s.Redis().URL()+patient, 64, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(db.Close(), client.Close()); err != nil {
			t.Error(err)
		}
	})
	nodes := nodesOf(t, s.Redis())
	if err := target.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	w := world{sku: fmt.Sprintf("test-%d", time.Now().UnixNano()), Env: strategies.Env{
		DB: db, Redis: client, Nodes: nodes, Prefix: s.KeyPrefix(), Replica: "test",
		// However slow the machine, every order gets its turn, also after a release that failed.
		Lease: strategies.LeaseSettings{TTL: 15 * time.Second, Wait: time.Minute, Retry: 2 * time.Millisecond},
		Log:   slog.New(slog.DiscardHandler),
	}}
	w.exec(t, `INSERT INTO inventory (sku, stock) VALUES (?, ?)`, w.sku, stock)
	return w
}

// nodesOf stands in for five independent Redis processes by five databases of one. They cannot be lost one by one.
func nodesOf(t testing.TB, config stack.RedisConfig) (nodes []redis.UniversalClient) {
	t.Helper()
	for n := range 5 {
		config.DB = n + 1
		node, err := target.OpenRedis(config.URL()+patient, 64, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := node.Close(); err != nil {
				t.Error(err)
			}
		})
		nodes = append(nodes, node)
	}
	return nodes
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

// left returns what the strategy says is left and sold, or what the inventory row says if that is where it keeps the stock.
func (w world) left(t testing.TB, s strategies.Strategy) (left, sold int64) {
	t.Helper()
	keeper, ok := s.(strategies.StockKeeper)
	if !ok {
		return w.stock(t), w.number(t, `SELECT sold FROM inventory WHERE sku = ?`, w.sku)
	}
	left, sold, err := keeper.Stock(context.WithoutCancel(t.Context()), w.sku)
	if err != nil {
		t.Fatal(err)
	}
	return left, sold
}

// position returns what the receipt of an order must say that took the n-th unit last.
func (w world) position(n int64) int64 {
	if w.unordered {
		return 0
	}
	return n
}

// start makes a strategy, whose work in the background ends with the test.
func start(t testing.TB, info strategies.Info, e strategies.Env) strategies.Strategy {
	t.Helper()
	s, err := info.New(e)
	if err != nil {
		t.Fatal(err)
	}
	if background, ok := s.(io.Closer); ok {
		t.Cleanup(func() {
			if err := background.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return s
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
			if err != nil || r.Position != w.position(want.position) || r.ID == 0 {
				t.Fatalf("order %d: receipt %+v, error %v; want the position %d", n, r, err, w.position(want.position))
			}
		}
		if left, sold := w.left(t, s); left != 2 || sold != 8 {
			t.Errorf("the inventory says %d left and %d sold, want 2 and 8", left, sold)
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
		if left, sold := w.left(t, s); left != 0 || sold != 2 {
			t.Errorf("%d left and %d sold, want 0 and 2", left, sold)
		}
	}},
	{"a sale writes its order and both outbox rows", 5, func(t *testing.T, w world, s strategies.Strategy) {
		r, err := s.Checkout(t.Context(), w.order(0, 2))
		if err != nil {
			t.Fatal(err)
		}
		if n := w.number(t, `SELECT COUNT(*) FROM orders WHERE id = ? AND sku = ? AND quantity = 2 AND position = ?
			AND customer = 'customer-1' AND idempotency_key = ? AND fence = ? AND replica = 'test' AND created_at = ?`,
			r.ID, w.sku, w.position(2), w.order(0, 2).Key, r.Fence, r.Created); n != 1 {
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
		if left, _ := w.left(t, s); left != 4 || w.soldUnits(t) != 1 {
			t.Errorf("%d left and %d sold, want 4 and 1", left, w.soldUnits(t))
		}
	}},
	{"a SKU that is not there is unknown, not sold out", 5, func(t *testing.T, w world, s strategies.Strategy) {
		o := w.order(0, 1)
		o.SKU += "-not"
		if _, err := s.Checkout(t.Context(), o); !errors.Is(err, strategies.ErrUnknownSKU) {
			t.Errorf("%v, want %v", err, strategies.ErrUnknownSKU)
		}
		if keeper, ok := s.(strategies.StockKeeper); ok {
			if _, _, err := keeper.Stock(t.Context(), o.SKU); !errors.Is(err, strategies.ErrUnknownSKU) {
				t.Errorf("its stock: %v, want %v", err, strategies.ErrUnknownSKU)
			}
		}
	}},
	{"a request that is cancelled before COMMIT sells nothing", 5, func(t *testing.T, w world, s strategies.Strategy) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Checkout(ctx, w.order(0, 1))
		if !errors.Is(err, strategies.ErrUnavailable) && !errors.Is(err, strategies.ErrContended) {
			t.Errorf("%v, want an error that means surely not sold", err)
		}
		if left, _ := w.left(t, s); left != 5 || w.soldUnits(t) != 0 {
			t.Errorf("%d left and %d sold, want 5 and 0", left, w.soldUnits(t))
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
		for _, table := range []string{"inventory", "units", "buckets"} {
			if _, err := tx.ExecContext(t.Context(), `SELECT * FROM `+table+` WHERE sku = ? FOR UPDATE NOWAIT`, w.sku); err != nil {
				t.Errorf("a row of %s is locked: %v", table, err)
			}
		}
	}},
}

func TestEveryStrategyObeysTheRules(t *testing.T) {
	for _, info := range strategies.All() {
		t.Run(info.Name, func(t *testing.T) {
			for _, rule := range rules {
				t.Run(rule.name, func(t *testing.T) {
					w := newWorld(t, rule.stock)
					w.unordered = info.Unordered
					rule.check(t, w, start(t, info, w.Env))
				})
			}
		})
	}
}

// served is what became of an order, and between which moments.
type served struct {
	quantity  int
	sent, end time.Time
	err       error
}

// crowd sends an order for each of the quantities, from so many goroutines at once.
func crowd(t *testing.T, w world, s strategies.Strategy, quantities []int, goroutines int) []served {
	t.Helper()
	all := make([]served, len(quantities))
	var done sync.WaitGroup
	next := make(chan int)
	for range goroutines {
		done.Go(func() {
			for n := range next {
				o := served{quantity: quantities[n], sent: time.Now()}
				_, o.err = s.Checkout(t.Context(), w.order(n, o.quantity))
				o.end = time.Now()
				all[n] = o
			}
		})
	}
	for n := range quantities {
		next <- n
	}
	close(next)
	done.Wait()
	for n, o := range all {
		if o.err != nil && !errors.Is(o.err, strategies.ErrSoldOut) {
			t.Errorf("order %d: %v", n, o.err)
		}
	}
	return all
}

// contend sends orders for one unit each from so many goroutines at once, and returns how many were sold.
func contend(t *testing.T, w world, s strategies.Strategy, orders, goroutines int) (sold int) {
	t.Helper()
	for _, o := range crowd(t, w, s, slices.Repeat([]int{1}, orders), goroutines) {
		if o.err == nil {
			sold++
		}
	}
	return sold
}

func TestSafeStrategiesSellTheStockAndNoMore(t *testing.T) {
	for _, info := range strategies.All() {
		if !info.Safe {
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			w := newWorld(t, 100)
			s := start(t, info, w.Env)
			if sold := contend(t, w, s, 200, 16); sold != 100 {
				t.Errorf("%d of 100 units acknowledged as sold", sold)
			}
			if left, _ := w.left(t, s); left != 0 || w.soldUnits(t) != 100 {
				t.Errorf("the ledger has %d units and %d are left, want 100 and 0", w.soldUnits(t), left)
			}
		})
	}
}

// The orders for one unit, of which there are more than enough, must take what the others leave. Whoever was told sold out
// must have been told the truth: so much must have been asked for by then, and been sold, that too little can have been left.
func TestSafeStrategiesSellTheStockInMixedQuantities(t *testing.T) {
	const stock = 120
	var quantities []int
	for n := range 160 {
		quantities = append(quantities, 1+n%5)
	}
	for _, info := range strategies.All() {
		if !info.Safe {
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			w := newWorld(t, stock)
			s := start(t, info, w.Env)
			all := crowd(t, w, s, quantities, 16)
			acknowledged := 0
			for _, o := range all {
				if o.err == nil {
					acknowledged += o.quantity
				}
			}
			if left, _ := w.left(t, s); acknowledged != stock || left != 0 || w.soldUnits(t) != stock {
				t.Errorf("%d units acknowledged, %d in the ledger, %d left; want %d, %[4]d and 0", acknowledged, w.soldUnits(t), left, stock)
			}
			for n, o := range all {
				if most := soldBy(all, o.end); o.err != nil && most <= stock-o.quantity {
					t.Errorf("order %d for %d was told sold out when at most %d of %d units can have been sold", n, o.quantity, most, stock)
				}
			}
		})
	}
}

// soldBy returns how many units can have been sold at most by a moment: those of all sold orders that were sent by then.
func soldBy(all []served, moment time.Time) (units int) {
	for _, o := range all {
		if o.err == nil && !o.sent.After(moment) {
			units += o.quantity
		}
	}
	return units
}

// Customers press the button twice, and proxies send again.
func TestSafeStrategiesSellOnceToOrdersOfOneKeyThatComeTogether(t *testing.T) {
	for _, info := range strategies.All() {
		if !info.Safe {
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			w := newWorld(t, 100)
			s := start(t, info, w.Env)
			var sold atomic.Int64
			var done sync.WaitGroup
			for range 8 {
				done.Go(func() {
					switch _, err := s.Checkout(t.Context(), w.order(0, 2)); {
					case err == nil:
						sold.Add(1)
					case !errors.Is(err, strategies.ErrDuplicate) && !errors.Is(err, strategies.ErrContended):
						t.Errorf("%v, want %v", err, strategies.ErrDuplicate)
					}
				})
			}
			done.Wait()
			if left, _ := w.left(t, s); sold.Load() != 1 || left != 98 || w.soldUnits(t) != 2 {
				t.Errorf("sold %d times, %d units in the ledger, %d left; want 1, 2 and 98", sold.Load(), w.soldUnits(t), left)
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
	contend(t, w, start(t, info, w.Env), 400, 16)
	if sold, left := w.soldUnits(t), w.stock(t); sold <= 50 || left < 0 {
		t.Errorf("the ledger has %d units of 50 and the row says %d: the control did not oversell, or not in silence", sold, left)
	}
}

func TestRedisGoneMeansUnavailableAndFast(t *testing.T) {
	gone := goneRedis(t)
	for _, info := range strategies.All() {
		w := newWorld(t, 5)
		w.Env.Redis = gone
		for n := range w.Env.Nodes {
			w.Env.Nodes[n] = gone
		}
		_, err := start(t, info, w.Env).Checkout(t.Context(), w.order(0, 1))
		if info.Redis && !errors.Is(err, strategies.ErrUnavailable) {
			t.Errorf("%s: %v, want %v", info.Name, err, strategies.ErrUnavailable)
		}
		if !info.Redis && err != nil {
			t.Errorf("%s does without Redis, yet: %v", info.Name, err)
		}
	}
}

func TestDatabaseGoneMeansUnavailable(t *testing.T) {
	for _, info := range strategies.All() {
		t.Run(info.Name, func(t *testing.T) {
			w := newWorld(t, 5)
			s := start(t, info, w.Env)
			if _, err := s.Checkout(t.Context(), w.order(0, 6)); !errors.Is(err, strategies.ErrSoldOut) {
				t.Errorf("6 of 5: %v, want %v", err, strategies.ErrSoldOut)
			}
			if err := w.DB.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Checkout(t.Context(), w.order(1, 1)); !errors.Is(err, strategies.ErrUnavailable) {
				t.Errorf("%v, want %v", err, strategies.ErrUnavailable)
			}
			if keeper, ok := s.(strategies.StockKeeper); ok {
				if _, _, err := keeper.Stock(t.Context(), w.sku); !errors.Is(err, strategies.ErrUnavailable) {
					t.Errorf("its stock: %v, want %v", err, strategies.ErrUnavailable)
				}
			}
		})
	}
}
