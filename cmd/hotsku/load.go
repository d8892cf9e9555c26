package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotsku/hotsku/bench"
	"github.com/hotsku/hotsku/plots"
	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/stack"
)

type loadCommand struct {
	servers    `group:"Servers"`
	Plan       string   `default:"default" help:"Built-in plan (see hotsku plans) or a YAML file."`
	Strategies []string `placeholder:"NAME,…" help:"Run these strategies instead of the plan's; all, safe and controls stand for several."`
	Scenarios  []string `placeholder:"NAME,…" help:"Run only these of the plan's scenarios."`
	Blocks     *int     `placeholder:"N" help:"Run so many blocks instead of the plan's."`
	Seed       uint64   `placeholder:"N" help:"Repeat the arrivals, stalls and order of the run with this seed; 0 draws one."`
	Replicas   int      `default:"3" help:"Processes of the checkout service, 1 to 16."`
	Label      string   `placeholder:"WORDS" help:"Name of the run, a-z, 0-9 and '-'; the plan's name if empty."`
	Out        string   `default:"results/runs" type:"path" help:"Folder in which the run's folder is made."`
	Quiet      bool     `short:"q" help:"Print no progress."`
}

// Run puts the plan's strategies through its scenarios and leaves a run folder.
func (c loadCommand) Run(ctx context.Context, to stream) error {
	plan, claims, err := c.plan()
	if err != nil {
		return usage(err)
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return environment(fmt.Errorf("the folder for runs: %w; name another by --out", err))
	}
	target.LogRedis(slog.New(slog.DiscardHandler))
	progress := newProgress(to.err, c.Quiet, plan)
	progress.say("%s", c.opening())
	servers, err := stack.Start(ctx, stack.Options{
		MySQLDSN: c.MySQLDSN, RedisAddr: c.RedisAddr, RedisNodes: nodesFor(plan.Strategies), RedisNodeAddrs: c.RedisNodes,
		Warden: wardenCommandLine(), Nice: serversNice, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return started(ctx, err)
	}
	err = c.load(ctx, to, servers, plan, claims, progress)
	return errors.Join(err, servers.Close())
}

// opening says what happens before the first trial.
func (c loadCommand) opening() string {
	if c.MySQLDSN != "" && c.RedisAddr != "" {
		return "connecting to the servers"
	}
	return "starting the servers"
}

// loopback reports whether an address, with whatever stands around it, is on this machine. Empty means a private server.
func loopback(address string) bool {
	return address == "" || regexp.MustCompile(`(^|[@(/])(127\.|localhost\b|\[::1\]|/)`).MatchString(address)
}

// serversNice is how far servers and replicas stand back behind the generator: on a machine that they share, it would
// otherwise send late what it should have sent on time.
const serversNice = 5

func wardenCommandLine() []string {
	executable, err := os.Executable()
	if err != nil {
		return nil // stack.Start says what is missing
	}
	return []string{executable, "warden"}
}

// started returns the error of a run without a finished trial in terms of the exit codes.
func started(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return exit{results.ExitInterrupted, errors.New("interrupted before a trial was finished; nothing was kept")}
	}
	return environment(err)
}

// plan returns what is to be done, and what the strategies claim.
func (c loadCommand) plan() (results.Plan, []results.Strategy, error) {
	plan, err := bench.LoadPlan(c.Plan)
	if err != nil {
		return plan, nil, err
	}
	if len(c.Strategies) > 0 {
		plan.Strategies = c.Strategies
	}
	plan.Strategies = expand(plan.Strategies)
	if plan.Scenarios, err = choose(plan.Scenarios, c.Scenarios); err != nil {
		return plan, nil, err
	}
	if c.Blocks != nil {
		plan.Blocks = *c.Blocks
	}
	if c.Seed != 0 {
		plan.Seed = c.Seed
	}
	errs := []error{bench.ValidatePlan(plan), results.CheckLabel(c.label(plan))}
	if c.Replicas < 1 || c.Replicas > 16 {
		errs = append(errs, fmt.Errorf("--replicas must be 1 to 16, not %d", c.Replicas))
	}
	claims, err := claimsOf(plan.Strategies)
	if err := errors.Join(append(errs, err, c.enoughNodes(plan.Strategies))...); err != nil {
		return plan, nil, err
	}
	return bench.Arrange(plan), claims, nil
}

// label is the name of the run.
func (c loadCommand) label(plan results.Plan) string { return cmp.Or(c.Label, plan.Name) }

func choose(all []results.Scenario, names []string) ([]results.Scenario, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []results.Scenario
	for _, name := range names {
		i := slices.IndexFunc(all, func(s results.Scenario) bool { return s.Name == name })
		if i < 0 {
			var there []string
			for _, s := range all {
				there = append(there, s.Name)
			}
			return nil, fmt.Errorf("the plan has no scenario %q; it has %s", name, strings.Join(there, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func claimsOf(names []string) ([]results.Strategy, error) {
	var claims []results.Strategy
	for _, name := range names {
		i, err := strategies.Get(name)
		if err != nil {
			return nil, err
		}
		claims = append(claims, results.Strategy{Name: i.Name, Doc: i.Doc, Safe: i.Safe, Breaks: i.Breaks})
	}
	return claims, nil
}

// load runs the plan on servers that are up, keeps what was finished, and reports.
func (c loadCommand) load(ctx context.Context, to stream, s *stack.Stack, plan results.Plan, claims []results.Strategy, progress *progress) error {
	record, err := c.record(ctx, s, plan, claims)
	if err != nil {
		return started(ctx, err)
	}
	writer, keep, err := c.create(s, record)
	if err != nil {
		return environment(err)
	}
	progress.say("%d trials, about %v", len(plan.Order), bench.TimeOf(plan).Round(time.Second))
	trials, failed := bench.Run(dieWith(ctx, s), bench.Config{
		Plan: plan, Strategies: claims, Stage: newStage(s, c.Replicas), Tag: s.RunID(),
		Keep: keep, Progress: progress.event,
	})
	progress.end()
	if len(trials) == 0 {
		return errors.Join(started(ctx, failed), writer.Discard())
	}
	record.State, record.Ended = results.Complete, time.Now().UTC()
	if failed != nil {
		record.State, record.Reason = results.Partial, fmt.Sprintf("%d of %d trials: %v", len(trials), len(plan.Order), failed)
	}
	record.Exit, record.Verdict = verdict(ctx, record, trials, failed)
	if err := writer.Finish(record); err != nil {
		return errors.Join(ended(ctx, failed), environment(err))
	}
	if err := present(context.WithoutCancel(ctx), to, writer.Dir(), progress); err != nil {
		return errors.Join(ended(ctx, failed), err)
	}
	if failed == nil && record.Exit != results.ExitHeld {
		return exit{code: record.Exit}
	}
	return ended(ctx, failed)
}

// create makes the run's folder, which goes with this process should that be killed, until the first trial is in it.
func (c loadCommand) create(s *stack.Stack, record results.Run) (*results.Writer, func(results.Trial, results.Evidence) error, error) {
	unguard, err := s.Warden().Guard(filepath.Join(c.Out, record.ID))
	if err != nil {
		return nil, nil, err
	}
	writer, err := results.Create(c.Out, record)
	if err != nil {
		return nil, nil, err // the folder is gone, or somebody else's
	}
	release := sync.OnceValue(unguard)
	return writer, func(t results.Trial, e results.Evidence) error {
		if err := writer.Add(t, e); err != nil {
			return err
		}
		return release()
	}, nil
}

// dieWith returns a context that ends with ctx or as soon as a server has died by itself.
func dieWith(ctx context.Context, s *stack.Stack) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-s.Done():
			cancel(s.Err())
		case <-ctx.Done():
		}
	}()
	return ctx
}

// ended returns the error of a run that did not come to its end.
func ended(ctx context.Context, failed error) error {
	switch {
	case failed == nil:
		return nil
	case ctx.Err() != nil:
		return exit{results.ExitInterrupted, errors.New("interrupted; the trials that were finished are kept")}
	}
	return environment(failed)
}

// verdict sums a run up. One that did not come to its end has no verdict but what its trials show so far.
func verdict(ctx context.Context, record results.Run, trials []results.Trial, failed error) (int, string) {
	code, sentence := results.Summarize(record, trials).Exit()
	switch {
	case failed == nil || code == results.ExitBroken:
		return code, sentence
	case ctx.Err() != nil:
		return results.ExitInterrupted, sentence
	}
	return results.ExitEnvironment, sentence
}

// record returns the run's record as it stands before the first trial, and creates the target's tables.
func (c loadCommand) record(ctx context.Context, s *stack.Stack, plan results.Plan, claims []results.Strategy) (results.Run, error) {
	label := c.label(plan)
	now, err := c.freeSecond(ctx, label)
	if err != nil {
		return results.Run{}, err
	}
	record := results.Run{
		ID: results.RunID(now, label), Label: label, Started: now, Exploratory: plan.Exploratory,
		Command: redact(os.Args), Plan: plan, Strategies: claims, Machine: machine(), Build: build(),
		Replicas: c.Replicas, ReplicaProcs: replicaProcs(c.Replicas),
		CoLocated: loopback(c.MySQLDSN) || loopback(c.RedisAddr) || slices.ContainsFunc(c.RedisNodes, loopback),
	}
	described, err := s.Servers(ctx)
	if err != nil {
		return record, err
	}
	for _, server := range described {
		record.Servers = append(record.Servers, results.Server(server))
	}
	db, err := target.OpenDatabase(s.DSN(), 1, nil)
	if err != nil {
		return record, err
	}
	defer db.Close()
	return record, target.Migrate(ctx, db)
}

// freeSecond returns the time by which the run is named: now, or the first second after it that no other run has taken.
func (c loadCommand) freeSecond(ctx context.Context, label string) (time.Time, error) {
	for {
		now := time.Now().UTC()
		if _, err := os.Lstat(filepath.Join(c.Out, results.RunID(now, label))); errors.Is(err, os.ErrNotExist) {
			return now, nil
		} else if err != nil {
			return now, fmt.Errorf("the folder for runs: %w", err)
		}
		select {
		case <-ctx.Done():
			return now, context.Cause(ctx)
		case <-time.After(now.Truncate(time.Second).Add(time.Second).Sub(now)):
		}
	}
}

// present draws a stored run, prints its verdict table and, last, where the report is.
func present(ctx context.Context, to stream, dir string, progress *progress) error {
	folder, err := results.Open(dir)
	if err != nil {
		return environment(err)
	}
	if err := draw(ctx, folder, progress); err != nil {
		return environment(err)
	}
	record := folder.Run()
	if err := plots.VerdictTable(to.out, results.Summarize(record, folder.Trials()), to.tableStyle(), to.room()); err != nil {
		return err
	}
	fmt.Fprintf(to.out, "\n%s\n", record.Verdict)
	if record.Exit == results.ExitInvalid {
		fmt.Fprintln(to.out, "The report tells why each trial was discarded. A late generator (lag) means that this machine had more to do: "+
			"run again when it is quiet, or lower the plan's rate; gates.lag_p99 is the limit.")
	}
	_, err = fmt.Fprintln(to.out, filepath.Join(dir, "report.html"))
	return err
}
