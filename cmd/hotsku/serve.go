package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/stack"
	"github.com/hotsku/hotsku/target/steps"
)

// servers are the flags that name a database, a Redis and further ones.
type servers struct {
	MySQLDSN   string   `name:"mysql-dsn" env:"HOTSKU_MYSQL_DSN" placeholder:"DSN" help:"Database to use, as user:password@tcp(host:port)/name. Better given by $$HOTSKU_MYSQL_DSN: others can read a command line."`
	RedisAddr  string   `name:"redis-addr" env:"HOTSKU_REDIS_ADDR" placeholder:"ADDR" help:"Redis to use, as host:port or redis://user:password@host:port/number."`
	RedisNodes []string `name:"redis-nodes" env:"HOTSKU_REDIS_NODES" placeholder:"ADDR" help:"Independent Redis processes to use for a lock that wants a majority, each as --redis-addr."`
}

type serveCommand struct {
	servers  `group:"Servers"`
	Listen   string        `default:"127.0.0.1:8080" help:"Address to serve on; port 0 takes a free one."`
	Replica  string        `default:"replica" help:"Name of this process in every order that it sells."`
	Strategy string        `required:"" help:"How to guard the stock; see hotsku strategies."`
	Timeout  time.Duration `default:"4s" help:"Limit of one checkout."`

	LeaseTTL     time.Duration `name:"lease-ttl" default:"2s" group:"Lease" help:"A lease expires this long after it was granted."`
	LeaseWait    time.Duration `default:"1s" group:"Lease" help:"An order waits this long for the lease."`
	LeaseRetry   time.Duration `default:"4ms" group:"Lease" help:"Mean pause before the second try; it doubles with every further one, up to 16 times."`
	LeaseLaravel string        `group:"Lease" placeholder:"PREFIX" help:"Share each SKU's lease with PHP's Cache::lock: what Laravel puts before the lock's name, the prefixes of its Redis connection and of its cache joined."`

	AdminToken       string `env:"HOTSKU_ADMIN_TOKEN" placeholder:"TOKEN" group:"Servers" help:"Token of the administrator's calls ($$HOTSKU_ADMIN_TOKEN); without one they are refused."`
	RedisPrefix      string `default:"hotsku:" group:"Servers" help:"Start of every key in Redis."`
	DBConnections    int    `name:"db-connections" default:"16" group:"Servers" help:"Size of the pool of database connections."`
	RedisConnections int    `default:"64" group:"Servers" help:"Size of the pool of Redis connections."`

	Record           bool          `group:"Bench" help:"Count executions, for the audit, in memory."`
	Trace            bool          `group:"Bench" help:"Keep every step, in memory."`
	StallBefore      string        `group:"Bench" placeholder:"STEPS" help:"Hold some orders back before this step, such as \"update inventory\", or before the first of several separated by \", \"."`
	StallKind        string        `group:"Bench" default:"order" enum:"${stall_kinds}" help:"What stalls: the order alone; the whole replica; or the order, once Redis has lost all keys below the prefix (${enum})."`
	StallFor         time.Duration `group:"Bench" help:"For how long; with --stall-least, at most."`
	StallLeast       time.Duration `group:"Bench" help:"Draw each order's length evenly from this to --stall-for."`
	StallProbability float64       `group:"Bench" help:"Share of the orders that are held back."`
	StallSeed        uint64        `group:"Bench" help:"Decides, with the order's key, which, and for how long."`
	StallSKU         string        `name:"stall-sku" group:"Bench" help:"Only orders of this SKU."`

	LogLevel slog.Level `default:"warn" help:"Least level that is logged: debug, info, warn or error."`
}

// Run serves until it is interrupted.
func (c serveCommand) Run(ctx context.Context, to stream) error {
	info, err := strategies.Get(c.Strategy)
	if err != nil {
		return usage(err)
	}
	if c.LeaseLaravel != "" && !info.Lease {
		return usage(fmt.Errorf("--lease-laravel: the strategy %s does not take the lease that PHP would share", info.Name))
	}
	if c.StallBefore == "" && (c.StallFor != 0 || c.StallProbability != 0) {
		return usage(errors.New("--stall-for and --stall-probability: say before which step, by --stall-before"))
	}
	if c.MySQLDSN == "" {
		return usage(fmt.Errorf("give the database by --mysql-dsn or $HOTSKU_MYSQL_DSN"))
	}
	log := slog.New(slog.NewTextHandler(to.err, &slog.HandlerOptions{Level: c.LogLevel})).With("replica", c.Replica)
	target.LogRedis(log)
	server, err := target.New(c.config(log))
	if err != nil {
		return usage(err)
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return environment(fmt.Errorf("listen: %w; give another address by --listen", err))
	}
	if err := c.prepare(ctx); err != nil {
		return environment(errors.Join(err, listener.Close()))
	}
	// Whoever started this process waits for the line.
	fmt.Fprintf(to.out, "listening on http://%s\n", listener.Addr())
	return server.Serve(ctx, listener)
}

func (c serveCommand) config(log *slog.Logger) target.Config {
	cfg := target.Config{
		Replica: c.Replica, Strategy: c.Strategy, Timeout: c.Timeout,
		Lease: strategies.LeaseSettings{TTL: c.LeaseTTL, Wait: c.LeaseWait, Retry: c.LeaseRetry, Laravel: c.LeaseLaravel},
		DSN:   c.MySQLDSN, DBConnections: c.DBConnections,
		RedisURL: redisURL(c.RedisAddr), RedisPrefix: c.RedisPrefix, RedisConnections: c.RedisConnections,
		RedisNodes: redisURLs(c.RedisNodes),
		AdminToken: c.AdminToken, Record: c.Record, Trace: c.Trace, Log: log,
	}
	if c.StallBefore != "" {
		cfg.Stall = &steps.Stall{
			Kind: steps.Kind(c.StallKind), SKU: c.StallSKU, Steps: strings.Split(c.StallBefore, ", "),
			Length: c.StallFor, Least: c.StallLeast, Probability: c.StallProbability, Seed: c.StallSeed,
		}
	}
	return cfg
}

// prepare proves that the database may be written to, and creates the tables that are missing.
func (c serveCommand) prepare(ctx context.Context) error {
	if err := stack.Claim(ctx, c.MySQLDSN); err != nil {
		return err
	}
	db, err := target.OpenDatabase(c.MySQLDSN, 1, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return target.Migrate(ctx, db)
}

func redisURLs(addresses []string) (urls []string) {
	for _, address := range addresses {
		urls = append(urls, redisURL(address))
	}
	return urls
}

// redisURL turns host:port into a redis:// URL; empty stays empty.
func redisURL(address string) string {
	if address == "" || strings.Contains(address, "://") {
		return address
	}
	return "redis://" + address
}
