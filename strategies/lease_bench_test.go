package strategies

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/target/stack/stacktest"
)

// BenchmarkLease is one lease taken and given back, by so many goroutines that want the same one: plain by SET NX PX,
// fenced by the script that draws a token, too, fair by the line in which waiters are served in order. p50-ns and p99-ns
// are of the wait for the lease; waits/op is how often it was asked for in vain before it was granted.
func BenchmarkLease(b *testing.B) {
	for _, kind := range []string{"plain", "fenced", "fair"} {
		for _, waiters := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("lease=%s/waiters=%d", kind, waiters), func(b *testing.B) {
				env, counted := leaseEnv(b)
				take, give := env.acquire, env.release
				switch kind {
				case "fenced":
					take = env.acquireFenced
				case "fair":
					line := newFairLine(env)
					b.Cleanup(func() {
						if err := line.Close(); err != nil {
							b.Error(err)
						}
					})
					take, give = line.acquire, line.release
				}
				takeTurns(b, 4*waiters, waiters, take, give) // connections are opened, and everybody has stood in line
				asked := counted.of("acquire")
				b.ResetTimer()
				waits := takeTurns(b, b.N, waiters, take, give)
				b.StopTimer()
				b.ReportMetric(float64(waits.ValueAtPercentile(50)), "p50-ns")
				b.ReportMetric(float64(waits.ValueAtPercentile(99)), "p99-ns")
				b.ReportMetric(float64(counted.of("acquire")-asked-int64(b.N))/float64(b.N), "waits/op")
			})
		}
	}
}

// takeTurns takes and gives back the lease n times, from so many goroutines, and returns the times of taking it.
func takeTurns(b *testing.B, n, waiters int, take func(context.Context, string) (lease, error), give func(context.Context, lease)) *hdrhistogram.Histogram {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	var done sync.WaitGroup
	waits := make([]*hdrhistogram.Histogram, waiters)
	for i := range waits {
		waits[i] = hdrhistogram.New(1_000, 120_000_000_000, 3)
		done.Go(func() {
			for left.Add(-1) >= 0 {
				from := time.Now()
				l, err := take(b.Context(), "hot")
				if err != nil {
					b.Error(err)
					return
				}
				if err := waits[i].RecordValue(time.Since(from).Nanoseconds()); err != nil {
					b.Error(err)
				}
				give(b.Context(), l)
			}
		})
	}
	done.Wait()
	for _, w := range waits[1:] {
		waits[0].Merge(w)
	}
	return waits[0]
}

// leaseEnv returns what a lease needs, with keys of the test's own, and a count of the steps sent to Redis.
func leaseEnv(t testing.TB) (Env, *counter) {
	t.Helper()
	s := stacktest.Start(t)
	options, err := redis.ParseURL(s.Redis().URL())
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("test-%d", time.Now().UnixNano())
	options.ClientName, options.MaxRetries, options.PoolSize, options.ContextTimeoutEnabled = name, -1, 128, true
	client := redis.NewClient(options)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	counted := &counter{steps: map[string]int64{}}
	client.AddHook(counted)
	return Env{
		Redis: client, Prefix: s.KeyPrefix() + name + ":", Log: slog.New(slog.DiscardHandler),
		Lease: LeaseSettings{TTL: 10 * time.Second, Wait: time.Minute, Retry: 4 * time.Millisecond},
	}, counted
}

// counter is a hook that counts the commands by the steps that they are.
type counter struct {
	mu    sync.Mutex
	steps map[string]int64
}

func (c *counter) of(step string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.steps[step]
}

func (c *counter) all() (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range c.steps {
		n += of
	}
	return n
}

func (c *counter) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.mu.Lock()
		c.steps[stepOf(cmd)]++
		c.mu.Unlock()
		return next(ctx, cmd)
	}
}

// stepOf returns the name of the step that a command is.
func stepOf(cmd redis.Cmder) string {
	switch cmd.Name() {
	case "set":
		return "acquire"
	case "evalsha":
		return scripts[cmd.Args()[1].(string)]
	}
	return cmd.Name()
}
