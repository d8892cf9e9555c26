package strategies_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/strategies"
)

// answered is a hook that calls do after each command with that name or script.
type answered struct {
	command string
	do      func()
}

func (answered) DialHook(next redis.DialHook) redis.DialHook { return next }
func (answered) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (a answered) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == a.command || cmd.Name() == "evalsha" && strategies.Scripts()[fmt.Sprint(cmd.Args()[1])] == a.command {
			a.do()
		}
		return err
	}
}

// stalledHolder starts order 0 and holds it before its first write, under the lease. Calling wake lets it go on; result
// waits for it and returns its error.
func stalledHolder(t *testing.T, w world, name string) (wake func(), result func() error) {
	t.Helper()
	reached, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	slow := w
	var once atomic.Bool
	slow.DB = stallingDatabase(t, func(step string) {
		if step == "update inventory" && once.CompareAndSwap(false, true) {
			close(reached)
			<-goOn
		}
	})
	s := strategy(t, name, slow)
	go func() {
		_, err := checkoutObserved(t.Context(), s, w.order(0, 1))
		done <- err
	}()
	<-reached
	return func() { close(goOn) }, func() error { return <-done }
}

// fairShop is a holder that is stalled, and waiters behind it that have come one after the other, each to the next of
// three processes.
type fairShop struct {
	world
	wake   func()       // the holder
	result func() error // of the holder
	waits  chan sale    // of the waiters, as they end
}

type sale struct {
	n       int
	receipt strategies.Receipt
	err     error
}

func newFairShop(t *testing.T, w world, waiters int) fairShop {
	t.Helper()
	f := fairShop{world: w, waits: make(chan sale, waiters)}
	f.wake, f.result = stalledHolder(t, w, "fair-lock-fence")
	inLine := make(chan struct{}, 1000)
	w.Redis.(*redis.Client).AddHook(answered{"acquire", func() { inLine <- struct{}{} }})
	var processes []strategies.Strategy
	for range 3 {
		processes = append(processes, strategy(t, "fair-lock-fence", w))
	}
	for n := 1; n <= waiters; n++ {
		go func() {
			r, err := processes[n%3].Checkout(t.Context(), w.order(n, 1))
			f.waits <- sale{n, r, err}
		}()
		<-inLine
	}
	return f
}

func TestFairLockFenceSellsInTheOrderOfArrival(t *testing.T) {
	w := newWorld(t, 9)
	f := newFairShop(t, w, 10)
	f.wake()
	if err := f.result(); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		s := <-f.waits
		switch want := int64(s.n) + 1; {
		case s.n <= 8 && (s.err != nil || s.receipt.Position != want || s.receipt.Fence != want):
			t.Errorf("waiter %d: %+v, %v, want the position and the token %d", s.n, s.receipt, s.err, want)
		case s.n > 8 && !errors.Is(s.err, strategies.ErrSoldOut):
			t.Errorf("waiter %d, the last of whom nothing was left for: %v, want %v", s.n, s.err, strategies.ErrSoldOut)
		}
	}
	if sold, left := w.soldUnits(t), w.stock(t); sold != 9 || left != 0 {
		t.Errorf("%d sold and %d left of 9", sold, left)
	}
}

// All that Redis knew is gone in mid-queue: the lease, the counter and the line. The holder sells all the same. The next
// one's token is too old: that one is refused, and raises the counter for those behind.
func TestFairLockFenceSurvivesLostMemoryInMidQueue(t *testing.T) {
	w := newWorld(t, 100)
	w.Lease.TTL = 2 * time.Second // so long the waiters believe in the lease
	for n := range 3 {
		if _, err := strategy(t, "fair-lock-fence", w).Checkout(t.Context(), w.order(100+n, 1)); err != nil {
			t.Fatal(err)
		}
	}
	f := newFairShop(t, w, 5) // the holder's token is 4
	tag := "{" + w.sku + "}"
	if n, err := w.Redis.Del(t.Context(), w.Prefix+"lease:"+tag, w.Prefix+"fence:"+tag, w.Prefix+"line:"+tag).Result(); n != 3 || err != nil {
		t.Fatalf("%d keys are gone (%v), want 3", n, err)
	}
	f.wake()
	if err := f.result(); err != nil {
		t.Errorf("the holder: %v", err)
	}
	var fenced int
	var tokens []int64
	for range 5 {
		s := <-f.waits
		switch {
		case errors.Is(s.err, strategies.ErrFenced):
			fenced++
		case s.err != nil:
			t.Errorf("waiter %d: %v", s.n, s.err)
		default:
			tokens = append(tokens, s.receipt.Fence)
		}
	}
	slices.Sort(tokens)
	if want := []int64{5, 6, 7, 8}; fenced != 1 || !slices.Equal(tokens, want) {
		t.Errorf("%d were refused and the others sold under %v, want 1 and %v", fenced, tokens, want)
	}
	if sold, left := w.soldUnits(t), w.stock(t); sold != 8 || left != 92 {
		t.Errorf("%d sold and %d left of 100, want 8 and 92", sold, left)
	}
}

// The textbook case: a holder stalls before its write, its lease ends, the next one sells, and then it wakes.
func TestFairLockFenceRefusesALateHolder(t *testing.T) {
	w := newWorld(t, 10)
	wake, result := stalledHolder(t, w, "fair-lock-fence")
	if err := w.Redis.Del(t.Context(), w.Prefix+"lease:{"+w.sku+"}").Err(); err != nil { // it expired
		t.Fatal(err)
	}
	r, err := strategy(t, "fair-lock-fence", w).Checkout(t.Context(), w.order(1, 1))
	if err != nil || r.Fence != 2 {
		t.Fatalf("the second holder: %+v, %v, want the token 2", r, err)
	}
	wake()
	if err := result(); !errors.Is(err, strategies.ErrFenced) {
		t.Errorf("the late holder: %v, want %v", err, strategies.ErrFenced)
	}
	if sold, left := w.soldUnits(t), w.stock(t); sold != 1 || left != 9 {
		t.Errorf("%d sold and %d left, want 1 and 9", sold, left)
	}
}

// A waiter whose client has gone away leaves the line, and those behind it move up.
func TestFairLockFenceForgetsAWaiterThatIsCancelled(t *testing.T) {
	w := newWorld(t, 10)
	wake, result := stalledHolder(t, w, "fair-lock-fence")
	inLine := make(chan struct{}, 10)
	w.Redis.(*redis.Client).AddHook(answered{"acquire", func() { inLine <- struct{}{} }})
	s := strategy(t, "fair-lock-fence", w)
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan sale, 2)
	for n, ctx := range []context.Context{ctx, t.Context()} {
		go func() {
			r, err := s.Checkout(ctx, w.order(n+1, 1))
			results <- sale{n + 1, r, err}
		}()
		<-inLine
	}
	cancel()
	if s := <-results; s.n != 1 || !errors.Is(s.err, strategies.ErrContended) || !errors.Is(s.err, context.Canceled) {
		t.Errorf("order %d: %v, want %v for order 1", s.n, s.err, strategies.ErrContended)
	}
	wake()
	if err := result(); err != nil {
		t.Error(err)
	}
	if s := <-results; s.err != nil || s.receipt.Fence != 2 {
		t.Errorf("the waiter behind: %+v, %v, want the token 2", s.receipt, s.err)
	}
}
