package bench_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/stack/stacktest"
)

// BenchmarkCheckout is one sale by each strategy on the real servers, without HTTP, from so many goroutines at once.
//
// The stock does not bind while the clock runs. After it has stopped, a stock of 64 is fought over by 256 orders, and
// oversold-units says how many too many were sold: sales/s, p50-ns and p99-ns belong to the timed part.
func BenchmarkCheckout(b *testing.B) {
	for _, info := range strategies.All() {
		for _, contenders := range contenders(info.Name) {
			b.Run(fmt.Sprintf("strategy=%s/contenders=%d", info.Name, contenders), func(b *testing.B) {
				shop := newShop(b, 32)
				s := shop.start(b, info)
				shop.fight(b, s, shop.sku(b, 2*contenders), 2*contenders, contenders) // opens the connections
				sku := shop.sku(b, b.N)
				b.ResetTimer()
				times := shop.fight(b, s, sku, b.N, contenders)
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sales/s")
				b.ReportMetric(float64(times.ValueAtPercentile(50)), "p50-ns")
				b.ReportMetric(float64(times.ValueAtPercentile(99)), "p99-ns")
				scarce := shop.sku(b, 64)
				shop.fight(b, s, scarce, 256, contenders)
				b.ReportMetric(float64(max(0, shop.sold(b, scarce)-64)), "oversold-units")
			})
		}
	}
}

// contenders returns from how many goroutines at once a strategy is tried. What batch is for shows in a crowd.
func contenders(strategy string) []int {
	if strategy == "db-conditional" || strategy == "batch" {
		return []int{1, 8, 64, 256}
	}
	return []int{1, 8, 64}
}

// shop is what strategies work on: the shared servers, with pools of a given size.
type shop struct{ strategies.Env }

func newShop(b *testing.B, connections int) shop {
	b.Helper()
	s := stacktest.Start(b)
	db, err := target.OpenDatabase(s.DSN(), connections, nil)
	if err != nil {
		b.Fatal(err)
	}
	client, err := target.OpenRedis(s.Redis().URL()+"?read_timeout=1m", 128, nil) // a hiccup of the machine fails nothing
	if err != nil {
		b.Fatal(err)
	}
	var nodes []redis.UniversalClient // five databases of one process stand in for five processes: they cost the same commands
	closing := []io.Closer{db, client}
	for n := range 5 {
		config := s.Redis()
		config.DB = n + 1
		node, err := target.OpenRedis(config.URL()+"?read_timeout=1m", 128, nil)
		if err != nil {
			b.Fatal(err)
		}
		nodes, closing = append(nodes, node), append(closing, node)
	}
	b.Cleanup(func() {
		for _, c := range closing {
			if err := c.Close(); err != nil {
				b.Error(err)
			}
		}
	})
	if err := target.Migrate(b.Context(), db); err != nil {
		b.Fatal(err)
	}
	return shop{strategies.Env{
		DB: db, Redis: client, Nodes: nodes, Prefix: s.KeyPrefix(), Replica: "bench", Log: slog.New(slog.DiscardHandler),
		Lease: strategies.LeaseSettings{TTL: 10 * time.Second, Wait: time.Minute, Retry: 5 * time.Millisecond},
	}}
}

// start makes a strategy, whose work in the background ends with the benchmark.
func (s shop) start(b *testing.B, info strategies.Info) strategies.Strategy {
	b.Helper()
	strategy, err := info.New(s.Env)
	if err != nil {
		b.Fatal(err)
	}
	if background, ok := strategy.(io.Closer); ok {
		b.Cleanup(func() {
			if err := background.Close(); err != nil {
				b.Error(err)
			}
		})
	}
	return strategy
}

var skus atomic.Int64

// sku puts stock units of a fresh SKU on sale.
func (s shop) sku(b *testing.B, stock int) string {
	b.Helper()
	sku := fmt.Sprintf("bench-%d-%d", time.Now().UnixNano(), skus.Add(1))
	if _, err := s.DB.ExecContext(b.Context(), `INSERT INTO inventory (sku, stock) VALUES (?, ?)`, sku, stock); err != nil {
		b.Fatal(err)
	}
	return sku
}

func (s shop) sold(b *testing.B, sku string) (units int64) {
	b.Helper()
	row := s.DB.QueryRowContext(b.Context(), `SELECT COALESCE(SUM(quantity), 0) FROM orders WHERE sku = ?`, sku)
	if err := row.Scan(&units); err != nil {
		b.Fatal(err)
	}
	return units
}

// fight sends orders for one unit each from so many goroutines and returns the times of all of them.
func (s shop) fight(b *testing.B, strategy strategies.Strategy, sku string, orders, contenders int) *hdrhistogram.Histogram {
	b.Helper()
	return drive(b, orders, contenders, func(n int) error {
		_, err := strategy.Checkout(b.Context(), strategies.Order{
			Key: fmt.Sprintf("%s/%d", sku, n), SKU: sku, Quantity: 1, Customer: "customer-1",
		})
		if errors.Is(err, strategies.ErrSoldOut) {
			return nil
		}
		return err
	})
}

// drive calls do for 0 to orders−1 from so many goroutines, each taking the next number when it is done with one.
func drive(b *testing.B, orders, contenders int, do func(n int) error) *hdrhistogram.Histogram {
	b.Helper()
	var next atomic.Int64
	var done sync.WaitGroup
	histograms := make([]*hdrhistogram.Histogram, contenders)
	for i := range contenders {
		histograms[i] = hdrhistogram.New(1_000, 120_000_000_000, 3)
		done.Go(func() {
			for n := next.Add(1) - 1; n < int64(orders); n = next.Add(1) - 1 {
				from := time.Now()
				if err := do(int(n)); err != nil {
					b.Errorf("order %d: %v", n, err)
					return
				}
				if err := histograms[i].RecordValue(time.Since(from).Nanoseconds()); err != nil {
					b.Errorf("order %d: %v", n, err)
				}
			}
		})
	}
	done.Wait()
	for _, h := range histograms[1:] {
		histograms[0].Merge(h)
	}
	return histograms[0]
}

// bareSale is the transaction of db-conditional on the bare driver: the floor under every other path.
func bareSale(ctx context.Context, db *sql.DB, sku, key string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it does nothing
	result, err := tx.ExecContext(ctx, `UPDATE inventory SET stock = stock - 1, sold = LAST_INSERT_ID(sold + 1) WHERE sku = ? AND stock >= 1`, sku)
	if err != nil {
		return err
	}
	position, err := result.LastInsertId()
	if err != nil {
		return err
	}
	result, err = tx.ExecContext(ctx, `INSERT INTO orders (sku, quantity, position, customer, idempotency_key, fence, replica, created_at)
		VALUES (?, 1, ?, 'customer-1', ?, 0, 'bench', ?)`, sku, position, key, time.Now().UTC())
	if err != nil {
		return err
	}
	id, err := result.LastInsertId()
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO outbox (order_id, kind) VALUES (?, 'payment'), (?, 'mail')`, id, id); err != nil {
		return err
	}
	return tx.Commit()
}
