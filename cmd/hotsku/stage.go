package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotsku/hotsku/bench"
	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/stack"
)

// stage puts hotsku's own target up: for every trial fresh processes of hotsku serve, on the stack's servers.
type stage struct {
	stack    *stack.Stack
	replicas int
	token    string // of the administrator, made for this run
	running  []*stack.Replica
}

var _ bench.Stage = (*stage)(nil)

func newStage(s *stack.Stack, replicas int) *stage {
	return &stage{stack: s, replicas: replicas, token: rand.Text()}
}

// Begin starts the replicas, all at once.
func (s *stage) Begin(ctx context.Context, setting bench.Setting) (bench.Target, error) {
	executable, err := os.Executable()
	if err != nil {
		return bench.Target{}, fmt.Errorf("find this program: %w", err)
	}
	s.running = make([]*stack.Replica, s.replicas)
	errs := make([]error, s.replicas)
	var started sync.WaitGroup
	for i := range s.replicas {
		started.Go(func() {
			s.running[i], errs[i] = s.stack.StartReplica(ctx, s.command(executable, replicaName(i), setting))
		})
	}
	started.Wait()
	if err := errors.Join(errs...); err != nil {
		return bench.Target{}, errors.Join(err, s.End(ctx))
	}
	target := bench.Target{Token: s.token}
	for _, r := range s.running {
		target.Addresses = append(target.Addresses, r.Address())
		target.Names = append(target.Names, r.Name())
	}
	return target, nil
}

func replicaName(i int) string { return fmt.Sprintf("replica-%d", i+1) }

// command is the command line of one replica. Secrets go by the environment, which other users cannot read.
func (s *stage) command(executable, name string, setting bench.Setting) stack.Command {
	scenario := setting.Scenario
	args := []string{
		"serve", "--listen=127.0.0.1:0", "--replica=" + name, "--strategy=" + setting.Strategy,
		"--redis-prefix=" + s.stack.KeyPrefix(), "--record",
		"--lease-ttl=" + scenario.Lease.TTL.String(), "--lease-wait=" + scenario.Lease.Wait.String(),
		"--lease-retry=" + scenario.Lease.Retry.String(), "--timeout=" + replicaTimeout(scenario).String(),
	}
	if !scenario.Untraced {
		args = append(args, "--trace")
	}
	if stall := scenario.Stall; stall != nil {
		args = append(args, "--stall-sku="+setting.SKU, "--stall-before="+stall.Before,
			"--stall-kind="+string(cmp.Or(stall.Kind, results.StallOrder)),
			"--stall-for="+stall.For.String(), "--stall-least="+stall.Least.String(),
			fmt.Sprintf("--stall-probability=%g", stall.Probability), fmt.Sprintf("--stall-seed=%d", setting.Seed))
	}
	return stack.Command{
		Name: name, Path: executable, Args: args,
		Env: []string{
			fmt.Sprintf("GOMAXPROCS=%d", replicaProcs(s.replicas)),
			"HOTSKU_MYSQL_DSN=" + s.stack.DSN(), "HOTSKU_REDIS_ADDR=" + s.stack.Redis().URL(),
			"HOTSKU_REDIS_NODES=" + strings.Join(nodeURLs(s.stack), ","), "HOTSKU_ADMIN_TOKEN=" + s.token,
		},
	}
}

// replicaTimeout is how long a replica may work on an order. It gives up before the client does, who is told so.
func replicaTimeout(s results.Scenario) time.Duration { return s.Timeout.D() * 4 / 5 }

func nodeURLs(s *stack.Stack) (urls []string) {
	for _, node := range s.RedisNodes() {
		urls = append(urls, node.URL())
	}
	return urls
}

// replicaProcs is the GOMAXPROCS of each replica: its share of the cores, as a container's limit would give it.
// With more, replicas on one machine wake threads for work that one could do.
func replicaProcs(replicas int) int { return max(1, runtime.NumCPU()/replicas) }

// End stops the replicas that Begin started, all at once.
func (s *stage) End(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // what was started is stopped, also after an interrupt
	errs := make([]error, len(s.running))
	var stopped sync.WaitGroup
	for i, r := range s.running {
		if r != nil {
			stopped.Go(func() { errs[i] = r.Stop(ctx) })
		}
	}
	stopped.Wait()
	s.running = nil
	return errors.Join(errs...)
}

type wardenCommand struct{}

// Run cleans up once the parent has gone.
func (wardenCommand) Run() error { return stack.RunWarden(os.Stdin, os.Stdout) }

// redact hides what a command line may hold of secrets.
func redact(args []string) []string {
	shown := make([]string, len(args))
	hide := false
	for i, arg := range args {
		name, _, joined := strings.Cut(arg, "=")
		secret := slices.Contains([]string{"--mysql-dsn", "--redis-addr", "--redis-nodes", "--admin-token"}, name)
		switch {
		case hide:
			shown[i] = "…"
		case secret && joined:
			shown[i] = name + "=…"
		default:
			shown[i] = arg
		}
		hide = secret && !joined
	}
	return shown
}
