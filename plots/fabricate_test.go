package plots

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// fabricated is a run that was never stored.
type fabricated struct {
	run      results.Run
	trials   []results.Trial
	evidence map[string]results.Evidence
}

var _ source = (*fabricated)(nil)

func (f *fabricated) Run() results.Run { return f.run }

func (f *fabricated) Trials() []results.Trial { return slices.Clone(f.trials) }

func (f *fabricated) Evidence(id string) (results.Evidence, error) {
	e, ok := f.evidence[id]
	if !ok {
		return results.Evidence{}, fmt.Errorf("no trial %q", id)
	}
	return e, nil
}

// behaviour is how a fabricated strategy acts.
type behaviour struct {
	results.Strategy
	base    time.Duration // of a checkout alone
	serial  time.Duration // for which it keeps the others waiting
	surplus float64       // units beyond the stock that it sells in a drain, as a share of the stock
	perStall,
	fenced bool // a stall oversells; a stall is refused by the fence
}

var behaviours = []behaviour{
	{Strategy: results.Strategy{Name: "none", Doc: "reads the stock, then writes it back",
		Breaks: []string{"calm", "stalled-holder"}}, base: 2 * time.Millisecond, surplus: .71},
	{Strategy: results.Strategy{Name: "lock-only", Doc: "a lease in Redis", Breaks: []string{"stalled-holder"}},
		base: 4 * time.Millisecond, serial: 2 * time.Millisecond, perStall: true},
	{Strategy: results.Strategy{Name: "db-conditional", Doc: "one conditional UPDATE", Safe: true},
		base: 3 * time.Millisecond, serial: 900 * time.Microsecond},
	{Strategy: results.Strategy{Name: "lock-fence", Doc: "a lease with a fencing token", Safe: true},
		base: 5 * time.Millisecond, serial: 2200 * time.Microsecond, fenced: true},
}

var zero = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func scenarios(n int) []results.Scenario {
	const rate = 300
	common := results.Scenario{
		Arrivals: results.Poisson, Rate: rate, Quantity: 1,
		Duration: results.Duration(time.Duration(n) * time.Second / rate),
		WarmUp:   results.Duration(time.Second), Timeout: results.Duration(5 * time.Second),
		Lease: results.Lease{TTL: results.Duration(250 * time.Millisecond), Wait: results.Duration(time.Second),
			Retry: results.Duration(5 * time.Millisecond)},
		Gates: results.Gates{SentShare: .999, LagP99: results.Duration(10 * time.Millisecond), CPU: .7},
	}
	calm, stalled, sustain := common, common, common
	calm.Name, calm.Doc, calm.Shape, calm.Stock = "calm", "No fault.", results.Drain, int64(n/2)
	stalled.Name, stalled.Doc = "stalled-holder", "Some orders pause before they write, longer than a lease lasts."
	stalled.Shape, stalled.Stock = results.Drain, int64(n/2)
	stalled.Stall = &results.Stall{
		Before: "update inventory", For: results.Duration(400 * time.Millisecond), Probability: .004,
	}
	stalled.Gates.Strikes = 2
	sustain.Name, sustain.Doc, sustain.Shape = "sustain", "The stock never binds.", results.Sustain
	return []results.Scenario{calm, stalled, sustain}
}

// fabricate makes a run of the given blocks with n orders a trial.
func fabricate(tb testing.TB, seed uint64, blocks, n int, strategies []behaviour) *fabricated {
	return fabricateIn(tb, scenarios(n), seed, blocks, n, strategies)
}

// fabricateIn makes a run in scenarios of its own.
func fabricateIn(tb testing.TB, in []results.Scenario, seed uint64, blocks, n int, strategies []behaviour) *fabricated {
	tb.Helper()
	f := &fabricated{evidence: map[string]results.Evidence{}}
	plan := results.Plan{
		Name: "default", Doc: "Compare the strategies.", Seed: seed, Blocks: blocks, Retries: 1, Scenarios: in,
	}
	for _, b := range strategies {
		plan.Strategies = append(plan.Strategies, b.Name)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	for block := 1; block <= blocks; block++ {
		for si, scenario := range plan.Scenarios {
			arrivals := seed*100 + uint64(block*10+si)
			for _, i := range random.Perm(len(strategies)) {
				c := results.Cell{Block: block, Scenario: scenario.Name, Strategy: strategies[i].Name, Seed: arrivals}
				plan.Order = append(plan.Order, c)
				f.add(tb, c, scenario, strategies[i], n)
			}
		}
	}
	f.run = runOf(plan)
	f.judge()
	return f
}

// runOf is a finished run of plan, without its verdict.
func runOf(plan results.Plan) results.Run {
	return results.Run{
		Schema: results.Schema, ID: results.RunID(zero, "fabricated"), Label: "fabricated", State: results.Complete,
		Started: zero, Ended: zero.Add(20 * time.Minute), Command: []string{"hotsku", "run", "--label=fabricated"},
		Plan: plan, Replicas: 3, CoLocated: true,
		Machine: results.Machine{
			OS: "linux", Arch: "amd64", Kernel: "6.18", CPU: "Imaginary CPU @ 2.0 GHz", Cores: 2, GOMAXPROCS: 2,
			Memory: 24 << 30, Go: "go1.26.8", FileLimit: 20000,
		},
		Build: results.Build{Version: "v0.1.0", Revision: "0123abcd"},
		Servers: []results.Server{
			{Store: "database", Brand: "MariaDB", Version: "10.11.6", Private: true, Settings: map[string]string{
				"innodb_flush_log_at_trx_commit": "1", "transaction_isolation": "REPEATABLE-READ",
			}},
			{Store: "redis", Brand: "Redis", Version: "7.0.15", Private: true, Settings: map[string]string{"save": ""}},
		},
	}
}

// judge writes the run's verdict anew.
func (f *fabricated) judge() { f.run.Exit, f.run.Verdict = results.Summarize(f.run, f.trials).Exit() }

func (f *fabricated) add(tb testing.TB, c results.Cell, s results.Scenario, b behaviour, n int) {
	tb.Helper()
	number := len(f.trials) + 1
	t := results.Trial{
		Schema: results.Schema, ID: results.TrialID(number, c, 1), Number: number, Attempt: 1, Cell: c,
		Strategy: b.Strategy, Scenario: s, SKU: fmt.Sprint("sku-", number), Stock: s.Stock,
		KeyPrefix: fmt.Sprintf("t%d-", number), Zero: zero.Add(time.Duration(number) * time.Minute),
		Addresses: []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}, ReplicaNames: []string{"a", "b", "c"},
		Gates: []results.Gate{{Name: "lag p99", Limit: "10ms", Measured: "1.2ms", Passed: true}},
	}
	if s.Shape == results.Sustain {
		t.Stock = int64(2 * n)
	}
	ev := play(&t, b, n)
	finish(tb, &t, ev)
	f.trials, f.evidence[t.ID] = append(f.trials, t), ev
}

// finish derives what a trial's record says of its hits, and the anomalies of an oversell.
func finish(tb testing.TB, t *results.Trial, ev results.Evidence) {
	tb.Helper()
	t.Attack = results.Attack{Planned: len(ev.Hits), Sent: len(ev.Hits), CPU: .31, Outcomes: map[api.Outcome]int{}}
	for _, h := range ev.Hits {
		t.Attack.Outcomes[h.Outcome]++
		t.Attack.Elapsed = max(t.Attack.Elapsed, results.Duration(h.End))
	}
	t.Phases = results.Phases(t.Scenario.Shape, t.Scenario.Duration.D(), ev.Hits, t.Stock)
	var err error
	if t.Latencies, t.Attack.Clamped, err = results.Latencies(ev.Hits, t.Phases); err != nil {
		tb.Fatal(err)
	}
	var sold int64
	for _, o := range ev.Ledger {
		sold += int64(o.Quantity)
	}
	over := max(0, sold-t.Stock)
	t.Audit = results.Audit{
		Sold: sold, Orders: int64(len(ev.Ledger)), Left: t.Stock - sold, Oversold: over,
		Checks: []results.Check{
			{Invariant: results.Oversold, State: results.Intact},
			{Invariant: results.FenceOrder, State: results.Unchecked, Note: "the strategy gives no fence"},
		},
	}
	if over > 0 {
		t.Audit.Checks[0] = results.Check{Invariant: results.Oversold, State: results.Violated, Count: over}
	}
	t.Verdict = results.Judge(t.Gates, t.Audit)
}

// withAnomalies adds the anomalies that an audit would have found.
func (f *fabricated) withAnomalies() *fabricated {
	for _, t := range f.trials {
		if t.Audit.Oversold == 0 {
			continue
		}
		ev := f.evidence[t.ID]
		sold := slices.DeleteFunc(slices.Clone(ev.Hits), func(h results.Hit) bool { return h.Outcome != api.Sold })
		slices.SortFunc(sold, func(a, b results.Hit) int { return cmp.Compare(a.Position, b.Position) })
		a := results.Anomaly{Invariant: results.Oversold, Units: t.Audit.Oversold,
			Detail: fmt.Sprintf("%d units were sold of a stock of %d.", t.Audit.Sold, t.Stock)}
		for _, h := range sold[t.Stock:] {
			a.Orders = append(a.Orders, results.Witness{
				Key: fmt.Sprint(t.KeyPrefix, h.Seq), Outcome: h.Outcome.String(), Replica: t.ReplicaNames[h.Replica],
				Order: h.Order, Position: h.Position, Quantity: 1, Sent: results.Duration(h.Sent),
				End: results.Duration(h.End), Created: t.Zero.Add(h.End),
			})
		}
		ev.Anomalies = []results.Anomaly{a}
		f.evidence[t.ID] = ev
	}
	return f
}

// withEvents adds what the replicas of hotsku would have told of.
func (f *fabricated) withEvents() *fabricated {
	for i := range f.trials {
		switch t := &f.trials[i]; t.Strategy.Name {
		case "lock-fence":
			t.Events = map[string]int64{"granted": 100, "fence-raised": 2}
			if t.Strikes > 0 {
				t.Frozen, t.Lost = results.Duration(t.Strikes*int64(t.Scenario.Stall.For)), 3
			}
		case "db-conditional":
			t.Events = map[string]int64{"looked-again": 1234}
		}
	}
	return f
}

// discard fails a gate of every trial that match names.
func (f *fabricated) discard(match func(results.Trial) bool) *fabricated {
	for i := range f.trials {
		if t := &f.trials[i]; match(*t) {
			t.Gates = append(slices.Clone(t.Gates), results.Gate{Name: "lag p99", Limit: "10ms", Measured: "55ms"})
			t.Verdict = results.Judge(t.Gates, t.Audit)
		}
	}
	f.judge()
	return f
}

// keep drops the hits that match does not name, and judges the trials anew.
func (f *fabricated) keep(tb testing.TB, match func(results.Hit) bool) *fabricated {
	tb.Helper()
	for i := range f.trials {
		t := &f.trials[i]
		ev := f.evidence[t.ID]
		ev.Hits = slices.DeleteFunc(slices.Clone(ev.Hits), func(h results.Hit) bool { return !match(h) })
		finish(tb, t, ev)
		f.evidence[t.ID] = ev
	}
	f.judge()
	return f
}

// many makes up n strategies, some of the names of the catalogue and some that no catalogue knows.
func many(n int) []behaviour {
	var all []behaviour
	named := map[bool]int{} // how many of the family have a name of the catalogue
	for i := range n {
		b := behaviours[i%len(behaviours)]
		if first := map[bool][]string{true: firstCool, false: firstWarm}[b.Safe]; named[b.Safe] < min(9, len(first)) {
			b.Name = first[named[b.Safe]]
			named[b.Safe]++
		} else {
			b.Name = "stranger-" + string(rune('a'+i%26))
		}
		b.base += time.Duration(i) * 400 * time.Microsecond
		all = append(all, b)
	}
	return all
}

// catalogueRun is all strategies of the catalogue, controls first, in five scenarios.
func catalogueRun(tb testing.TB, blocks, n int) *fabricated {
	in := scenarios(n)
	for _, name := range []string{"frozen-replica", "lost-redis"} {
		another := in[1]
		another.Name, another.Doc = name, "Something else is broken."
		in = append(in, another)
	}
	var all []behaviour
	for _, family := range [][]string{firstWarm, firstCool} {
		for i, name := range slices.Sorted(slices.Values(family)) {
			b := behaviours[i%2]
			if b.base += time.Duration(i) * 400 * time.Microsecond; &family[0] == &firstCool[0] {
				b = behaviours[2+i%2]
				b.base += time.Duration(i) * 700 * time.Microsecond
			}
			b.Name = name
			all = append(all, b)
		}
	}
	return fabricateIn(tb, in, 15, blocks, n, all)
}

// each changes every hit, and judges the trials anew.
func (f *fabricated) each(tb testing.TB, change func(*results.Hit)) *fabricated {
	tb.Helper()
	for id, ev := range f.evidence {
		for i := range ev.Hits {
			change(&ev.Hits[i])
		}
		f.evidence[id] = ev
	}
	return f.keep(tb, func(results.Hit) bool { return true })
}
