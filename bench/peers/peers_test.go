package peers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/target/stack/stacktest"
)

func TestMain(m *testing.M) { stacktest.Main(m) }

// period is how long a crowd wants a lease.
const period = 3 * time.Second

// BenchmarkLease is a lease fought over for a period by waiters that each want it again as soon as they gave it back. All
// share one client. The cells are measured in an order that is drawn anew by every process, so that whatever the
// machine does besides meets all alike: repeat it by starting it again, as make bench-peers does, not by -count.
func BenchmarkLease(b *testing.B) {
	client, commands := connect(b)
	type cell struct {
		contender
		waiters int
	}
	var cells []cell
	for _, c := range contenders() {
		for _, waiters := range []int{1, 8, 64} {
			cells = append(cells, cell{c, waiters})
		}
	}
	rand.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	for _, c := range cells {
		b.Run(fmt.Sprintf("lease=%s/waiters=%d", c.name, c.waiters), func(b *testing.B) {
			hold := c.open(b, client, prefix())
			warmUp(b, hold, c.waiters)
			ctx, cancel := context.WithTimeout(b.Context(), period)
			defer cancel()
			before := commands.Load()
			got := crowd(ctx, hold, "hot", c.waiters)
			report(b, got, commands.Load()-before)
		})
	}
}

// warmUp opens as many connections as the crowd will need, and puts the scripts into Redis.
func warmUp(b *testing.B, hold holder, waiters int) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 300*time.Millisecond)
	defer cancel()
	crowd(ctx, hold, "cold", waiters)
}

func report(b *testing.B, got tally, commands int64) {
	b.Helper()
	for _, err := range got.errors {
		b.Error(err)
	}
	if got.overlaps > 0 {
		b.Errorf("%d critical sections began while another had not ended", got.overlaps)
	}
	n := float64(max(1, got.total()))
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	b.ReportMetric(0, "ns/op") // it would be the period
	b.ReportMetric(float64(got.total())/got.elapsed.Seconds(), "leases/s")
	b.ReportMetric(ms(percentile(got.waits, 50)), "p50-wait-ms")
	b.ReportMetric(ms(percentile(got.waits, 99)), "p99-wait-ms")
	b.ReportMetric(ms(percentile(got.waits, 100)), "longest-wait-ms")
	b.ReportMetric(jain(got.grants), "jain")
	b.ReportMetric(float64(commands)/n, "commands/lease")
	b.ReportMetric(ms(got.held)/n, "held-ms")
}

// connect returns the client that all contenders share, and a count of the commands that it was given.
func connect(t testing.TB) (*redis.Client, *atomic.Int64) {
	t.Helper()
	options, err := redis.ParseURL(stacktest.Start(t).Redis().URL())
	if err != nil {
		t.Fatal(err)
	}
	options.MaxRetries, options.PoolSize, options.ContextTimeoutEnabled = -1, 128, true
	client := redis.NewClient(options)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	commands := new(atomic.Int64)
	client.AddHook(counter{commands})
	return client, commands
}

// prefix keeps the keys of one crowd apart from those of any other.
func prefix() string { return fmt.Sprintf("peers:%d:", time.Now().UnixNano()) }

// counter is a hook that counts commands.
type counter struct{ n *atomic.Int64 }

func (counter) DialHook(next redis.DialHook) redis.DialHook { return next }
func (counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (c counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

// What is measured must be leases: each keeps the others out, and is given back.
func TestEveryContenderKeepsTheOthersOut(t *testing.T) {
	client, _ := connect(t)
	for _, c := range contenders() {
		t.Run(c.name, func(t *testing.T) {
			const waiters, enough = 4, 20
			hold := c.open(t, client, prefix())
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var left atomic.Int64
			left.Store(enough)
			got := crowd(ctx, func(ctx context.Context, key string, work func()) error {
				return hold(ctx, key, func() {
					work()
					if left.Add(-1) == 0 {
						cancel()
					}
				})
			}, "hot", waiters)
			for _, err := range got.errors {
				t.Error(err)
			}
			if got.overlaps != 0 {
				t.Errorf("%d sections overlap another", got.overlaps)
			}
			if n := got.total(); n < enough || len(got.waits) < n || len(got.waits) > n+waiters {
				t.Errorf("%d grants of %d at least, %d waits by %d waiters", n, enough, len(got.waits), waiters)
			}
			if got.held < time.Duration(got.total())*section {
				t.Errorf("%d sections took %v in all", got.total(), got.held)
			}
		})
	}
}

func TestALeaseThatKeepsNobodyOutIsFound(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var here sync.WaitGroup // until both are, so that neither is done before the other begins
	here.Add(2)
	var left atomic.Int64
	left.Store(50)
	got := crowd(ctx, func(_ context.Context, _ string, work func()) error {
		if n := left.Add(-1); n >= 48 {
			here.Done()
			here.Wait()
		} else if n < 0 {
			cancel()
		}
		work()
		return nil
	}, "hot", 2)
	if got.overlaps == 0 {
		t.Error("fifty sections of two at once, and no overlap was counted")
	}
}
