package results

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hotsku/hotsku/target/api"
)

// A trial of no hits, of the cell, that held.
func heldTrial(number int, s Strategy, scenario string) Trial {
	c := Cell{Block: number, Scenario: scenario, Strategy: s.Name}
	t := Trial{ID: TrialID(number, c, 1), Number: number, Attempt: 1, Cell: c, Strategy: s}
	t.Audit.Checks = []Check{{Invariant: Oversold, State: Intact}}
	t.Verdict = Judge(nil, t.Audit)
	return t
}

func TestClaims(t *testing.T) {
	safe := Strategy{Name: "lock-fence", Safe: true}
	control := Strategy{Name: "lock-only", Breaks: []string{"stall"}}
	hopeless := Strategy{Name: "none", Breaks: []string{EveryScenario}}
	held := func(t Trial) Trial { return t }
	broke := func(t Trial) Trial { return oversell(t, 2) }
	brokeInvalid := func(t Trial) Trial { return invalidate(oversell(t, 2)) }
	observed := func(t Trial) Trial { // an observation never breaks a trial
		t.Audit.Checks = append(t.Audit.Checks, Check{Invariant: BelievedOverlap, State: Violated, Observation: true})
		t.Verdict = Judge(t.Gates, t.Audit)
		return t
	}
	for _, row := range []struct {
		name     string
		strategy Strategy
		scenario string
		trials   []func(Trial) Trial // two blocks are planned
		want     Claim
		exit     int
	}{
		{"a safe strategy that held in every trial", safe, "stall", []func(Trial) Trial{held, held}, ClaimHeld, 0},
		{"a safe strategy with a mere observation", safe, "stall", []func(Trial) Trial{held, observed}, ClaimHeld, 0},
		{"a safe strategy that broke once", safe, "stall", []func(Trial) Trial{held, broke}, ClaimBroken, 10},
		{"a safe strategy that broke in an invalid trial", safe, "calm",
			[]func(Trial) Trial{held, held, brokeInvalid}, ClaimBroken, 10},
		{"a safe strategy that broke, with trials missing", safe, "calm", []func(Trial) Trial{broke}, ClaimBroken, 10},
		{"a safe strategy with a trial missing", safe, "calm", []func(Trial) Trial{held}, ClaimNoResult, 30},
		{"a safe strategy with a trial that is invalid", safe, "calm",
			[]func(Trial) Trial{held, invalidate}, ClaimNoResult, 30},
		{"a safe strategy with an invalid trial that was repeated", safe, "calm",
			[]func(Trial) Trial{held, invalidate, held}, ClaimHeld, 0},
		{"a cell without a trial", safe, "calm", nil, ClaimNoResult, 30},
		{"a control that broke where it is known to", control, "stall", []func(Trial) Trial{held, broke}, ClaimCaught, 0},
		{"a control that broke where it is not known to", control, "calm", []func(Trial) Trial{held, broke}, ClaimCaught, 0},
		{"a control that broke in an invalid trial", control, "stall",
			[]func(Trial) Trial{held, held, brokeInvalid}, ClaimCaught, 0},
		{"a control that broke, with a trial missing", control, "stall", []func(Trial) Trial{broke}, ClaimCaught, 30},
		{"a control that held where it is known to break", control, "stall",
			[]func(Trial) Trial{held, held}, ClaimNotCaught, 30},
		{"a control that held where it is not known to break", control, "calm",
			[]func(Trial) Trial{held, held}, ClaimUnharmed, 0},
		{"a control that held, with a trial missing", control, "stall", []func(Trial) Trial{held}, ClaimNoResult, 30},
		{"a control that is known to break everywhere, and held", hopeless, "calm",
			[]func(Trial) Trial{held, held}, ClaimNotCaught, 30},
	} {
		t.Run(row.name, func(t *testing.T) {
			plan := Plan{Blocks: 2, Strategies: []string{row.strategy.Name}, Scenarios: []Scenario{{Name: row.scenario}}}
			var trials []Trial
			for i, change := range row.trials {
				trials = append(trials, change(heldTrial(i+1, row.strategy, row.scenario)))
			}
			s := Summarize(Run{Plan: plan}, trials)
			if len(s.Cells) != 1 || s.Cells[0].Claim != row.want {
				t.Fatalf("got %+v, want the claim %q", s.Cells, row.want)
			}
			if code, sentence := s.Exit(); code != row.exit || sentence == "" {
				t.Errorf("exit %d (%s), want %d", code, sentence, row.exit)
			}
		})
	}
}

func TestOneOversellInTenTrialsShowsAsTheWorst(t *testing.T) {
	safe := Strategy{Name: "lock-fence", Safe: true}
	run := Run{Plan: Plan{Blocks: 10, Strategies: []string{safe.Name}, Scenarios: []Scenario{{Name: "calm"}}}}
	var trials []Trial
	for n := range 10 {
		trials = append(trials, heldTrial(n+1, safe, "calm"))
	}
	trials[6] = oversell(trials[6], 3)
	s := Summarize(run, trials)
	c := s.Cells[0]
	if c.WorstOversold != 3 || c.Broken != 1 || c.Valid != 10 {
		t.Errorf("worst %d, broken %d, valid %d", c.WorstOversold, c.Broken, c.Valid)
	}
	if want := []int64{0, 0, 0, 0, 0, 0, 3, 0, 0, 0}; !reflect.DeepEqual(c.Oversold, want) {
		t.Errorf("oversold %v, want %v", c.Oversold, want)
	}
	if want := []BrokenInvariant{{Invariant: Oversold, Trials: 1, Worst: 3}}; !reflect.DeepEqual(c.Broke, want) {
		t.Errorf("broke %+v, want %+v", c.Broke, want)
	}
	code, sentence := s.Exit()
	const want = "A claim to be safe is broken: lock-fence in calm (oversold in 1 of 10 trials, at worst 3)."
	if code != ExitBroken || sentence != want {
		t.Errorf("exit %d: %s", code, sentence)
	}
}

func TestSummarizeFigures(t *testing.T) {
	s := Strategy{Name: "lock-fence", Safe: true}
	sales := func(p99 time.Duration) []Latency {
		return []Latency{
			{Kind: Response, Outcome: api.Sold, Phase: Whole, P50: Known(1e9)}, // not the headline where there is a phase
			{Kind: Service, Outcome: api.Sold, Phase: Selling, P50: Known(2e9)},
			{Kind: Response, Outcome: api.Sold, Phase: Selling, P50: Known(4e6), P99: Known(Duration(p99))},
		}
	}
	selling := []Phase{{Name: Selling, To: Duration(2 * time.Second), Acknowledged: 500}, {Name: Edge}}
	trials := []Trial{heldTrial(1, s, "calm"), heldTrial(2, s, "calm"), heldTrial(3, s, "calm"), heldTrial(4, s, "calm")}
	trials[0].Latencies, trials[0].Phases = sales(30*time.Millisecond), selling
	trials[1].Latencies, trials[1].Phases = sales(10*time.Millisecond), selling
	trials[2].Attack = Attack{Sent: 10, Outcomes: map[api.Outcome]int{api.Unavailable: 4, api.Unknown: 2}}
	trials[2].Strikes, trials[2].Refusals, trials[2].Frozen, trials[2].Lost = 5, 6, Duration(7*time.Second), 8
	trials[0].Events = map[string]int64{"deadlock": 2}
	trials[2].Events = map[string]int64{"deadlock": 1, "conflict": 9}
	trials[3].Latencies, trials[3].Phases = sales(time.Hour), selling // invalid: in no figure
	trials[3].Frozen, trials[3].Lost, trials[3].Events = Duration(time.Hour), 100, map[string]int64{"deadlock": 100}
	trials[3].Strikes, trials[3].Attack.Outcomes = 100, map[api.Outcome]int{api.Unknown: 100}
	trials[3] = invalidate(trials[3])
	run := Run{Plan: Plan{Blocks: 3, Strategies: []string{s.Name}, Scenarios: []Scenario{{Name: "calm"}}}}

	summary := Summarize(run, trials)
	c := summary.Cells[0]
	want := CellSummary{
		Scenario: "calm", Strategy: s, Blocks: 3, Trials: 4, Valid: 3, Invalid: 1, Oversold: []int64{0, 0, 0},
		P50: Spread{Median: 4, Low: 4, High: 4, N: 2}, P99: Spread{Median: 20, Low: 10, High: 30, N: 2},
		Goodput:          Spread{Median: 250, Low: 250, High: 250, N: 2},
		UnavailableShare: Spread{Median: 0.4, Low: 0.4, High: 0.4, N: 1},
		Strikes:          5, Refusals: 6, Unknown: 2, Frozen: Duration(7 * time.Second), Lost: 8,
		Events: map[string]int64{"deadlock": 3, "conflict": 9}, Claim: ClaimHeld,
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("\n got %+v\nwant %+v", c, want)
	}
	if len(summary.Discarded) != 1 || !strings.Contains(summary.Discarded[0].Verdict.Reasons[0], "lag p99: 55ms") {
		t.Errorf("discarded: %+v", summary.Discarded)
	}
}

func TestSalesFallBackToTheWholeTrial(t *testing.T) {
	var trial Trial
	if _, ok := trial.Sales(); ok {
		t.Error("sales of nothing")
	}
	trial.Latencies = []Latency{
		{Kind: Response, Outcome: api.SoldOut, Phase: Selling, Count: 9},
		{Kind: Response, Outcome: api.Sold, Phase: Edge, Count: 1},
		{Kind: Response, Outcome: api.Sold, Phase: Whole, Count: 2},
	}
	if l, ok := trial.Sales(); !ok || l.Count != 2 {
		t.Errorf("got %+v", l)
	}
	trial.Phases = []Phase{{Name: Edge, To: 5, Acknowledged: 1}, {Name: AfterSale, From: 5, To: 9}}
	if g, ok := trial.Goodput(); ok {
		t.Errorf("goodput %v of a trial without a selling phase", g)
	}
	trial.Phases = []Phase{{Name: Sustained, To: Duration(4 * time.Second)}}
	if g, ok := trial.Goodput(); !ok || g != 0 {
		t.Errorf("goodput %v, %v of a trial that sold nothing although it could", g, ok)
	}
}

func TestCellsComeInTheOrderOfThePlan(t *testing.T) {
	plan := Plan{
		Blocks: 1, Strategies: []string{"b", "a"}, Scenarios: []Scenario{{Name: "y"}, {Name: "x"}},
		Order: []Cell{{Scenario: "x", Strategy: "a"}, {Scenario: "y", Strategy: "a"}, {Scenario: "y", Strategy: "b"}},
	}
	beyond := heldTrial(9, Strategy{Name: "c"}, "z")
	var got []string
	for _, c := range Summarize(Run{Plan: plan}, []Trial{beyond}).Cells {
		got = append(got, c.Scenario+"/"+c.Strategy.Name)
	}
	if want := []string{"y/b", "y/a", "x/a", "z/c"}; !reflect.DeepEqual(got, want) { // x/b is not planned
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestExitSentences(t *testing.T) {
	cell := func(name string, claim Claim, valid int) CellSummary {
		s := Strategy{Name: name}
		return CellSummary{Scenario: "stall", Strategy: s, Claim: claim, Blocks: 2, Valid: valid, Trials: 2}
	}
	for _, row := range []struct {
		name  string
		cells []CellSummary
		code  int
		text  string
	}{
		{"nothing at all", nil, ExitInvalid, "no trial"},
		{"a missing trial", []CellSummary{cell("a", ClaimNoResult, 1)}, ExitInvalid, "a in stall has 1 of its 2 valid"},
		{"a control that was not caught", []CellSummary{cell("a", ClaimHeld, 2), cell("b", ClaimNotCaught, 2)},
			ExitInvalid, "control b was not caught in stall"},
		{"a broken claim outranks all else", []CellSummary{cell("a", ClaimNotCaught, 0), cell("b", ClaimBroken, 2)},
			ExitBroken, "b in stall"},
		{"many", []CellSummary{cell("a", ClaimNotCaught, 2), cell("b", ClaimNotCaught, 2), cell("c", ClaimNotCaught, 2),
			cell("d", ClaimNotCaught, 2), cell("e", ClaimNotCaught, 2)}, ExitInvalid, "and 2 more"},
		{"all in order", []CellSummary{cell("a", ClaimHeld, 2), cell("b", ClaimCaught, 2), cell("c", ClaimUnharmed, 2)},
			ExitHeld, "held"},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, sentence := Summary{Cells: row.cells}.Exit()
			if code != row.code || !strings.Contains(sentence, row.text) {
				t.Errorf("exit %d: %s", code, sentence)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	good := Gate{Name: "sent share", Limit: "0.999", Measured: "1", Passed: true}
	bad := Gate{Name: "lag p99", Limit: "10ms", Measured: "55ms"}
	intact := Check{Invariant: Oversold, State: Intact}
	broken := Check{Invariant: Oversold, State: Violated, Count: 3, Note: "first at 1.5s"}
	lost := Check{Invariant: LostOrder, State: Violated, Count: 1}
	for _, row := range []struct {
		name   string
		gates  []Gate
		checks []Check
		want   Verdict
	}{
		{"all gates passed and all invariants held", []Gate{good}, []Check{intact}, Verdict{State: Held}},
		{"an invariant broke", []Gate{good}, []Check{broken, lost},
			Verdict{State: Broken, Reasons: []string{"oversold: 3 (first at 1.5s)", "lost order: 1"}}},
		{"a gate failed", []Gate{good, bad}, []Check{intact},
			Verdict{State: Suspect, Reasons: []string{"lag p99: 55ms, the limit is 10ms"}}},
		{"a gate failed and an invariant broke", []Gate{bad}, []Check{intact, lost},
			Verdict{State: Suspect, Reasons: []string{"lag p99: 55ms, the limit is 10ms", "lost order: 1"}}},
		{"nothing was audited", []Gate{good}, nil,
			Verdict{State: Suspect, Reasons: []string{"the audit could not tell whether the trial oversold"}}},
		{"the units sold could not be counted", nil, []Check{{Invariant: Oversold, State: Unchecked}},
			Verdict{State: Suspect, Reasons: []string{"the audit could not tell whether the trial oversold"}}},
		{"a check that does not apply is no failure", nil, []Check{intact, {Invariant: FenceOrder, State: Unchecked}},
			Verdict{State: Held}},
		{"an observation is no failure", nil,
			[]Check{intact, {Invariant: BelievedOverlap, State: Violated, Observation: true}}, Verdict{State: Held}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Judge(row.gates, Audit{Checks: row.checks}); !reflect.DeepEqual(got, row.want) {
				t.Errorf("\n got %+v\nwant %+v", got, row.want)
			}
		})
	}
}

func TestSpread(t *testing.T) {
	for _, row := range []struct {
		figures []float64
		want    Spread
	}{
		{nil, Spread{}},
		{[]float64{5}, Spread{5, 5, 5, 1}},
		{[]float64{9, 1}, Spread{5, 1, 9, 2}},
		{[]float64{9, 1, 2}, Spread{2, 1, 9, 3}},
	} {
		if got := spreadOf(row.figures); got != row.want {
			t.Errorf("%v: got %+v, want %+v", row.figures, got, row.want)
		}
	}
}

func TestUpperBound(t *testing.T) {
	for _, row := range []struct {
		k, n int
		want float64
	}{
		{0, 0, 1},
		{0, 1, 0.95},
		{0, 10, 1 - math.Pow(0.05, 0.1)},
		{0, 1000, 0.002991}, // the rule of three: 0.003
		{10, 10, 1},
		{9, 10, math.Pow(0.95, 0.1)}, // P(X ≤ 9) = 1 − p^10 = 0.05
	} {
		if got := UpperBound(row.k, row.n); math.Abs(got-row.want) > 1e-6 {
			t.Errorf("%d of %d: got %.7f, want %.7f", row.k, row.n, got, row.want)
		}
	}
	// The bound p solves P(X ≤ k) = 0.05 for X binomial in n and p.
	for n := 1; n <= 30; n++ {
		for k := range n {
			if tail := binomialUpTo(k, n, UpperBound(k, n)); math.Abs(tail-0.05) > 1e-9 {
				t.Errorf("%d of %d: P(X ≤ %d) is %v at the bound", k, n, k, tail)
			}
		}
	}
}

// binomialUpTo returns P(X ≤ k) by its definition.
func binomialUpTo(k, n int, p float64) float64 {
	sum, choose := 0.0, 1.0
	for i := range k + 1 {
		sum += choose * math.Pow(p, float64(i)) * math.Pow(1-p, float64(n-i))
		choose *= float64(n-i) / float64(i+1)
	}
	return sum
}
