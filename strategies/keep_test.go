package strategies

import (
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// keptLease returns a lease that an Env with the given TTL has taken.
func keptLease(t *testing.T, ttl time.Duration) (Env, lease) {
	t.Helper()
	env, _ := leaseEnv(t)
	env.Lease.TTL = ttl
	l, err := env.acquire(t.Context(), "hot")
	if err != nil {
		t.Fatal(err)
	}
	return env, l
}

// renewals is a hook that does something instead of each renewal, or beside it: do gets its number, from 1.
type renewals struct {
	n  *atomic.Int64
	do func(n int64) error // an error is the renewal's
}

func (renewals) DialHook(next redis.DialHook) redis.DialHook { return next }
func (renewals) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (r renewals) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if stepOf(cmd) != "renew" {
			return next(ctx, cmd)
		}
		if err := r.do(r.n.Add(1)); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func hookRenewals(env Env, do func(n int64) error) *atomic.Int64 {
	n := new(atomic.Int64)
	env.Redis.(*redis.Client).AddHook(renewals{n, do})
	return n
}

// wantSoon waits for an event.
func wantSoon(t *testing.T, event <-chan struct{}, name string) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(tooLong):
		t.Fatalf("there is no sign of %s", name)
	}
}

func TestRenewalComparesTheOwner(t *testing.T) {
	env, l := keptLease(t, time.Hour)
	for name, row := range map[string]struct {
		owner string // of the lease in Redis, "" for none
		held  bool
		life  time.Duration // after the renewal, of a lease that had a minute left
	}{
		"a lease of its own lasts for a whole TTL again": {l.owner, true, time.Hour},
		"another's keeps the time that it had":           {"another", false, time.Minute},
		"one that has ended is not made anew":            {"", false, -2}, // says Redis of a key that is not there
	} {
		t.Run(name, func(t *testing.T) {
			env.Redis.Del(t.Context(), l.key)
			if row.owner != "" {
				env.Redis.Set(t.Context(), l.key, row.owner, time.Minute)
			}
			held, err := env.renew(t.Context(), l, time.Now().Add(time.Minute))
			if held != row.held || err != nil {
				t.Errorf("held is %v, %v, want %v", held, err, row.held)
			}
			life, err := env.Redis.PTTL(t.Context(), l.key).Result()
			if err != nil || life > row.life || row.life > 0 && life < row.life-30*time.Second {
				t.Errorf("the lease lasts for %v (%v), want %v", life, err, row.life)
			}
		})
	}
}

func TestAKeptLeaseIsRenewedAndTheWorkGoesOn(t *testing.T) {
	t.Parallel()
	env, l := keptLease(t, 3*time.Second)
	// The lease would last for an hour; a renewal makes it last for its TTL.
	env.Redis.PExpire(t.Context(), l.key, time.Hour)
	lost := errors.New("a reply was lost")
	third := make(chan struct{})
	hookRenewals(env, func(n int64) error {
		switch n {
		case 1:
			return lost // one that fails is made up for by the next
		case 3:
			close(third)
		}
		return nil
	})
	work, stop := env.keep(t.Context(), l)
	select {
	case <-work.Done(): // seen below
	case <-third:
	case <-time.After(tooLong):
		t.Error("there is no third renewal")
	}
	life, err := env.Redis.PTTL(t.Context(), l.key).Result()
	if err != nil || life <= 0 || life > 3*time.Second {
		t.Errorf("the lease lasts for %v (%v), want what a renewal leaves", life, err)
	}
	if work.Err() != nil {
		t.Errorf("the work was cancelled: %v", context.Cause(work))
	}
	stop()
	if cause := context.Cause(work); !errors.Is(cause, context.Canceled) || errors.Is(cause, ErrContended) {
		t.Errorf("after the end the cause is %v, want %v", cause, context.Canceled)
	}
}

func TestALeaseThatIsLostCancelsTheWork(t *testing.T) {
	const ttl = 60 * time.Millisecond
	for name, row := range map[string]struct {
		lose  func(Env, lease)
		renew func(n int64) error
		after time.Duration // not before
	}{
		"because it is another's":                        {func(e Env, l lease) { e.Redis.Set(t.Context(), l.key, "another", time.Hour) }, nil, 0},
		"because it has ended":                           {func(e Env, l lease) { e.Redis.Del(t.Context(), l.key) }, nil, 0},
		"because Redis has not answered for a whole TTL": {func(e Env, l lease) {}, func(int64) error { return errors.New("gone") }, ttl},
	} {
		t.Run(name, func(t *testing.T) {
			env, l := keptLease(t, ttl)
			var events []Event // read after stop
			env.Tell = func(_ context.Context, e Event) { events = append(events, e) }
			row.lose(env, l)
			if row.renew != nil {
				hookRenewals(env, row.renew)
			}
			from := time.Now()
			work, stop := env.keep(t.Context(), l)
			wantSoon(t, work.Done(), "the end of the work")
			if took := time.Since(from); took < row.after {
				t.Errorf("the work was cancelled after %v, while the lease might still last", took)
			}
			stop()
			if cause := context.Cause(work); !errors.Is(cause, errLeaseLost) {
				t.Errorf("the cause is %v, want %v", cause, errLeaseLost)
			}
			if len(events) != 1 || events[0] != (Event{Kind: LeaseLost, SKU: "hot"}) {
				t.Errorf("the events are %+v, want one %v", events, LeaseLost)
			}
			if err := notSold(work, errors.New("a statement was cancelled")); !errors.Is(err, ErrContended) {
				t.Errorf("the order is told %v, want %v", err, ErrContended)
			}
		})
	}
}

// A Redis that neither answers nor refuses must not hide that the lease is over.
func TestARenewalThatHangsEndsWithTheLease(t *testing.T) {
	env, l := keptLease(t, 60*time.Millisecond)
	hung := make(chan struct{})
	env.Redis.(*redis.Client).AddHook(hang{hung})
	work, stop := env.keep(t.Context(), l)
	wantSoon(t, work.Done(), "the end of the work")
	close(hung) // too late for the test to pass by it
	stop()
	if cause := context.Cause(work); !errors.Is(cause, errLeaseLost) {
		t.Errorf("the cause is %v, want %v", cause, errLeaseLost)
	}
}

// hang is a hook that lets renewals wait until their context ends, or the channel is closed.
type hang struct{ until chan struct{} }

func (hang) DialHook(next redis.DialHook) redis.DialHook { return next }
func (hang) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (h hang) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if stepOf(cmd) != "renew" {
			return next(ctx, cmd)
		}
		select {
		case <-ctx.Done():
		case <-h.until:
		}
		cmd.SetErr(ctx.Err())
		return ctx.Err()
	}
}

func TestNobodyKeepsALeaseThatIsNotNeededAnyMore(t *testing.T) {
	for name, end := range map[string]func(stop, cancel func()){
		"because the work is done":             func(stop, _ func()) { stop() },
		"because its request was cancelled":    func(stop, cancel func()) { cancel(); stop() },
		"even if that was said more than once": func(stop, _ func()) { stop(); stop() },
	} {
		t.Run(name, func(t *testing.T) {
			env, l := keptLease(t, time.Hour)
			env.Tell = func(_ context.Context, e Event) { t.Errorf("told of %+v", e) }
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, stop := env.keep(ctx, l)
			end(stop, cancel)
			for from := time.Now(); ; runtime.Gosched() { // it has done its last when stop returns, and is about to end
				running := goroutines(t)
				if !strings.Contains(running, "Env.keep") {
					break
				}
				if time.Since(from) > tooLong {
					t.Fatalf("the goroutine goes on:\n%s", running)
				}
			}
		})
	}
}

// goroutines returns the stacks of all.
func goroutines(t *testing.T) string {
	t.Helper()
	var stacks strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
		t.Fatal(err)
	}
	return stacks.String()
}

func TestLeaseSettingsThatCannotWorkAreRefused(t *testing.T) {
	if err := DefaultLease().Validate(); err != nil {
		t.Errorf("the default: %v", err)
	}
	for name, row := range map[string]struct {
		change func(*LeaseSettings)
		want   string // part of the error, "" for none
	}{
		"a TTL below what Redis keeps":             {func(s *LeaseSettings) { s.TTL = time.Microsecond }, "TTL of 1µs"},
		"a wait below zero":                        {func(s *LeaseSettings) { s.Wait = -1 }, "wait limit"},
		"no wait":                                  {func(s *LeaseSettings) { s.Wait = 0 }, ""},
		"a retry without a pause":                  {func(s *LeaseSettings) { s.Retry = 0 }, "would spin"},
		"a prefix of Laravel's":                    {func(s *LeaseSettings) { s.Laravel = "laravel_database_laravel_cache_:" }, ""},
		"a prefix with a blank in its middle":      {func(s *LeaseSettings) { s.Laravel = "my shop:" }, ""},
		"a prefix with the line's end of its file": {func(s *LeaseSettings) { s.Laravel = "laravel_cache_:\n" }, `"laravel_cache_:\n"`},
		"a prefix that begins with a blank":        {func(s *LeaseSettings) { s.Laravel = " laravel_cache_:" }, "white space"},
		"a prefix with a control character":        {func(s *LeaseSettings) { s.Laravel = "laravel\x00cache" }, "control character"},
	} {
		t.Run(name, func(t *testing.T) {
			s := DefaultLease()
			row.change(&s)
			err := s.Validate()
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want it to say %q", err, row.want)
			}
		})
	}
}
