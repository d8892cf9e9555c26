package strategies_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/stack/stacktest"
	"github.com/hotsku/hotsku/target/steps"
)

// process is a replica's queue with connections of its own, so that a test can hold it back before a step, or kill it.
type process struct {
	world
	strategies.Strategy
	close  func() error
	on     map[string]func()         // what to do before a step of that name
	dead   atomic.Bool               // nothing that it sends to Redis arrives any more
	queued chan struct{}             // one for each order that came into the line
	events chan strategies.EventKind // what was told
}

// process starts a queue in the world.
func (w world) process(t testing.TB, on map[string]func()) *process {
	t.Helper()
	p := w.prepare(t, on)
	p.start(t)
	return p
}

// prepare makes all of a process but the strategy. Its commands to Redis have all the time in the world, so that a test on a
// slow machine shows what it is about.
func (w world) prepare(t testing.TB, on map[string]func()) *process {
	t.Helper()
	options, err := redis.ParseURL(stacktest.Start(t).Redis().URL())
	if err != nil {
		t.Fatal(err)
	}
	options.MaxRetries, options.PoolSize = -1, 64
	options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = time.Minute, time.Minute, time.Minute
	return w.prepareWith(t, redis.NewClient(options), on)
}

func (w world) prepareWith(t testing.TB, client *redis.Client, on map[string]func()) *process {
	t.Helper()
	p := &process{world: w, on: on, queued: make(chan struct{}, 1000), events: make(chan strategies.EventKind, 1000)}
	client.AddHook(p)
	p.Redis = client
	db, err := target.OpenDatabase(patientDSN(t), 4, observer(p.before))
	if err != nil {
		t.Fatal(err)
	}
	p.DB = db
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	p.As = func(ctx context.Context, o strategies.Order) context.Context {
		ctx, _ = steps.Begin(ctx, o.Key, o.SKU)
		return ctx
	}
	p.Tell = func(_ context.Context, e strategies.Event) { p.events <- e.Kind }
	return p
}

// start makes the strategy, and ends it with the test.
func (p *process) start(t testing.TB) {
	t.Helper()
	info, err := strategies.Get("queue")
	if err != nil {
		t.Fatal(err)
	}
	if p.Strategy, err = info.New(p.Env); err != nil {
		t.Fatal(err)
	}
	p.close = sync.OnceValue(p.Strategy.(io.Closer).Close)
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
}

func (p *process) before(step string) {
	if do := p.on[step]; do != nil {
		do()
	}
}

// wantEvents waits for the next events to be told.
func (p *process) wantEvents(t testing.TB, want ...strategies.EventKind) {
	t.Helper()
	for _, kind := range want {
		select {
		case got := <-p.events:
			if got != kind {
				t.Errorf("it told %s, want %s", got, kind)
			}
		case <-time.After(time.Minute):
			t.Fatalf("it told nothing, want %s", kind)
		}
	}
}

func (p *process) DialHook(next redis.DialHook) redis.DialHook { return next }
func (p *process) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (p *process) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		step := cmd.Name()
		switch step {
		case "evalsha":
			step = strategies.Scripts()[fmt.Sprint(cmd.Args()[1])]
		case "eval": // the script was not loaded yet
			step = strategies.Scripts()[redis.NewScript(fmt.Sprint(cmd.Args()[1])).Hash()]
		}
		p.before(step)
		if p.dead.Load() {
			return errors.New("the process is dead")
		}
		err := next(ctx, cmd)
		if step == "enqueue" && err == nil && cmd.Args()[6] == "" { // otherwise it is only a look
			p.queued <- struct{}{}
		}
		return err
	}
}

// result is what an order got.
type result struct {
	strategies.Receipt
	err error
}

// send starts a checkout, and returns when the order is in line.
func (p *process) send(t testing.TB, o strategies.Order) <-chan result {
	t.Helper()
	return p.sendUnder(t, context.WithoutCancel(t.Context()), o)
}

func (p *process) sendUnder(t testing.TB, ctx context.Context, o strategies.Order) <-chan result {
	t.Helper()
	done := make(chan result, 1)
	go func() {
		r, err := p.Checkout(ctx, o)
		done <- result{r, err}
	}()
	select {
	case <-p.queued:
	case r := <-done:
		t.Fatalf("order %s did not come into the line: %v", o.Key, r.err)
	}
	return done
}

// sell checks an order out that must be sold.
func (p *process) sell(t testing.TB, o strategies.Order) strategies.Receipt {
	t.Helper()
	r := <-p.send(t, o)
	if r.err != nil {
		t.Fatalf("order %s: %v", o.Key, r.err)
	}
	return r.Receipt
}

// hold returns a function that holds back whoever calls it first, until goOn is called.
func hold() (stop func(), reached <-chan struct{}, goOn func()) {
	var once atomic.Bool
	here, on := make(chan struct{}), make(chan struct{})
	return func() {
		if once.CompareAndSwap(false, true) {
			close(here)
			<-on
		}
	}, here, sync.OnceFunc(func() { close(on) })
}

// leads makes somebody else the leader of the SKU, who never does anything. Empty means that the leadership has expired.
func (w world) leads(t testing.TB, owner string) {
	t.Helper()
	key, err := w.Prefix+"leader:{"+w.sku+"}", error(nil)
	if owner == "" {
		err = w.Redis.Del(t.Context(), key).Err()
	} else {
		err = w.Redis.Set(t.Context(), key, owner, time.Minute).Err()
	}
	if err != nil {
		t.Error(err)
	}
}

// inLine returns how many orders are in line.
func (w world) inLine(t testing.TB) int64 {
	t.Helper()
	n, err := w.Redis.XLen(t.Context(), w.line()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (w world) line() string { return w.Prefix + "queue:{" + w.sku + "}" }

// forgetSKU makes Redis lose everything about the SKU.
func (w world) forgetSKU(t testing.TB) {
	t.Helper()
	keys, err := w.Redis.Keys(t.Context(), w.Prefix+"*{"+w.sku+"}").Result()
	if err == nil {
		err = w.Redis.Del(t.Context(), keys...).Err()
	}
	if err != nil {
		t.Error(err)
	}
}

// wantLedger checks how many units are sold and left.
func (w world) wantLedger(t testing.TB, sold, left int64) {
	t.Helper()
	if s, l := w.soldUnits(t), w.stock(t); s != sold || l != left {
		t.Errorf("%d units are sold and %d left, want %d and %d", s, l, sold, left)
	}
}

// wantUnknown checks that an error claims nothing.
func wantUnknown(t testing.TB, err error) {
	t.Helper()
	for _, claim := range []error{
		nil, strategies.ErrSoldOut, strategies.ErrUnknownSKU, strategies.ErrDuplicate, strategies.ErrContended,
		strategies.ErrFenced, strategies.ErrUnavailable,
	} {
		if errors.Is(err, claim) {
			t.Errorf("%v, want an error that claims nothing", err)
		}
	}
}

func TestOrdersThatWaitAreSoldTogetherInTheOrderOfTheirArrival(t *testing.T) {
	w := newWorld(t, 100)
	stop, reached, goOn := hold()
	p := w.process(t, map[string]func(){"insert orders": stop})
	first := p.send(t, w.order(0, 2))
	<-reached
	var waiting []<-chan result
	for n := 1; n <= 20; n++ {
		waiting = append(waiting, p.send(t, w.order(n, 3)))
	}
	goOn()
	if r := <-first; r.err != nil || r.Position != 2 {
		t.Errorf("the first: %+v, want the position 2", r)
	}
	for n, done := range waiting {
		r := <-done
		if want := int64(2 + 3*(n+1)); r.err != nil || r.Position != want || r.Fence != 1 {
			t.Errorf("order %d: %+v, want the position %d and the generation 1", n+1, r, want)
		}
		if n := w.number(t, `SELECT COUNT(*) FROM orders JOIN outbox ON order_id = orders.id WHERE orders.id = ? AND
			idempotency_key = ? AND position = ? AND fence = 1`, r.ID, w.order(n+1, 3).Key, r.Position); n != 2 {
			t.Errorf("%d outbox rows belong to the receipt %+v, want 2", n, r)
		}
	}
	p.wantEvents(t, strategies.TookOver, strategies.Merged)
	w.wantLedger(t, 62, 38)
}

func TestAtTheEdgeEachOrderIsSoldToIfItFits(t *testing.T) {
	w := newWorld(t, 8)
	stop, reached, goOn := hold()
	p := w.process(t, map[string]func(){"insert orders": stop})
	first := p.send(t, w.order(0, 2))
	<-reached
	quantities, positions := []int{3, 4, 2, 2, 1, 1}, []int64{5, 0, 7, 0, 8, 0} // 0 for sold out
	var waiting []<-chan result
	for n, quantity := range quantities {
		waiting = append(waiting, p.send(t, w.order(n+1, quantity)))
	}
	goOn()
	<-first
	for n, done := range waiting {
		switch r := <-done; {
		case positions[n] == 0 && !errors.Is(r.err, strategies.ErrSoldOut):
			t.Errorf("order %d for %d: %+v, want %v", n, quantities[n], r, strategies.ErrSoldOut)
		case positions[n] > 0 && (r.err != nil || r.Position != positions[n]):
			t.Errorf("order %d for %d: %+v, want the position %d", n, quantities[n], r, positions[n])
		}
	}
	w.wantLedger(t, 8, 0)
}

func TestADuplicateInABatchIsToldAndTheOthersAreSold(t *testing.T) {
	w := newWorld(t, 10)
	stop, reached, goOn := hold()
	p := w.process(t, map[string]func(){"insert orders": stop})
	first := p.send(t, w.order(0, 1))
	<-reached
	var waiting []<-chan result
	for _, n := range []int{1, 0, 2, 2, 3} { // 0 is being sold, 2 comes twice
		waiting = append(waiting, p.send(t, w.order(n, 1)))
	}
	goOn()
	<-first
	for i, want := range []error{nil, strategies.ErrDuplicate, nil, strategies.ErrDuplicate, nil} {
		if r := <-waiting[i]; !errors.Is(r.err, want) {
			t.Errorf("waiter %d: %v, want %v", i, r.err, want)
		}
	}
	w.wantLedger(t, 4, 6)
}

// The textbook case: a leader stalls with a batch in hand, its lease ends, another registers, and then the first wakes.
func TestALeaderThatWasReplacedSellsNothingMore(t *testing.T) {
	w := newWorld(t, 10)
	stop, reached, goOn := hold()
	defer goOn()
	stopNext, registered, nextGoOn := hold()
	defer nextGoOn()
	old, next := w.process(t, map[string]func(){"update inventory": stop}), w.process(t, map[string]func(){"take": stopNext})
	stalled := old.send(t, w.order(0, 1))
	<-reached
	w.leads(t, "") // the lease has ended
	other := next.send(t, w.order(1, 1))
	<-registered
	goOn()
	old.wantEvents(t, strategies.TookOver, strategies.LeaseLost)
	w.wantLedger(t, 0, 10)
	nextGoOn()
	// The new leader sells the order that the old one held, too.
	if r := <-stalled; r.err != nil || r.Fence != 2 || r.Position != 1 {
		t.Errorf("the order of the stalled leader: %+v, want the generation 2 and the position 1", r)
	}
	if r := <-other; r.err != nil || r.Fence != 2 || r.Position != 2 {
		t.Errorf("the other order: %+v, want the generation 2 and the position 2", r)
	}
	w.wantLedger(t, 2, 8)
}

// Once its UPDATE is sent, the old leader's sale counts: the new one cannot register before it is over.
func TestALeaderThatIsReplacedAfterItsUpdateSellsItsBatchOnce(t *testing.T) {
	w := newWorld(t, 10)
	stop, reached, goOn := hold()
	defer goOn()
	acquired := make(chan struct{})
	var once sync.Once
	old := w.process(t, map[string]func(){"insert orders": stop})
	next := w.process(t, map[string]func(){"acquire": func() { once.Do(func() { close(acquired) }) }})
	stalled := old.send(t, w.order(0, 1))
	<-reached
	w.leads(t, "")
	other := next.send(t, w.order(1, 1))
	<-acquired
	goOn()
	// Which of the two leaders answers is a matter of chance, and both are right.
	if r := <-stalled; r.err != nil && !errors.Is(r.err, strategies.ErrDuplicate) {
		t.Errorf("the order of the stalled leader: %v", r.err)
	}
	if r := <-other; r.err != nil || r.Position != 2 {
		t.Errorf("the other order: %+v, want the position 2", r)
	}
	w.wantLedger(t, 2, 8)
}

// Redis may still name a leader that the database does not know any more: after a failover, say.
func TestALeaderThatTheDatabaseHasReplacedStepsDown(t *testing.T) {
	w := newWorld(t, 10)
	p := w.process(t, nil)
	p.sell(t, w.order(0, 1))
	w.exec(t, `UPDATE inventory SET fence = 7 WHERE sku = ?`, w.sku)
	if r := p.sell(t, w.order(1, 1)); r.Fence != 8 || r.Position != 2 {
		t.Errorf("%+v, want the generation 8 and the position 2", r)
	}
	p.wantEvents(t, strategies.TookOver, strategies.LeaseLost, strategies.FenceRaised, strategies.TookOver)
}

// A leader that gave up at the first error could not give its lease back either, and nobody would sell until that ends.
func TestALeaderWhoseCommandsFailForAMomentLeadsOn(t *testing.T) {
	w := newWorld(t, 10)
	failed := make(chan struct{})
	var takes atomic.Int64
	var p *process
	p = w.process(t, map[string]func(){"take": func() {
		p.dead.Store(takes.Add(1) == 3)
		if p.dead.Load() {
			close(failed)
		}
	}})
	p.sell(t, w.order(0, 1))
	<-failed
	other := w.process(t, nil) // whose order is not lost on the way
	if r := other.sell(t, w.order(1, 1)); r.Fence != 1 {
		t.Errorf("%+v, want the generation 1", r)
	}
}

func TestALeaderThatSellsKeepsItsLease(t *testing.T) {
	w := newWorld(t, 10)
	p := w.process(t, nil)
	p.sell(t, w.order(0, 1))
	key := w.Prefix + "leader:{" + w.sku + "}"
	if err := w.Redis.PExpire(t.Context(), key, w.Lease.TTL/2).Err(); err != nil {
		t.Fatal(err)
	}
	p.sell(t, w.order(1, 1))
	if life, err := w.Redis.PTTL(t.Context(), key).Result(); err != nil || life <= w.Lease.TTL/2 {
		t.Errorf("the lease lasts for another %v (%v), want more than %v: it was not renewed", life, err, w.Lease.TTL/2)
	}
}

// diesBeforeAnswer is a process whose death strikes between COMMIT and the answer, once so many units are sold.
func (w world) diesBeforeAnswer(t *testing.T, units int64) (p *process, died <-chan struct{}) {
	t.Helper()
	dead := make(chan struct{})
	p = w.process(t, map[string]func(){"answer": func() {
		if w.soldUnits(t) == units && p.dead.CompareAndSwap(false, true) {
			close(dead)
		}
	}})
	return p, dead
}

// The next leader reads the entry again.
func TestAnOrderWhoseLeaderDiesBeforeItsAnswerIsSoldOnceAndTold(t *testing.T) {
	w := newWorld(t, 10)
	old, died := w.diesBeforeAnswer(t, 2)
	old.sell(t, w.order(0, 1))
	next := w.process(t, nil)
	left := next.send(t, w.order(1, 1))
	<-died
	w.leads(t, "") // its lease ends by itself
	if r := <-left; !errors.Is(r.err, strategies.ErrDuplicate) {
		t.Errorf("%+v, want %v: the order is sold", r, strategies.ErrDuplicate)
	}
	if r := next.sell(t, w.order(2, 1)); r.Fence != 2 || r.Position != 3 {
		t.Errorf("the next order: %+v, want the generation 2 and the position 3", r)
	}
	w.wantLedger(t, 3, 7)
}

// A new leader whose database fails cannot know what the one before it has sold.
func TestAnOrderThatAnEarlierLeaderReadIsNotRefusedForAFailingDatabase(t *testing.T) {
	w := newWorld(t, 10)
	old, died := w.diesBeforeAnswer(t, 2)
	old.sell(t, w.order(0, 1))
	w.Lease.Wait = 500 * time.Millisecond
	var next *process
	next = w.process(t, map[string]func(){"take": func() { _ = next.DB.Close() }})
	left := next.send(t, w.order(1, 1))
	<-died
	w.leads(t, "")
	wantUnknown(t, (<-left).err)
	w.wantLedger(t, 2, 8)
}

func TestAnOrderThatOnlyThisLeaderReadIsRefusedForAFailingDatabase(t *testing.T) {
	w := newWorld(t, 10)
	p := w.process(t, nil)
	p.sell(t, w.order(0, 1))
	_ = p.DB.Close()
	if r := <-p.send(t, w.order(1, 1)); !errors.Is(r.err, strategies.ErrUnavailable) {
		t.Errorf("%+v, want %v", r, strategies.ErrUnavailable)
	}
	if n := w.inLine(t); n != 0 {
		t.Errorf("%d orders are left in line and may be sold later", n)
	}
	w.wantLedger(t, 1, 9)
}

// A refusal of a leader that has been replaced could be told of an order that the new one is about to sell.
func TestOnlyTheLeaderRefuses(t *testing.T) {
	w := newWorld(t, 0)
	w.Lease.Wait = 500 * time.Millisecond
	stop, reached, goOn := hold()
	p := w.process(t, map[string]func(){"answer": stop})
	refused := p.send(t, w.order(0, 1))
	<-reached
	w.leads(t, "another")
	goOn()
	wantUnknown(t, (<-refused).err)
	if n := w.inLine(t); n != 1 {
		t.Errorf("%d orders are in line, want 1: it is the new leader's", n)
	}
}

func TestASaleIsToldByALeaderThatHasBeenReplaced(t *testing.T) {
	w := newWorld(t, 10)
	stop, reached, goOn := hold()
	p := w.process(t, map[string]func(){"answer": stop})
	sold := p.send(t, w.order(0, 1))
	<-reached
	w.leads(t, "another")
	goOn()
	if r := <-sold; r.err != nil || r.Position != 1 {
		t.Errorf("%+v, want the position 1", r)
	}
}

func TestAnOrderThatNoLeaderReadInTimeIsContendedAndGone(t *testing.T) {
	w := newWorld(t, 10)
	w.Lease.Wait = 100 * time.Millisecond
	w.leads(t, "another")
	p := w.process(t, nil)
	if r := <-p.send(t, w.order(0, 1)); !errors.Is(r.err, strategies.ErrContended) {
		t.Errorf("%+v, want %v", r, strategies.ErrContended)
	}
	if n := w.inLine(t); n != 0 {
		t.Errorf("%d orders are left in line and may be sold later", n)
	}
}

func TestACustomerWhoLeavesTheLineIsSoldNothing(t *testing.T) {
	w := newWorld(t, 10)
	w.leads(t, "another")
	p := w.process(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiting := p.sendUnder(t, ctx, w.order(0, 1))
	cancel()
	if r := <-waiting; !errors.Is(r.err, strategies.ErrContended) {
		t.Errorf("%+v, want %v", r, strategies.ErrContended)
	}
	if n := w.inLine(t); n != 0 {
		t.Errorf("%d orders are left in line and may be sold later", n)
	}
}

func TestAnOrderInTheHandsOfAStalledLeaderIsUnknown(t *testing.T) {
	w := newWorld(t, 10)
	w.Lease.Wait = 500 * time.Millisecond
	stop, reached, goOn := hold()
	defer goOn()
	p := w.process(t, map[string]func(){"commit": stop})
	stalled := p.send(t, w.order(0, 1))
	<-reached
	wantUnknown(t, (<-stalled).err)
	goOn()
	w.Lease.Wait = 5 * time.Second
	if r := w.process(t, nil).sell(t, w.order(1, 1)); r.Position != 2 {
		t.Errorf("the next order: %+v, want the position 2, for the unknown one is sold", r)
	}
	w.wantLedger(t, 2, 8)
}

func TestAnOrderThatNobodyWaitsForIsNotSold(t *testing.T) {
	w := newWorld(t, 10)
	patient := w
	w.Lease.Wait = 50 * time.Millisecond
	w.leads(t, "another")
	var gone *process
	gone = w.process(t, map[string]func(){"withdraw": func() { gone.dead.Store(true) }}) // its wait is over by then
	wantUnknown(t, (<-gone.send(t, w.order(0, 1))).err)
	if n := w.inLine(t); n != 1 {
		t.Fatalf("%d orders are in line, want the one whose process died", n)
	}
	w.leads(t, "")
	p := patient.process(t, nil)
	for n := int64(1); n <= 2; n++ { // by the second, the leader is done with the batch of the first
		if r := p.sell(t, w.order(int(n), 1)); r.Position != n {
			t.Errorf("%+v, want the position %d", r, n)
		}
	}
	if n := w.inLine(t); n != 0 {
		t.Errorf("%d orders are left in line", n)
	}
	w.wantLedger(t, 2, 8)
}

func TestAFullLineRefuses(t *testing.T) {
	w := newWorld(t, 10)
	w.leads(t, "another")
	fill := `for _ = 1, 10000 do redis.call('XADD', KEYS[1], '*', 'order', '', 'limit', 0) end`
	if err := w.Redis.Eval(t.Context(), fill, []string{w.line()}).Err(); err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	if _, err := w.process(t, nil).Checkout(t.Context(), w.order(0, 1)); !errors.Is(err, strategies.ErrContended) {
		t.Errorf("%v, want %v", err, strategies.ErrContended)
	}
	if n := w.inLine(t); n != 10_000 {
		t.Errorf("%d orders are in line, want 10000", n)
	}
}

func TestEntriesThatCannotBeReadAreDropped(t *testing.T) {
	w := newWorld(t, 10)
	for _, values := range [][]string{
		{"order", "{", "limit", "9999999999999"}, {"order", `{"Key":"k"}`, "limit", "9999999999999"},
		{"order", `{"Key":"k","Quantity":1}`, "limit", "soon"}, {"something", "else"},
	} {
		if err := w.Redis.XAdd(t.Context(), &redis.XAddArgs{Stream: w.line(), Values: values}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	w.process(t, nil).sell(t, w.order(0, 1))
	if n := w.inLine(t); n != 0 {
		t.Errorf("%d orders are left in line", n)
	}
	w.wantLedger(t, 1, 9)
}

// COMMIT is sent and its answer is lost: only the ledger can tell the leader what became of the batch.
func TestALostAnswerToCommitIsLookedUp(t *testing.T) {
	for name, row := range map[string]struct {
		commits bool
		want    error
	}{
		"it was committed": {true, strategies.ErrDuplicate},
		"it was not":       {false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 10)
			p := w.prepare(t, nil)
			var commits atomic.Int64
			p.DB = unsureDatabase(t, func(tx driver.Tx) error {
				if commits.Add(1) != 2 { // the first registers the generation
					return tx.Commit()
				}
				if row.commits {
					return errors.Join(tx.Commit(), errLost)
				}
				return errors.Join(tx.Rollback(), errLost)
			})
			p.start(t)
			if r := <-p.send(t, w.order(0, 4)); !errors.Is(r.err, row.want) {
				t.Errorf("%+v, want %v", r, row.want)
			}
			w.wantLedger(t, 4, 6)
		})
	}
}

var errLost = errors.New("the answer to COMMIT is lost")

// unsureDatabase is a pool of its own, whose transactions are committed by commit.
func unsureDatabase(t *testing.T, commit func(driver.Tx) error) *sql.DB {
	t.Helper()
	cfg, err := mysql.ParseDSN(patientDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return sql.OpenDB(unsureConnector{connector, commit})
}

type unsureConnector struct {
	driver.Connector
	commit func(driver.Tx) error
}

func (c unsureConnector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return unsureConn{inner.(mysqlConn), c.commit}, nil
}

type unsureConn struct {
	mysqlConn
	commit func(driver.Tx) error
}

func (c unsureConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	tx, err := c.mysqlConn.BeginTx(ctx, options)
	return unsureTx{tx, c.commit}, err
}

type unsureTx struct {
	driver.Tx
	commit func(driver.Tx) error
}

func (tx unsureTx) Commit() error { return tx.commit(tx.Tx) }

func TestOrdersThatRedisForgotAreQueuedAgain(t *testing.T) {
	w := newWorld(t, 10)
	w.leads(t, "another")
	p := w.process(t, nil)
	waiting := p.send(t, w.order(0, 3))
	w.forgetSKU(t) // the line and the other's leadership
	if r := <-waiting; r.err != nil || r.Position != 3 || r.Fence != 1 {
		t.Errorf("%+v, want the position 3", r)
	}
	w.wantLedger(t, 3, 7)
}

// Its first entry may have been read by a leader, so that taking the second back proves nothing.
func TestAnOrderThatWasQueuedAgainIsUnknownWhenItsTimeIsOver(t *testing.T) {
	w := newWorld(t, 10)
	w.Lease.Wait = 400 * time.Millisecond
	w.leads(t, "another")
	p := w.process(t, nil)
	waiting := p.send(t, w.order(0, 1))
	w.forgetSKU(t)
	w.leads(t, "another")
	wantUnknown(t, (<-waiting).err)
}

func TestALeaderWhoseLineAndGenerationAreForgottenSellsOnceAndHeals(t *testing.T) {
	w := newWorld(t, 20)
	for n := range 3 { // three leaders
		p := w.process(t, nil)
		p.sell(t, w.order(n, 1))
		if err := p.close(); err != nil {
			t.Fatal(err)
		}
	}
	stop, reached, goOn := hold()
	p := w.process(t, map[string]func(){"update inventory": stop})
	inHand := p.send(t, w.order(3, 1))
	<-reached
	w.forgetSKU(t)
	goOn()
	if r := <-inHand; r.err != nil || r.Fence != 4 {
		t.Errorf("the order in hand: %+v, want the generation 4, which no newer one has replaced", r)
	}
	if r := p.sell(t, w.order(4, 1)); r.Fence != 5 || r.Position != 5 {
		t.Errorf("the next order: %+v, want the generation 5 and the position 5", r)
	}
	p.wantEvents(t, strategies.TookOver, strategies.LeaseLost, strategies.FenceRaised, strategies.TookOver)
	w.wantLedger(t, 5, 15)
}

// wire is a proxy before Redis that can fail.
type wire struct {
	listener net.Listener
	last     atomic.Value  // a string: once a request with it has come, what Redis answers is lost
	mute     atomic.Bool   // what Redis answers is lost
	sent     chan struct{} // closed when the last request has been passed on

	mu    sync.Mutex
	conns []net.Conn
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v := &wire{listener: listener, sent: make(chan struct{})}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			v.mu.Lock()
			v.conns = append(v.conns, near, far)
			v.mu.Unlock()
			go func() { _, _ = io.Copy(v.requests(far), near) }()
			go func() { _, _ = io.Copy(v.answers(near), far) }()
		}
	}()
	t.Cleanup(v.cut)
	return v
}

// requests is a writer to far that knows the last request.
func (v *wire) requests(far net.Conn) io.Writer {
	return writer(func(b []byte) (int, error) {
		last, set := v.last.Load().(string)
		if !set || !bytes.Contains(b, []byte(last)) || !v.mute.CompareAndSwap(false, true) {
			return far.Write(b)
		}
		defer close(v.sent)
		return far.Write(b)
	})
}

// answers is a writer to near that loses everything while the wire is mute.
func (v *wire) answers(near net.Conn) io.Writer {
	return writer(func(b []byte) (int, error) {
		if v.mute.Load() {
			return len(b), nil
		}
		return near.Write(b)
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// cut ends all connections; no new one can be made.
func (v *wire) cut() {
	_ = v.listener.Close()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.conns {
		_ = c.Close()
	}
}

// wired starts a queue behind a wire that can fail.
func (w world) wired(t *testing.T) (*process, *wire) {
	t.Helper()
	to := stacktest.Start(t).Redis()
	v := newWire(t, to.Address)
	to.Address = v.listener.Addr().String()
	client, err := target.OpenRedis(to.URL(), 64, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := w.prepareWith(t, client, nil)
	p.start(t)
	return p, v
}

// The wait limit is a minute: that the orders come back at all shows that they notice.
func TestWithoutRedisOrdersFailAndClaimOnlyWhatIsTrue(t *testing.T) {
	w := newWorld(t, 10)
	w.Lease.Wait, w.Lease.TTL = time.Minute, time.Minute
	stop, reached, goOn := hold()
	defer goOn()
	leader := w.process(t, map[string]func(){"insert orders": stop})
	lost := leader.send(t, w.order(0, 1))
	<-reached
	p, wire := w.wired(t)
	waiting := p.send(t, w.order(1, 1))
	wire.cut()
	wantUnknown(t, (<-waiting).err)
	if _, err := p.Checkout(t.Context(), w.order(2, 1)); !errors.Is(err, strategies.ErrUnavailable) {
		t.Errorf("an order after that: %v, want %v", err, strategies.ErrUnavailable)
	}
	goOn()
	<-lost
	leader.sell(t, w.order(3, 1))
	w.wantLedger(t, 3, 7) // the unknown one, too
}

func TestAnOrderThatMayBeInLineIsUnknown(t *testing.T) {
	w := newWorld(t, 10)
	leader := w.process(t, nil)
	leader.sell(t, w.order(0, 1))
	p, wire := w.wired(t)
	p.sell(t, w.order(1, 1))
	wire.last.Store(w.order(2, 1).Key)
	_, err := p.Checkout(t.Context(), w.order(2, 1))
	wantUnknown(t, err)
	<-wire.sent
	leader.sell(t, w.order(3, 1))
	leader.sell(t, w.order(4, 1)) // it is behind the unknown one, wherever that has come to stand
	w.wantLedger(t, 5, 5)
}

// A lone order must not wait until the leader looks by itself.
func TestTheFirstOrderInLineWakesTheLeader(t *testing.T) {
	w := newWorld(t, 10)
	wake := w.Redis.Subscribe(t.Context(), w.Prefix+"wake")
	defer wake.Close()
	if _, err := wake.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.leads(t, w.Prefix+"wake leader-1")
	p := w.process(t, nil)
	first := p.send(t, w.order(0, 1))
	second := p.send(t, w.order(1, 1))
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if m, err := wake.ReceiveMessage(limited); err != nil || m.Payload != "leader-1" {
		t.Errorf("%v, %v, want a message to the leader", m, err)
	}
	w.leads(t, "")
	<-first
	<-second
	p.sell(t, w.order(2, 1))
	w.wantLedger(t, 3, 7)
}

func TestAnIdleLeaderEndsAndTheNextOrderFindsAnother(t *testing.T) {
	w := newWorld(t, 10)
	released := make(chan struct{}, 10)
	p := w.process(t, map[string]func(){"release": func() { released <- struct{}{} }})
	if r := p.sell(t, w.order(0, 1)); r.Fence != 1 {
		t.Errorf("%+v, want the generation 1", r)
	}
	<-released
	if r := p.sell(t, w.order(1, 1)); r.Fence != 2 {
		t.Errorf("%+v, want the generation 2", r)
	}
}

func TestCloseGivesTheLeadershipUp(t *testing.T) {
	w := newWorld(t, 10)
	p := w.process(t, nil)
	p.sell(t, w.order(0, 1))
	if err := p.close(); err != nil {
		t.Error(err)
	}
	if n, err := w.Redis.Exists(t.Context(), w.Prefix+"leader:{"+w.sku+"}").Result(); err != nil || n != 0 {
		t.Errorf("%d leaders are left (%v)", n, err)
	}
	for _, key := range []string{"queue:{", "queue-mark:{", "fence:{"} {
		life, err := w.Redis.PTTL(t.Context(), w.Prefix+key+w.sku+"}").Result()
		if err != nil || life <= 0 || life > 24*time.Hour {
			t.Errorf("%s lives for %v (%v); without a limit keys pile up", key, life, err)
		}
	}
}

// BenchmarkQueueTakeOver is the time from the death of a leader to the first sale of the next: its lease has to end.
func BenchmarkQueueTakeOver(b *testing.B) {
	var took time.Duration
	w := newWorld(b, 2*b.N)
	w.Lease = strategies.DefaultLease()
	w.Lease.TTL, w.Lease.Wait = 300*time.Millisecond, 5*time.Second
	for n := range b.N {
		old, next := w.process(b, nil), w.process(b, nil)
		old.sell(b, w.order(2*n, 1))
		old.dead.Store(true)
		died := time.Now()
		next.sell(b, w.order(2*n+1, 1))
		took += time.Since(died)
		if err := errors.Join(old.close(), next.close()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "takeover-ns")
}

// An order that a leader has read waits for longer than its consumer lives on; when that leader has died, somebody must lead
// all the same, and tell it.
func TestAnOrderThatGivesUpStillGetsALeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	w.Lease.TTL, w.Lease.Wait = 10*time.Second, 5*time.Second
	w.leads(t, "another")
	p := w.process(t, nil)
	waiting := p.send(t, w.order(0, 1))
	entries, err := w.Redis.XRange(t.Context(), w.line(), "-", "+").Result()
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries in line: %v", len(entries), err)
	}
	// The other leader was handed the order and died. Its lease ends when the wait limit and the consumer's life are over.
	pipe := w.Redis.TxPipeline()
	pipe.Set(t.Context(), w.Prefix+"queue-mark:{"+w.sku+"}", entries[0].ID, time.Hour)
	pipe.PExpire(t.Context(), w.Prefix+"leader:{"+w.sku+"}", 7*time.Second)
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-waiting; !errors.Is(r.err, strategies.ErrContended) {
		t.Errorf("%+v, want %v from the next leader", r, strategies.ErrContended)
	}
	if n := w.inLine(t); n != 0 {
		t.Errorf("%d orders are left in line", n)
	}
}
