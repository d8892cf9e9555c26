package bench_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/stack/stacktest"
)

// replicaCommand makes this test binary a replica of the checkout service, as a process of its own.
const replicaCommand = "bench-replica"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == replicaCommand {
		if err := serveReplica(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	stacktest.Main(m)
}

func serveReplica(name, strategy string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server, err := target.New(target.Config{
		Replica: name, Strategy: strategy, Lease: strategies.DefaultLease(), Timeout: 4 * time.Second,
		DSN: os.Getenv("HOTSKU_MYSQL_DSN"), DBConnections: 16,
		RedisURL: os.Getenv("HOTSKU_REDIS_ADDR"), RedisPrefix: "hotsku:bench:", RedisConnections: 64,
		AdminToken: os.Getenv("HOTSKU_ADMIN_TOKEN"), Record: true, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return server.Serve(ctx, listener)
}
