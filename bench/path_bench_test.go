package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/hotsku/hotsku/bench"
	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target/api"
	"github.com/hotsku/hotsku/target/stack"
	"github.com/hotsku/hotsku/target/stack/stacktest"
)

// BenchmarkPath is one sale by db-conditional from 32 goroutines: on the bare driver, by the strategy, and over HTTP
// through three replicas that are processes of their own. The differences are what each layer costs.
//
// As under load, each replica has its share of the cores. With more, its runtime wakes threads for work that one could
// do: on two cores that made path=http a tenth slower.
func BenchmarkPath(b *testing.B) {
	const contenders = 32
	b.Run("path=driver", func(b *testing.B) {
		shop := newShop(b, 48)
		sku := shop.sku(b, b.N)
		b.ResetTimer()
		drive(b, b.N, contenders, func(n int) error {
			return bareSale(b.Context(), shop.DB, sku, fmt.Sprintf("%s/%d", sku, n))
		})
	})
	b.Run("path=strategy", func(b *testing.B) {
		shop := newShop(b, 48)
		info, err := strategies.Get("db-conditional")
		if err != nil {
			b.Fatal(err)
		}
		s := shop.start(b, info)
		sku := shop.sku(b, b.N)
		b.ResetTimer()
		shop.fight(b, s, sku, b.N, contenders)
	})
	b.Run("path=http", func(b *testing.B) {
		newShop(b, 1) // the tables
		target := startReplicas(b, "db-conditional", 3)
		sku := fmt.Sprintf("bench-%d-http", time.Now().UnixNano())
		if err := target.CreateSKU(b.Context(), sku, int64(b.N)); err != nil {
			b.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: contenders}}
		defer client.CloseIdleConnections()
		b.ResetTimer()
		drive(b, b.N, contenders, func(n int) error { return post(client, target.Addresses[n%3], sku, n) })
		b.StopTimer()
	})
}

func post(client *http.Client, address, sku string, n int) error {
	body := fmt.Appendf(nil, `{"sku":%q,"quantity":1,"customer":"customer-1"}`, sku)
	request, err := http.NewRequest(http.MethodPost, address+api.PathCheckouts, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.GetBody = nil // see the attack: nothing is sent twice
	request.Header.Set(api.HeaderKey, fmt.Sprintf("%s/%d", sku, n))
	reply, err := client.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	said, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode != http.StatusCreated {
		err = fmt.Errorf("%d: %s", reply.StatusCode, said)
	}
	return err
}

// startReplicas starts replicas of the service on the shared servers, and ends them with the benchmark.
func startReplicas(b *testing.B, strategy string, replicas int) bench.Target {
	b.Helper()
	s := stacktest.Start(b)
	executable, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	target := bench.Target{Token: "the-token-of-this-benchmark"}
	for i := range replicas {
		name := fmt.Sprintf("replica-%d", i+1)
		r, err := s.StartReplica(b.Context(), stack.Command{
			Name: name, Path: executable, Args: []string{replicaCommand, name, strategy},
			Env: []string{fmt.Sprintf("GOMAXPROCS=%d", max(1, runtime.NumCPU()/replicas)), "HOTSKU_MYSQL_DSN=" + s.DSN(), "HOTSKU_REDIS_ADDR=" + s.Redis().URL(), "HOTSKU_ADMIN_TOKEN=" + target.Token},
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := r.Stop(context.WithoutCancel(b.Context())); err != nil {
				b.Error(err)
			}
		})
		target.Addresses = append(target.Addresses, r.Address())
		target.Names = append(target.Names, name)
	}
	return target
}
