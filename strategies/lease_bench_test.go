package strategies

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/target/stack/stacktest"
)

// BenchmarkLease is one lease taken and given back, by so many goroutines that want the same one: plain by SET NX PX,
// fenced by the script that draws a token, too. waits/op is how often an order was refused before it got its turn.
func BenchmarkLease(b *testing.B) {
	for _, kind := range []string{"plain", "fenced"} {
		for _, waiters := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("lease=%s/waiters=%d", kind, waiters), func(b *testing.B) {
				env, tries := leaseEnv(b)
				take := env.acquire
				if kind == "fenced" {
					take = env.acquireFenced
				}
				var left atomic.Int64
				left.Store(int64(b.N))
				var done sync.WaitGroup
				b.ResetTimer()
				for range waiters {
					done.Go(func() {
						for left.Add(-1) >= 0 {
							l, err := take(b.Context(), "hot")
							if err != nil {
								b.Error(err)
								return
							}
							env.release(b.Context(), l)
						}
					})
				}
				done.Wait()
				b.StopTimer()
				b.ReportMetric(float64(tries.Load()-int64(b.N))/float64(b.N), "waits/op")
			})
		}
	}
}

// leaseEnv returns what a lease needs, and a count of the tries to take one.
func leaseEnv(b *testing.B) (Env, *atomic.Int64) {
	b.Helper()
	s := stacktest.Start(b)
	options, err := redis.ParseURL(s.Redis().URL())
	if err != nil {
		b.Fatal(err)
	}
	options.MaxRetries, options.PoolSize = -1, 128
	client := redis.NewClient(options)
	b.Cleanup(func() {
		if err := client.Close(); err != nil {
			b.Error(err)
		}
	})
	tries := new(atomic.Int64)
	client.AddHook(counter{tries})
	return Env{
		Redis: client, Prefix: fmt.Sprintf("%sbench-%d:", s.KeyPrefix(), time.Now().UnixNano()), Log: slog.New(slog.DiscardHandler),
		Lease: LeaseSettings{TTL: 10 * time.Second, Wait: time.Minute, Retry: 4 * time.Millisecond},
	}, tries
}

// counter is a hook that counts the commands that try to take a lease.
type counter struct{ tries *atomic.Int64 }

func (counter) DialHook(next redis.DialHook) redis.DialHook { return next }
func (counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (c counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "set" || cmd.Name() == "evalsha" && cmd.Args()[1] == acquireScript.Hash() {
			c.tries.Add(1)
		}
		return next(ctx, cmd)
	}
}
