package results

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hotsku/hotsku/target/api"
)

// zero is the time zero of fabricated trials. Its fraction of a second must survive every format.
var zero = time.Date(2026, 1, 2, 3, 4, 5, 678_912_345, time.UTC)

// fabricate returns a drain of n orders at 200/s that sells half of them and then refuses, made from the seed.
// It holds what a format may trip over: early sends, unknown outcomes with messages to quote, a lag.
func fabricate(seed uint64, n int) (Trial, Evidence) {
	random := rand.New(rand.NewPCG(seed, 1))
	t := fabricatedTrial(n)
	var ev Evidence
	var intended time.Duration
	var sold int64
	for seq := range n {
		intended += time.Duration(random.ExpFloat64() * float64(5*time.Millisecond))
		h := Hit{
			Seq: uint64(seq), Intended: intended, Quantity: 1, Replica: uint8(seq % len(t.Addresses)),
			Sent: intended + time.Duration(random.IntN(300_000)) - 5_000,
		}
		h.End = h.Sent + 500*time.Microsecond + time.Duration(random.ExpFloat64()*float64(3*time.Millisecond))
		switch {
		case seq%97 == 96:
			h.Error = fmt.Sprintf("Post \"%s\": read: connection reset by <peer> № %d", t.Addresses[0], seq%3)
		case sold < t.Stock:
			sold++
			h.Outcome, h.Code, h.Order, h.Position, h.Fence = api.Sold, 201, 1000+sold, sold, sold
			ev.Ledger = append(ev.Ledger, orderOf(t, h))
		default:
			h.Outcome, h.Code = api.SoldOut, 409
		}
		ev.Hits = append(ev.Hits, h)
	}
	ev.Steps = []api.Step{{
		Order: t.KeyPrefix + "0", Replica: "a", Store: api.Redis, Name: "acquire", Start: zero.UnixNano(),
		End: zero.UnixNano() + 1, Token: 1,
	}}
	ev.Anomalies = []Anomaly{{
		Invariant: BelievedOverlap, Detail: "Two holders <believed> in their lease.",
		Orders: []Witness{{Key: t.KeyPrefix + "0", Created: zero}},
	}}
	finish(&t, ev)
	return t, ev
}

func fabricatedTrial(n int) Trial {
	c := Cell{Block: 1, Scenario: "calm", Strategy: "lock-fence", Seed: 7}
	return Trial{
		Schema: Schema, ID: TrialID(1, c, 1), Number: 1, Attempt: 1, Cell: c,
		Strategy: Strategy{Name: c.Strategy, Doc: "lease and fence", Safe: true},
		Scenario: Scenario{
			Name: c.Scenario, Shape: Drain, Arrivals: Poisson, Rate: 200, Quantity: 1, Stock: int64(n / 2),
			Duration: Duration(time.Duration(n) * 5 * time.Millisecond), Timeout: Duration(5 * time.Second),
		},
		SKU: "sku-1", Stock: int64(n / 2), KeyPrefix: "run-1-", Zero: zero,
		Addresses:    []string{"http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"},
		ReplicaNames: []string{"a", "b", "c"},
		Executions:   []api.Executions{{Replica: "a", SKU: "sku-1", Requests: 1, Repeated: map[uint64]int64{3: 2}}},
		Gates:        []Gate{{Name: "sent share", Limit: "0.999", Measured: "1", Passed: true}},
	}
}

func orderOf(t Trial, h Hit) api.Order {
	return api.Order{
		ID: h.Order, SKU: t.SKU, Quantity: int(h.Quantity), Position: h.Position, Customer: "c&a",
		Key: fmt.Sprint(t.KeyPrefix, h.Seq), Fence: h.Fence, Replica: t.ReplicaNames[h.Replica],
		CreatedAt: t.Zero.Add(h.End).Truncate(time.Microsecond),
	}
}

// finish derives what a trial's record says of its hits.
func finish(t *Trial, ev Evidence) {
	var sold int64
	t.Attack = Attack{Planned: len(ev.Hits), Sent: len(ev.Hits), Outcomes: map[api.Outcome]int{}}
	for _, h := range ev.Hits {
		t.Attack.Outcomes[h.Outcome]++
		t.Attack.Elapsed = max(t.Attack.Elapsed, Duration(h.End))
	}
	for _, o := range ev.Ledger {
		sold += int64(o.Quantity)
	}
	t.Phases = Phases(t.Scenario.Shape, t.Scenario.Duration.D(), ev.Hits, t.Stock)
	var err error
	if t.Latencies, t.Attack.Clamped, err = Latencies(ev.Hits, t.Phases); err != nil {
		panic(err)
	}
	t.Audit = Audit{
		Checks: []Check{{Invariant: Oversold, State: Intact}}, Sold: sold, Orders: int64(len(ev.Ledger)),
		Left: t.Stock - sold,
	}
	t.Verdict = Judge(t.Gates, t.Audit)
}

// oversell plants units sold beyond the stock into a trial.
func oversell(t Trial, units int64) Trial {
	t.Audit.Checks = []Check{{Invariant: Oversold, State: Violated, Count: units}}
	t.Audit.Oversold = units
	t.Verdict = Judge(t.Gates, t.Audit)
	return t
}

// invalidate fails a gate of a trial.
func invalidate(t Trial) Trial {
	t.Gates = append(slices.Clone(t.Gates), Gate{Name: "lag p99", Limit: "10ms", Measured: "55ms"})
	t.Verdict = Judge(t.Gates, t.Audit)
	return t
}

func fabricatedRun(trials ...Trial) Run {
	t := trials[0]
	plan := Plan{
		Name: "quick", Seed: 7, Blocks: 1, Strategies: []string{t.Cell.Strategy}, Scenarios: []Scenario{t.Scenario},
	}
	for _, t := range trials {
		plan.Order = append(plan.Order, t.Cell)
	}
	return Run{
		Schema: Schema, ID: RunID(zero, "quick"), Label: "quick", State: Complete, Started: zero.Truncate(time.Second),
		Command: []string{"hotsku", "run", "--label=quick"}, Plan: plan, Replicas: 3, CoLocated: true,
		Machine: Machine{OS: "linux", Arch: "amd64", CPU: "Imaginary  CPU @ 2.0 GHz", Cores: 2, GOMAXPROCS: 2},
		Servers: []Server{{Store: "redis", Brand: "Redis", Version: "7.0.15", Settings: map[string]string{"save": ""}}},
		Verdict: "Every claim held.",
	}
}
