package strategies_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/steps"
)

// A stand sends orders to the strategy batch one behind the other, and sees every step that is taken for them. A step is
// called by the number of the order for which it is taken, and by its name: "0: begin".
type stand struct {
	world
	strategy strategies.Strategy
	pool     *sql.DB // the strategy's

	mu     sync.Mutex
	at     map[string]func() // what to do ahead of a step, once
	steps  []string
	merged int // how often the strategy told of it
}

var _ steps.Observer = (*stand)(nil)

func (c *stand) Before(s *steps.Step) {
	step := strings.TrimPrefix(s.Order.Key, c.sku+"/") + ": " + s.Name
	c.mu.Lock()
	c.steps = append(c.steps, step)
	do := c.at[step]
	delete(c.at, step)
	c.mu.Unlock()
	if do != nil {
		do()
	}
}

func (c *stand) After(*steps.Step) {}

// newStand puts stock units on sale. The strategy gets a pool of so many connections.
func newStand(t *testing.T, stock, connections int) *stand {
	t.Helper()
	c := &stand{world: newWorld(t, stock), at: map[string]func(){}}
	var err error
	if c.pool, err = target.OpenDatabase(patientDSN(t), connections, c); err != nil {
		t.Fatal(err)
	}
	own := c.world
	own.DB = c.pool
	own.Tell = func(_ context.Context, e strategies.Event) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if e == (strategies.Event{Kind: strategies.Merged, SKU: c.sku}) {
			c.merged++
		}
	}
	c.strategy = strategy(t, "batch", own)
	t.Cleanup(func() {
		if waiting := strategies.BatchWaiting(c.strategy, c.sku); waiting != -1 {
			t.Errorf("the line of the SKU is still there; %d are waiting", waiting)
		}
		if err := c.pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// hold makes a step wait: reached returns when it is about to be sent, goOn lets it be sent.
func (c *stand) hold(t *testing.T, step string) (reached, goOn func()) {
	t.Helper()
	here, on := make(chan struct{}), make(chan struct{})
	goOn = sync.OnceFunc(func() { close(on) })
	t.Cleanup(goOn)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at[step] = func() { close(here); <-on }
	return func() { t.Helper(); wait(t, here) }, goOn
}

// sent is an order that is under way.
type sent struct {
	strategies.Order
	leave   context.CancelFunc // ends its context
	done    chan struct{}
	receipt strategies.Receipt
	err     error
}

// send sends an order and does not wait for anything.
func (c *stand) send(t *testing.T, o strategies.Order) *sent {
	ctx, cancel := context.WithCancel(t.Context())
	s := &sent{Order: o, leave: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer func() {
			if p := recover(); p != nil {
				s.err = fmt.Errorf("panic: %v", p)
			}
		}()
		s.receipt, s.err = checkoutObserved(ctx, c.strategy, o)
	}()
	return s
}

// queue sends orders one behind the other, the next when the one before stands in the line, which somebody leads.
func (c *stand) queue(t *testing.T, orders ...strategies.Order) (all []*sent) {
	t.Helper()
	waiting := strategies.BatchWaiting(c.strategy, orders[0].SKU)
	for _, o := range orders {
		all = append(all, c.send(t, o))
		waiting++
		await(t, func() bool { return strategies.BatchWaiting(c.strategy, o.SKU) == waiting })
	}
	return all
}

// batch sends orders so that they become one batch, the first of which leads. The steps of the batch are the first one's.
func (c *stand) batch(t *testing.T, orders ...strategies.Order) []*sent {
	t.Helper()
	reached, goOn := c.hold(t, strings.TrimPrefix(orders[0].Key, c.sku+"/")+": begin")
	all := []*sent{c.send(t, orders[0])}
	reached()
	all = append(all, c.queue(t, orders[1:]...)...)
	goOn()
	return all
}

// hang is after how long a test takes something for blocked.
const hang = 20 * time.Second

// await returns when the condition holds.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(hang); !holds(); runtime.Gosched() {
		if time.Now().After(limit) {
			t.Fatal("what was waited for does not come to be")
		}
	}
}

// wait returns when the channel is closed.
func wait(t *testing.T, closed <-chan struct{}) {
	t.Helper()
	select {
	case <-closed:
	case <-time.After(hang):
		t.Fatal("what was waited for does not happen")
	}
}

// position waits for the order and returns its position, or 0 and the error.
func (s *sent) position(t *testing.T) (int64, error) {
	t.Helper()
	wait(t, s.done)
	return s.receipt.Position, s.err
}

// wantPositions waits for orders and compares their positions; 0 stands for sold out. What was sold must stand in the ledger
// as the receipts say, with its outbox rows, and nothing else.
func (c *stand) wantPositions(t *testing.T, orders []*sent, want ...int64) {
	t.Helper()
	var sold int64
	for i, s := range orders {
		position, err := s.position(t)
		if position != want[i] || (err == nil) != (want[i] > 0) || err != nil && !errors.Is(err, strategies.ErrSoldOut) {
			t.Errorf("order %s for %d: position %d, %v; want %d", s.Key, s.Quantity, position, err, want[i])
		}
		if err == nil {
			sold++
			c.wantRows(t, s)
		}
	}
	if n := c.number(t, `SELECT COUNT(*) FROM orders WHERE sku = ?`, c.sku); n != sold {
		t.Errorf("the ledger has %d orders, want %d", n, sold)
	}
}

func (c *stand) wantRows(t *testing.T, s *sent) {
	t.Helper()
	if n := c.number(t, `
		SELECT COUNT(*) FROM orders WHERE id = ? AND sku = ? AND quantity = ? AND position = ? AND customer = ?
		   AND idempotency_key = ? AND fence = 0 AND replica = 'test' AND created_at = ?`,
		s.receipt.ID, s.SKU, s.Quantity, s.receipt.Position, s.Customer, s.Key, s.receipt.Created); n != 1 {
		t.Errorf("%d rows match the receipt %+v of %+v, want 1", n, s.receipt, s.Order)
	}
	if n := c.number(t, `SELECT COUNT(*) FROM outbox WHERE order_id = ? AND state = 'waiting'`, s.receipt.ID); n != 2 {
		t.Errorf("order %s has %d outbox rows, want a payment and a mail", s.Key, n)
	}
}

func (c *stand) wantSteps(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.steps, want) {
		t.Errorf("steps: %q\nwant   %q", c.steps, want)
	}
}

func (c *stand) wantLeft(t *testing.T, want int64) {
	t.Helper()
	if left := c.stock(t); left != want {
		t.Errorf("%d left, want %d", left, want)
	}
}

// surelyNotSold reports whether err is one of those that promise it.
func surelyNotSold(err error) bool {
	return slices.ContainsFunc([]error{strategies.ErrSoldOut, strategies.ErrUnknownSKU, strategies.ErrDuplicate,
		strategies.ErrContended, strategies.ErrFenced, strategies.ErrUnavailable}, func(known error) bool { return errors.Is(err, known) })
}

func TestABatchOfOneTakesTheStepsOfDBConditional(t *testing.T) {
	var want []string
	for _, name := range []string{"db-conditional", "batch"} {
		c := newStand(t, 2, 1)
		env := c.world
		env.DB = c.pool
		s := strategy(t, name, env)
		for n, quantity := range []int{2, 1} { // sold, sold out
			if _, err := checkoutObserved(t.Context(), s, c.order(n, quantity)); (err == nil) != (n == 0) {
				t.Errorf("%s, order %d: %v", name, n, err)
			}
		}
		if name == "db-conditional" {
			want = c.steps
		}
		c.wantSteps(t, want...)
	}
}

func TestOrdersThatComeDuringATransactionAreTheNextBatch(t *testing.T) {
	c := newStand(t, 100, 2)
	reached, goOn := c.hold(t, "0: update inventory")
	orders := []*sent{c.send(t, c.order(0, 1))}
	reached()
	orders = append(orders, c.queue(t, c.order(1, 1), c.order(2, 3), c.order(3, 2), c.order(4, 1), c.order(5, 4))...)
	goOn()
	c.wantPositions(t, orders, 1, 2, 5, 7, 8, 12)
	c.wantLeft(t, 88)
	c.wantSteps(t,
		"0: begin", "0: update inventory", "0: insert orders", "0: insert outbox", "0: commit",
		"1: begin", "1: update inventory", "1: insert orders", "1: select orders", "1: insert outbox", "1: commit")
	if c.merged != 1 {
		t.Errorf("merging was told %d times, want once", c.merged)
	}
}

func TestOrdersThatComeBeforeBEGINIsAnsweredAreInTheBatch(t *testing.T) {
	c := newStand(t, 100, 2)
	orders := c.batch(t, c.order(0, 2), c.order(1, 1), c.order(2, 1))
	c.wantPositions(t, orders, 2, 3, 4)
	c.wantSteps(t, "0: begin", "0: update inventory", "0: insert orders", "0: select orders", "0: insert outbox", "0: commit")
}

func TestABatchIsBounded(t *testing.T) {
	c := newStand(t, 1000, 2)
	reached, goOn := c.hold(t, "0: update inventory")
	orders := []*sent{c.send(t, c.order(0, 1))}
	reached()
	want := []int64{1}
	for n := range strategies.MaxBatch + 2 {
		orders = append(orders, c.queue(t, c.order(n+1, 1))...)
		want = append(want, int64(n+2))
	}
	goOn()
	c.wantPositions(t, orders, want...)
	if n := c.number(t, `SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM orders WHERE sku = ? GROUP BY created_at) AS batch`, c.sku); n != strategies.MaxBatch {
		t.Errorf("the largest batch had %d orders, want %d", n, strategies.MaxBatch)
	}
}

func TestASKUDoesNotWaitForAnother(t *testing.T) {
	c := newStand(t, 5, 2)
	other := newWorld(t, 5)
	reached, goOn := c.hold(t, "0: update inventory")
	held := c.send(t, c.order(0, 1))
	reached()
	if _, err := c.strategy.Checkout(t.Context(), other.order(0, 1)); err != nil {
		t.Errorf("an order for another SKU: %v", err)
	}
	goOn()
	c.wantPositions(t, []*sent{held}, 1)
}

// The ids of one INSERT need not follow each other by one: on a cluster they do not.
func TestReceiptsHaveTheirOwnIDsOnACluster(t *testing.T) {
	c := newStand(t, 100, 1)
	if _, err := c.pool.ExecContext(t.Context(), `SET SESSION auto_increment_increment = 7`); err != nil {
		t.Fatal(err)
	}
	orders := c.batch(t, c.order(0, 1), c.order(1, 1), c.order(2, 1))
	c.wantPositions(t, orders, 1, 2, 3)
	if step := orders[1].receipt.ID - orders[0].receipt.ID; step != 7 {
		t.Errorf("the second id is %d above the first, want 7: the test proves nothing", step)
	}
}

func TestAtTheEdgeOrdersAreSoldInTheOrderOfArrivalToThoseWhoFit(t *testing.T) {
	c := newStand(t, 10, 2)
	orders := c.batch(t, c.order(0, 1), c.order(1, 4), c.order(2, 6), c.order(3, 3), c.order(4, 2), c.order(5, 1))
	c.wantPositions(t, orders, 1, 5, 0, 8, 10, 0)
	c.wantLeft(t, 0)
	for i, want := range map[int]string{2: "5 left", 5: "0 left"} {
		if !strings.Contains(orders[i].err.Error(), want) {
			t.Errorf("order %d: %v, want it to say %q", i, orders[i].err, want)
		}
	}
	c.wantSteps(t, "0: begin", "0: update inventory", "0: select inventory", "0: update inventory", "0: insert orders",
		"0: select orders", "0: insert outbox", "0: commit")
}

func TestOneTransactionTellsAWholeBatchThatItIsSoldOut(t *testing.T) {
	c := newStand(t, 1, 2)
	c.wantPositions(t, c.batch(t, c.order(0, 2), c.order(1, 3), c.order(2, 2), c.order(3, 2)), 0, 0, 0, 0)
	c.wantLeft(t, 1)
	c.wantSteps(t, "0: begin", "0: update inventory", "0: select inventory", "0: rollback")
	if c.merged != 0 {
		t.Errorf("merging was told %d times, though nothing was sold", c.merged)
	}
}

func TestABatchForASKUThatIsNotThereIsUnknownToAll(t *testing.T) {
	c := newStand(t, 1, 2)
	c.sku += "-not"
	for _, s := range c.batch(t, c.order(0, 1), c.order(1, 1)) {
		if _, err := s.position(t); !errors.Is(err, strategies.ErrUnknownSKU) {
			t.Errorf("%s: %v, want %v", s.Key, err, strategies.ErrUnknownSKU)
		}
	}
}

// Between the look at the stock and the sale to those who fit nobody else may change the row.
func TestAtTheEdgeTheRowIsLocked(t *testing.T) {
	for _, level := range []string{"REPEATABLE READ", "READ COMMITTED"} {
		t.Run(level, func(t *testing.T) {
			c := newStand(t, 3, 1)
			if _, err := c.pool.ExecContext(t.Context(), `SET SESSION TRANSACTION ISOLATION LEVEL `+level); err != nil {
				t.Fatal(err)
			}
			looked, lookOn := c.hold(t, "0: select inventory")
			orders := c.batch(t, c.order(0, 2), c.order(1, 2), c.order(2, 1))
			looked()
			again, goOn := c.hold(t, "0: update inventory")
			lookOn()
			again()
			if _, err := c.DB.ExecContext(t.Context(), `SELECT stock FROM inventory WHERE sku = ? FOR UPDATE NOWAIT`, c.sku); err == nil {
				t.Error("another transaction got the row's lock")
			}
			goOn()
			c.wantPositions(t, orders, 2, 0, 3)
		})
	}
}

func TestOnlyTheDuplicatesOfABatchAreRefused(t *testing.T) {
	for name, row := range map[string]struct {
		before []int // the numbers of the orders that are in the ledger already
		batch  []int // of those that come as one batch
		want   []int64
		steps  []string // of the batch and what follows it
	}{
		"one in the ledger": {
			before: []int{2}, batch: []int{0, 1, 2, 3}, want: []int64{2, 3, 0, 4},
			steps: []string{
				"0: begin", "0: update inventory", "0: insert orders", "0: rollback", "0: select orders",
				"0: begin", "0: update inventory", "0: insert orders", "0: select orders", "0: insert outbox", "0: commit",
			},
		},
		"the first": {
			before: []int{0}, batch: []int{0, 1}, want: []int64{0, 2},
			steps: []string{
				"0: begin", "0: update inventory", "0: insert orders", "0: rollback", "0: select orders",
				"0: begin", "0: update inventory", "0: insert orders", "0: insert outbox", "0: commit",
			},
		},
		"all": {
			before: []int{0, 1}, batch: []int{0, 1}, want: []int64{0, 0},
			steps: []string{"0: begin", "0: update inventory", "0: insert orders", "0: rollback", "0: select orders"},
		},
		"two of one key": {
			batch: []int{0, 1, 1, 2}, want: []int64{1, 2, 0, 3},
			steps: []string{
				"0: begin", "0: update inventory", "0: insert orders", "0: select orders", "0: insert outbox", "0: commit",
				"1: begin", "1: update inventory", "1: insert orders", "1: rollback",
			},
		},
		"the first, twice": {
			batch: []int{0, 0}, want: []int64{1, 0},
			steps: []string{
				"0: begin", "0: update inventory", "0: insert orders", "0: insert outbox", "0: commit",
				"0: begin", "0: update inventory", "0: insert orders", "0: rollback",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newStand(t, 10, 2)
			for _, n := range row.before {
				if _, err := c.strategy.Checkout(t.Context(), c.order(n, 1)); err != nil {
					t.Fatal(err)
				}
			}
			var orders []strategies.Order
			for _, n := range row.batch {
				orders = append(orders, c.order(n, 1))
			}
			c.wantDuplicates(t, c.batch(t, orders...), row.want)
			c.wantSteps(t, row.steps...)
		})
	}
}

// wantDuplicates waits for orders and compares their positions; 0 stands for a duplicate.
func (c *stand) wantDuplicates(t *testing.T, orders []*sent, want []int64) {
	t.Helper()
	for i, s := range orders {
		position, err := s.position(t)
		if position != want[i] || (err == nil) != (want[i] > 0) || err != nil && !errors.Is(err, strategies.ErrDuplicate) {
			t.Errorf("order %d, of the key %s: position %d, %v; want %d", i, s.Key, position, err, want[i])
		}
		if err == nil {
			c.wantRows(t, s)
		}
	}
}

func TestADuplicateThatComesBetweenTheTriesIsRefusedAlone(t *testing.T) {
	c := newStand(t, 10, 2)
	other := strategy(t, "db-conditional", c.world)
	sell := func(n int) {
		if _, err := other.Checkout(t.Context(), c.order(n, 1)); err != nil {
			t.Error(err)
		}
	}
	sell(1)
	c.at["0: rollback"] = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.at["0: begin"] = func() { sell(3) } // of the second try
	}
	c.wantDuplicates(t, c.batch(t, c.order(0, 1), c.order(1, 1), c.order(2, 1), c.order(3, 1)), []int64{3, 0, 4, 0})
	c.wantLeft(t, 6)
}

func TestAnOrderThatTheDatabaseRefusesIsRefusedAlone(t *testing.T) {
	c := newStand(t, 10, 2)
	long := c.order(1, 1)
	long.Customer = strings.Repeat("x", 65)
	orders := c.batch(t, c.order(0, 1), long, c.order(2, 2))
	if _, err := orders[1].position(t); !errors.Is(err, strategies.ErrUnavailable) {
		t.Errorf("the customer's name is too long: %v, want %v", err, strategies.ErrUnavailable)
	}
	c.wantPositions(t, []*sent{orders[0], orders[2]}, 1, 3)
}

func TestAnOrderThatLeavesTheLineIsLeftOut(t *testing.T) {
	c := newStand(t, 10, 2)
	reached, goOn := c.hold(t, "0: update inventory")
	first := c.send(t, c.order(0, 1))
	reached()
	orders := c.queue(t, c.order(1, 1), c.order(2, 1), c.order(3, 1))
	for _, i := range []int{0, 1} { // the one that would lead the next batch, and another one
		orders[i].leave()
		if _, err := orders[i].position(t); !errors.Is(err, strategies.ErrContended) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v since its context was cancelled", orders[i].Key, err, strategies.ErrContended)
		}
	}
	goOn()
	c.wantPositions(t, []*sent{first, orders[2]}, 1, 2)
	c.wantLeft(t, 8)
}

func TestALeaderThatLeavesBeforeItsBatchHasBegunIsLeftOutAlone(t *testing.T) {
	c := newStand(t, 10, 2)
	reached, goOn := c.hold(t, "0: begin")
	orders := []*sent{c.send(t, c.order(0, 1))}
	reached()
	orders = append(orders, c.queue(t, c.order(1, 1), c.order(2, 1))...)
	orders[0].leave()
	goOn()
	if _, err := orders[0].position(t); !errors.Is(err, strategies.ErrContended) || !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v, want %v since its context was cancelled", err, strategies.ErrContended)
	}
	c.wantPositions(t, orders[1:], 1, 2)
}

func TestWhoeverLeavesABatchThatHasBegunIsToldWhatBecameOfIt(t *testing.T) {
	c := newStand(t, 3, 2)
	reached, goOn := c.hold(t, "0: update inventory")
	orders := c.batch(t, c.order(0, 1), c.order(1, 3), c.order(2, 2))
	reached()
	for _, s := range orders {
		s.leave()
	}
	goOn()
	c.wantPositions(t, orders, 1, 0, 3)
}

// When BEGIN fails, those who wait are told at once, and not one by one.
func TestADatabaseThatIsGoneIsUnavailableToAllWhoWait(t *testing.T) {
	c := newStand(t, 10, 2)
	reached, goOn := c.hold(t, "0: update inventory")
	first := c.send(t, c.order(0, 1))
	reached()
	orders := c.queue(t, c.order(1, 1), c.order(2, 1), c.order(3, 1))
	if err := c.pool.Close(); err != nil { // the transaction that is under way goes on
		t.Fatal(err)
	}
	goOn()
	for _, s := range orders {
		if _, err := s.position(t); !errors.Is(err, strategies.ErrUnavailable) || err != orders[0].err {
			t.Errorf("%s: %v, want the one error of its batch, %v", s.Key, err, strategies.ErrUnavailable)
		}
	}
	c.wantPositions(t, []*sent{first}, 1)
}

func TestAnErrorBeforeCOMMITSellsNothingToTheBatch(t *testing.T) {
	c := newStand(t, 10, 1)
	kill := c.killer(t)
	c.at["0: insert outbox"] = kill
	for _, s := range c.batch(t, c.order(0, 1), c.order(1, 2), c.order(2, 1)) {
		if _, err := s.position(t); !errors.Is(err, strategies.ErrUnavailable) {
			t.Errorf("%s: %v, want %v", s.Key, err, strategies.ErrUnavailable)
		}
	}
	c.wantPositions(t, c.batch(t, c.order(3, 1), c.order(4, 1)), 1, 2)
}

func TestAnErrorOfCOMMITIsUnknownToTheBatch(t *testing.T) {
	c := newStand(t, 3, 1)
	kill := c.killer(t)
	c.at["0: commit"] = kill
	for _, s := range c.batch(t, c.order(0, 1), c.order(1, 4), c.order(2, 1)) {
		if _, err := s.position(t); err == nil || surelyNotSold(err) {
			t.Errorf("%s: %v, want an error that leaves the outcome open", s.Key, err)
		}
	}
	c.wantPositions(t, c.batch(t, c.order(3, 1), c.order(4, 1)), 1, 2)
}

// killer returns a function that ends the only connection of the strategy's pool, and waits until it is gone.
func (c *stand) killer(t *testing.T) func() {
	t.Helper()
	var id int64
	if err := c.pool.QueryRowContext(t.Context(), `SELECT CONNECTION_ID()`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := c.DB.ExecContext(t.Context(), `KILL `+strconv.FormatInt(id, 10)); err != nil {
			t.Error(err)
		}
		await(t, func() bool {
			return c.number(t, `SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?`, id) == 0
		})
	}
}

func TestAPanicDoesNotBlockTheSKU(t *testing.T) {
	c := newStand(t, 10, 2)
	strategies.SetBatchPatience(c.strategy, time.Hour) // nobody waits for that
	c.at["0: insert orders"] = func() { panic("planted") }
	orders := c.batch(t, c.order(0, 1), c.order(1, 1), c.order(2, 1))
	if _, err := orders[0].position(t); err == nil || err.Error() != "panic: planted" {
		t.Errorf("the leader: %v, want its panic", err)
	}
	for _, s := range orders[1:] {
		if _, err := s.position(t); err == nil || surelyNotSold(err) {
			t.Errorf("%s: %v, want an error that leaves the outcome open", s.Key, err)
		}
	}
	c.wantPositions(t, c.batch(t, c.order(3, 1), c.order(4, 1)), 1, 2)
}

func TestAStalledBatchHoldsUpNobodyForLongerThanALease(t *testing.T) {
	for _, stalled := range []string{"0: begin", "0: update inventory"} {
		t.Run(stalled, func(t *testing.T) {
			c := newStand(t, 10, 2)
			own := c.world
			own.DB, own.Lease.TTL = c.pool, time.Millisecond
			c.strategy = strategy(t, "batch", own)
			reached, goOn := c.hold(t, stalled)
			first := c.send(t, c.order(0, 1))
			reached()
			second := c.send(t, c.order(1, 1))
			c.wantPositions(t, []*sent{second}, 1) // though the first is still stalled
			goOn()
			c.wantPositions(t, []*sent{second, first}, 1, 2)
		})
	}
}

func TestABatchThatDoesNotEndHasAnUnknownOutcome(t *testing.T) {
	c := newStand(t, 10, 2)
	strategies.SetBatchPatience(c.strategy, time.Millisecond)
	reached, goOn := c.hold(t, "0: commit")
	orders := c.batch(t, c.order(0, 1), c.order(1, 1), c.order(2, 1))
	reached()
	for _, s := range orders[1:] {
		if _, err := s.position(t); err == nil || surelyNotSold(err) {
			t.Errorf("%s: %v, want an error that leaves the outcome open", s.Key, err)
		}
	}
	goOn() // it is sold after all
	if position, err := orders[0].position(t); position != 1 || err != nil {
		t.Errorf("the leader: position %d, %v; want 1", position, err)
	}
	if sold := c.soldUnits(t); sold != 3 {
		t.Errorf("the ledger has %d units, want 3", sold)
	}
}

func TestBatchesOfSeveralReplicasSellTheStockAndNoMore(t *testing.T) {
	w := newWorld(t, 150)
	replicas := []strategies.Strategy{strategy(t, "batch", w), strategy(t, "batch", w)}
	var mu sync.Mutex
	var all sync.WaitGroup
	smallest, sold := 4, 0
	for n := range 120 {
		o := w.order(n, 1+rand.IntN(3))
		all.Go(func() {
			_, err := replicas[n%2].Checkout(t.Context(), o)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				sold += o.Quantity
			case errors.Is(err, strategies.ErrSoldOut):
				smallest = min(smallest, o.Quantity)
			default:
				t.Errorf("%s: %v", o.Key, err)
			}
		})
	}
	all.Wait()
	left := w.stock(t)
	if units := w.soldUnits(t); units != int64(sold) || units+left != 150 || left >= int64(smallest) {
		t.Errorf("%d units acknowledged, %d in the ledger, %d of 150 left, and an order for %d was sold out", sold, units, left, smallest)
	}
	if gaps := w.number(t, `
		SELECT COUNT(*) FROM (SELECT position - quantity AS start, COALESCE(LAG(position) OVER (ORDER BY position), 0) AS previous
		  FROM orders WHERE sku = ?) AS sales WHERE start <> previous`, w.sku); gaps != 0 {
		t.Errorf("%d positions do not follow the one before", gaps)
	}
}
