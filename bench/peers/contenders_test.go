package peers

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/strategies"
)

// The settings are the same for all: a lease that outlasts every disturbance, and hotsku's pauses between tries. Nobody
// gives up before the context ends.
const (
	ttl   = 10 * time.Second
	retry = 4 * time.Millisecond
	never = 1 << 30 // tries
)

// pauseAfter returns the pause after the n-th try that failed, from 0, as hotsku's leases have it: its mean doubles from
// retry to 16 times that, and it is drawn between half and one and a half of its mean.
func pauseAfter(n int) time.Duration {
	mean := retry << min(n, 4)
	return mean/2 + rand.N(mean)
}

// A holder waits for the lease of a key, calls work under it, and gives it back. Its error says that it had none.
type holder func(ctx context.Context, key string, work func()) error

// A contender is a lease under a name. A name that ends in "-default" has the library's own pauses.
type contender struct {
	name string
	open func(t testing.TB, client *redis.Client, prefix string) holder
}

func contenders() []contender {
	all := []contender{
		{"redsync", redsyncWith(redsync.WithRetryDelayFunc(func(tries int) time.Duration { return pauseAfter(tries - 1) }))},
		{"redsync-default", redsyncWith()},
		{"redislock", openRedislock},
	}
	for _, kind := range strategies.LeaseKinds() {
		all = append(all, contender{"hotsku-" + string(kind), hotsku(kind)})
	}
	return all
}

func hotsku(kind strategies.LeaseKind) func(testing.TB, *redis.Client, string) holder {
	return func(t testing.TB, client *redis.Client, prefix string) holder {
		leases, err := strategies.NewLeases(strategies.Env{
			Redis: client, Prefix: prefix, Lease: strategies.LeaseSettings{TTL: ttl, Wait: time.Hour, Retry: retry},
		}, kind)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := leases.Close(); err != nil {
				t.Error(err)
			}
		})
		return func(ctx context.Context, key string, work func()) error {
			return leases.Hold(ctx, key, func(context.Context, int64) error {
				work()
				return nil
			})
		}
	}
}

func redsyncWith(pauses ...redsync.Option) func(testing.TB, *redis.Client, string) holder {
	return func(t testing.TB, client *redis.Client, prefix string) holder {
		sync := redsync.New(goredis.NewPool(client))
		options := append(pauses, redsync.WithExpiry(ttl), redsync.WithTries(never))
		return func(ctx context.Context, key string, work func()) error {
			mutex := sync.NewMutex(prefix+key, options...)
			if err := mutex.LockContext(ctx); err != nil {
				return err
			}
			work()
			if _, err := mutex.UnlockContext(context.WithoutCancel(ctx)); err != nil {
				t.Errorf("redsync: unlock: %v", err)
			}
			return nil
		}
	}
}

// openRedislock has no variant with pauses of its own: by default it does not wait.
func openRedislock(t testing.TB, client *redis.Client, prefix string) holder {
	locks := redislock.New(client)
	return func(ctx context.Context, key string, work func()) error {
		lock, err := locks.Obtain(ctx, prefix+key, ttl, &redislock.Options{RetryStrategy: new(backoff)})
		if err != nil {
			return err
		}
		work()
		if err := lock.Release(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("redislock: release: %v", err)
		}
		return nil
	}
}

// backoff is pauseAfter for one wait.
type backoff int

// NextBackoff implements [redislock.RetryStrategy].
func (b *backoff) NextBackoff() time.Duration {
	defer func() { *b++ }()
	return pauseAfter(int(*b))
}
