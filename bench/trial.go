package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hotsku/hotsku/bench/attack"
	"github.com/hotsku/hotsku/bench/audit"
	"github.com/hotsku/hotsku/results"
)

// A Stage puts the target up for one trial after another.
type Stage interface {
	// Begin starts the target with a strategy and returns when it is ready to sell.
	Begin(ctx context.Context, s Setting) (Target, error)
	// End stops what Begin has started. Its error says that something had gone wrong with it meanwhile.
	End(ctx context.Context) error
}

// A Setting is how a Stage must put the target up.
type Setting struct {
	Strategy string
	Scenario results.Scenario
	SKU      string // the hot one: the stall strikes its orders alone
	Seed     uint64 // decides, with the order's key, whom the stall strikes
}

// trial runs one cell of the plan: create the SKU, warm up on another, attack on schedule, wait for the last answer and
// for the target to come to rest, then audit and judge.
func (r *runner) trial(ctx context.Context, t results.Trial) (results.Trial, results.Evidence, error) {
	setting := Setting{Strategy: t.Cell.Strategy, Scenario: t.Scenario, SKU: t.SKU, Seed: t.Cell.Seed}
	target, err := r.Stage.Begin(ctx, setting)
	if err != nil {
		return t, results.Evidence{}, fmt.Errorf("start the target: %w", err)
	}
	evidence, err := r.measure(ctx, &t, target)
	// A replica that ended by itself is the cause of whatever else went wrong, so it is told first.
	if err := errors.Join(r.Stage.End(ctx), err); err != nil {
		return t, evidence, err
	}
	return t, evidence, Rejudge(&t, &evidence)
}

// measure runs the attack and reads back all that the target knows of it.
func (r *runner) measure(ctx context.Context, t *results.Trial, target Target) (e results.Evidence, err error) {
	t.Addresses, t.ReplicaNames = target.Addresses, target.Names
	if err := r.warmUp(ctx, t, target); err != nil {
		return e, fmt.Errorf("warm up: %w", err)
	}
	if err := target.CreateSKU(ctx, t.SKU, t.Stock); err != nil {
		return e, fmt.Errorf("create the SKU: %w", err)
	}
	schedule, err := attack.Schedule(t.Scenario.Arrivals, t.Scenario.Rate, t.Scenario.Duration.D(), t.Cell.Seed)
	if err != nil {
		return e, err
	}
	report, err := attack.Run(ctx, r.config(t, target, t.SKU, schedule, r.live))
	if err != nil {
		return e, fmt.Errorf("attack: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return e, context.Cause(ctx)
	}
	t.Zero, t.Attack, e.Hits = report.Zero, report.Attack, report.Hits
	return e, r.collect(ctx, t, target, &e)
}

func (r *runner) config(t *results.Trial, target Target, sku string, schedule []time.Duration, live func(attack.Live)) attack.Config {
	return attack.Config{
		Name: t.ID, Addresses: target.Addresses, SKU: sku, KeyPrefix: sku + "/",
		Seed: t.Cell.Seed, Quantity: t.Scenario.Quantity,
		Schedule: schedule, Timeout: t.Scenario.Timeout.D(), Progress: live,
	}
}

// warmUp lets the target open its pools and fill its caches, on a SKU of its own. Its hits are not kept; if none of them
// was answered, the target does not work and the trial would only find that out more slowly.
func (r *runner) warmUp(ctx context.Context, t *results.Trial, target Target) error {
	if t.Scenario.WarmUp == 0 {
		return nil
	}
	sku := t.SKU + "-warm"
	schedule, err := attack.Schedule(results.Constant, t.Scenario.Rate, t.Scenario.WarmUp.D(), t.Cell.Seed)
	if err != nil {
		return err
	}
	if err := target.CreateSKU(ctx, sku, int64(len(schedule)*t.Scenario.Quantity)); err != nil {
		return err
	}
	report, err := attack.Run(ctx, r.config(t, target, sku, schedule, nil))
	if err != nil {
		return err
	}
	for _, h := range report.Hits {
		if h.Code != 0 {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("none of %d orders was answered; the first met: %s", len(report.Hits), firstError(report.Hits))
}

func firstError(hits []results.Hit) string {
	for _, h := range hits {
		if h.Error != "" {
			return h.Error
		}
	}
	return "nothing"
}

// restPatience is how long a target may go on working after the last answer: a checkout that its client gave up is
// still under way, and must be over before the ledger is read.
const restPatience = 15 * time.Second

func (r *runner) collect(ctx context.Context, t *results.Trial, target Target, e *results.Evidence) (err error) {
	if err := target.Rest(ctx, t.SKU, restPatience); err != nil {
		return fmt.Errorf("wait for the target to come to rest: %w", err)
	}
	if t.Executions, err = target.Executions(ctx, t.SKU); err != nil {
		return fmt.Errorf("read the executions: %w", err)
	}
	if !t.Scenario.Untraced {
		if e.Steps, err = target.Trace(ctx, t.SKU); err != nil {
			return fmt.Errorf("read the trace: %w", err)
		}
	}
	if e.Ledger, err = target.Ledger(ctx, t.SKU); err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	if t.Inventory, err = target.Inventory(ctx, t.SKU); err != nil {
		return fmt.Errorf("read the inventory: %w", err)
	}
	return nil
}

// Rejudge completes a trial's record by its hits, its ledger and its steps. What these do not tell (the plan, the
// generator's use of the processor, the executions, the inventory) it takes from the record, which must have it already.
func Rejudge(t *results.Trial, e *results.Evidence) (err error) {
	report := attack.Reread(t.Attack, e.Hits)
	t.Attack = report.Attack
	t.Phases = results.Phases(t.Scenario.Shape, t.Scenario.Duration.D(), e.Hits, t.Stock)
	if t.Latencies, t.Attack.Clamped, err = results.Latencies(e.Hits, t.Phases); err != nil {
		return fmt.Errorf("trial %s: %w", t.ID, err)
	}
	t.Audit, e.Anomalies = audit.Audit(audit.Case{
		SKU: t.SKU, Stock: t.Stock, KeyPrefix: t.KeyPrefix, Inventory: t.Inventory,
		Hits: e.Hits, Ledger: e.Ledger, Steps: e.Steps, Executions: t.Executions, Zero: t.Zero, Replicas: t.ReplicaNames,
	})
	sumUp(t)
	t.Gates = append(attack.Gates(t.Scenario.Gates, report), enoughSold(*t))
	if t.Scenario.Stall != nil {
		t.Gates = append(t.Gates, strikes(*t))
	}
	t.Verdict = results.Judge(t.Gates, t.Audit)
	return nil
}

// sumUp adds up what the replicas saw.
func sumUp(t *results.Trial) {
	t.Strikes, t.Frozen, t.Lost, t.Refusals, t.Events = 0, 0, 0, 0, nil
	for _, x := range t.Executions {
		t.Strikes += x.Stalled
		t.Frozen += results.Duration(x.Frozen)
		t.Lost += x.Lost
		t.Refusals += x.Fenced
		for name, n := range x.Events {
			if t.Events == nil {
				t.Events = map[string]int64{}
			}
			t.Events[name] += n
		}
	}
}

// enoughSold is the gate that a trial has come to where it could show something: a drain to the edge of its stock, a
// sustain to a first few sales. A service that sells nothing oversells nothing, too.
func enoughSold(t results.Trial) results.Gate {
	if t.Scenario.Shape == results.Drain {
		return results.Gate{
			Name: "stock sold out", Limit: fmt.Sprintf("fewer than %d of %d units left", max(1, t.Scenario.Quantity), t.Stock),
			Measured: fmt.Sprintf("%d units sold", t.Audit.Sold), Passed: t.Audit.Sold > 0 && t.Audit.Sold+int64(t.Scenario.Quantity) > t.Stock,
		}
	}
	return results.Gate{
		Name: "orders sold", Limit: fmt.Sprintf(">= %d", results.MinBeyond),
		Measured: fmt.Sprint(t.Audit.Orders), Passed: t.Audit.Orders >= results.MinBeyond,
	}
}

// strikes is the gate that an ordered stall has really struck.
func strikes(t results.Trial) results.Gate {
	least := max(1, t.Scenario.Gates.Strikes)
	gate := results.Gate{Name: "stalls that struck", Limit: fmt.Sprintf(">= %d", least)}
	if t.Executions == nil {
		gate.Measured = "unknown: the target does not count them"
		return gate
	}
	gate.Measured, gate.Passed = fmt.Sprint(t.Strikes), t.Strikes >= least
	return gate
}

// stock returns the units at the start of a trial. In the sustain shape without a stock it is twice what can be asked for.
func stock(s results.Scenario) int64 {
	if s.Stock > 0 {
		return s.Stock
	}
	return int64(math.Ceil(2 * s.Rate * s.Duration.D().Seconds() * float64(s.Quantity)))
}
