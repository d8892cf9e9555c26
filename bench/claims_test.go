package bench_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hotsku/hotsku/bench"
	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target/steps"
)

func claimsPlan(t *testing.T) results.Plan {
	t.Helper()
	plan, err := bench.LoadPlan("claims")
	if err != nil {
		t.Fatal(err)
	}
	return bench.Arrange(plan)
}

// What the plan shows must not hang on luck. Until the first stall, orders are served as they arrive, so that one of the
// first strikes whatever the strategy. One that has read the stock while the last units go, and writes when they have gone,
// catches a decrement without a condition.
func TestTheClaimsPlanStrikesOneOfTheFirstOrdersAndOneOfTheLast(t *testing.T) {
	plan := claimsPlan(t)
	for _, s := range plan.Scenarios {
		if s.Stall == nil {
			continue
		}
		cell := plan.Order[slices.IndexFunc(plan.Order, func(c results.Cell) bool { return c.Scenario == s.Name })]
		stall := steps.Stall{Seed: cell.Seed, Probability: s.Stall.Probability}
		strikes := func(from, to int64) bool {
			for n := from; n <= to; n++ {
				if stall.Chooses(fmt.Sprint("trial/", n)) {
					return true
				}
			}
			return false
		}
		if !strikes(1, 4) {
			t.Errorf("%s: none of the first orders stalls", s.Name)
		}
		if !strikes(s.Stock-7, s.Stock-3) {
			t.Errorf("%s: none of the orders for the last units stalls", s.Name)
		}
	}
}

func TestTheClaimsPlanGivesNoOrderUp(t *testing.T) {
	plan := claimsPlan(t)
	if plan.Seed == 0 || plan.Blocks != 1 || !slices.Equal(plan.Strategies, []string{"all"}) {
		t.Errorf("seed %d, %d blocks, strategies %q: it would not be the same every time, or not be whole", plan.Seed, plan.Blocks, plan.Strategies)
	}
	for _, s := range plan.Scenarios {
		if patience := s.Timeout.D() * 4 / 5; s.Lease.Wait.D() >= patience {
			t.Errorf("%s: an order waits for %v, and its replica gives it up after %v", s.Name, s.Lease.Wait, patience)
		}
		if s.Gates.CPU != 1 || s.Gates.LagP99.D().Seconds() < 1 {
			t.Errorf("%s: on a busy machine the gates %+v would discard trials", s.Name, s.Gates)
		}
		orders := s.Rate * s.Duration.D().Seconds()
		if orders < 1.5*float64(s.Stock) || s.Stock%results.BurstSize == 0 {
			t.Errorf("%s: %v orders for a stock of %d", s.Name, orders, s.Stock)
		}
	}
}

// A claim about a scenario that is not put to the test there would be mere words.
func TestEveryScenarioThatBreaksAStrategyIsInTheClaimsPlan(t *testing.T) {
	var names []string
	for _, s := range claimsPlan(t).Scenarios {
		names = append(names, s.Name)
	}
	for _, s := range bench.Scenarios() {
		if s.Shape == results.Drain && !slices.Contains(names, s.Name) {
			t.Errorf("the scenario %s is not in the plan", s.Name)
		}
	}
	for _, i := range strategies.All() {
		for _, scenario := range i.Breaks {
			if scenario != strategies.EveryScenario && !slices.Contains(names, scenario) {
				t.Errorf("%s breaks in %q, which is not in the plan", i.Name, scenario)
			}
		}
	}
}
