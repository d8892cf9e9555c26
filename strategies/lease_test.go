package strategies_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/stack/stacktest"
)

// before is a hook that calls do ahead of each command whose name or script it is given.
type before struct {
	command string
	do      func()
}

func (b before) DialHook(next redis.DialHook) redis.DialHook { return next }
func (b before) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (b before) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == b.command || cmd.Name() == "evalsha" && strategies.Scripts()[fmt.Sprint(cmd.Args()[1])] == b.command {
			b.do()
		}
		return next(ctx, cmd)
	}
}

// hooked returns a Redis client of its own with a hook.
func hooked(t *testing.T, hook redis.Hook) redis.UniversalClient {
	t.Helper()
	client, err := target.OpenRedis(stacktest.Start(t).Redis().URL()+patient, 16, nil)
	if err != nil {
		t.Fatal(err)
	}
	client.AddHook(hook)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// goneRedis returns a client of a Redis that is not there.
func goneRedis(t *testing.T) redis.UniversalClient {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1, DialTimeout: 200 * time.Millisecond})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func strategy(t *testing.T, name string, w world) strategies.Strategy {
	t.Helper()
	info, err := strategies.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return start(t, info, w.Env)
}

func TestALeaseThatIsTakenMakesAnOrderContended(t *testing.T) {
	for _, name := range []string{"lock-only", "lock-fence"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 5)
			w.Lease.Wait = 20 * time.Millisecond
			key := w.Prefix + "lease:{" + w.sku + "}"
			if err := w.Redis.Set(t.Context(), key, "another", time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
			if _, err := strategy(t, name, w).Checkout(t.Context(), w.order(0, 1)); !errors.Is(err, strategies.ErrContended) {
				t.Errorf("%v, want %v", err, strategies.ErrContended)
			}
			if owner, err := w.Redis.Get(t.Context(), key).Result(); owner != "another" {
				t.Errorf("the lease is now %q's (%v): somebody else's lease was released", owner, err)
			}
		})
	}
}

// A holder whose lease was taken over while it worked must not release the lease of the new holder.
func TestReleaseComparesTheOwner(t *testing.T) {
	w := newWorld(t, 5)
	key := w.Prefix + "lease:{" + w.sku + "}"
	w.Redis.(*redis.Client).AddHook(before{"release", func() {
		if err := w.DB.PingContext(t.Context()); err != nil {
			t.Error(err)
		}
		takeOver(t, w, key)
	}})
	if _, err := strategy(t, "lock-only", w).Checkout(t.Context(), w.order(0, 1)); err != nil {
		t.Fatal(err)
	}
	if owner, err := w.Redis.Get(t.Context(), key).Result(); err != nil || owner != "another" {
		t.Errorf("the lease is %q's (%v), want another's", owner, err)
	}
}

// takeOver gives the lease to another, over a client of its own.
func takeOver(t *testing.T, w world, key string) {
	t.Helper()
	other := redis.NewClient(w.Redis.(*redis.Client).Options())
	defer other.Close()
	if err := other.Set(t.Context(), key, "another", time.Minute).Err(); err != nil {
		t.Error(err)
	}
}

func TestReleaseSurvivesACancelledRequest(t *testing.T) {
	w := newWorld(t, 5)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.Redis.(*redis.Client).AddHook(before{"release", cancel})
	if _, err := strategy(t, "lock-fence", w).Checkout(ctx, w.order(0, 1)); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Redis.Exists(t.Context(), w.Prefix+"lease:{"+w.sku+"}").Result(); n != 0 || err != nil {
		t.Errorf("%d leases are left (%v): the release was cancelled with its request", n, err)
	}
}

func TestTheFenceRefusesALateHolderWhileStockIsLeft(t *testing.T) {
	w := newWorld(t, 10)
	late, lateErr := w.stalled(t, "lock-fence", "update inventory", 0)
	w.expire(t)
	r, err := strategy(t, "lock-fence", w).Checkout(t.Context(), w.order(1, 1))
	if err != nil || r.Fence != 2 {
		t.Fatalf("the second holder: %+v, %v, want the token 2", r, err)
	}
	late()
	if err := lateErr(); !errors.Is(err, strategies.ErrFenced) {
		t.Errorf("the late holder: %v, want %v", err, strategies.ErrFenced)
	}
	if sold, left := w.soldUnits(t), w.stock(t); sold != 1 || left != 9 {
		t.Errorf("%d sold and %d left, want 1 and 9", sold, left)
	}
}

func TestAFenceCounterThatWasLostHeals(t *testing.T) {
	w := newWorld(t, 10)
	s := strategy(t, "lock-fence", w)
	for n := range 5 {
		if _, err := s.Checkout(t.Context(), w.order(n, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Redis.Del(t.Context(), w.Prefix+"fence:{"+w.sku+"}").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Checkout(t.Context(), w.order(5, 1)); !errors.Is(err, strategies.ErrFenced) {
		t.Errorf("the first order after the loss: %v, want %v", err, strategies.ErrFenced)
	}
	if r, err := s.Checkout(t.Context(), w.order(6, 1)); err != nil || r.Fence != 6 {
		t.Errorf("the second: %+v, %v, want the token 6", r, err)
	}
	if life, err := w.Redis.PTTL(t.Context(), w.Prefix+"fence:{"+w.sku+"}").Result(); err != nil || life <= 0 {
		t.Errorf("the counter lives for %v (%v); without a limit counters pile up", life, err)
	}
}
