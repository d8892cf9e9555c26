package bench

import (
	"reflect"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// A trial in which nothing could have been found must not pass for one in which nothing was.
func TestATrialMustHaveSoldEnoughToShowAnything(t *testing.T) {
	for name, row := range map[string]struct {
		shape       results.Shape
		stock, sold int64
		quantity    int
		orders      int64
		passed      bool
	}{
		"a drain to the last unit":                        {results.Drain, 50, 50, 1, 50, true},
		"a drain that oversold":                           {results.Drain, 50, 60, 1, 60, true},
		"a drain with a unit left":                        {results.Drain, 50, 49, 1, 49, false},
		"a drain that sold nothing":                       {results.Drain, 50, 0, 1, 0, false},
		"two left, and orders for three":                  {results.Drain, 50, 48, 3, 20, true},
		"orders for more than there is, and nothing sold": {results.Drain, 1, 0, 100, 0, false},
		"a sustain with ten orders":                       {results.Sustain, 500, 10, 1, 10, true},
		"a sustain with nine orders":                      {results.Sustain, 500, 9, 1, 9, false},
	} {
		trial := results.Trial{Stock: row.stock, Scenario: results.Scenario{Shape: row.shape, Quantity: row.quantity}}
		trial.Audit.Sold, trial.Audit.Orders = row.sold, row.orders
		if gate := enoughSold(trial); gate.Passed != row.passed {
			t.Errorf("%s: %+v", name, gate)
		}
	}
}

func TestAnOrderedStallMustHaveStruck(t *testing.T) {
	trial := results.Trial{Scenario: results.Scenario{Stall: &results.Stall{}}}
	if gate := strikes(trial); gate.Passed {
		t.Errorf("unknown strikes pass: %+v", gate)
	}
	trial.Executions = []api.Executions{{Replica: "one"}}
	if gate := strikes(trial); gate.Passed {
		t.Errorf("no strike passes: %+v", gate)
	}
	trial.Strikes = 1
	if gate := strikes(trial); !gate.Passed {
		t.Errorf("one strike: %+v", gate)
	}
	trial.Scenario.Gates.Strikes = 2
	if gate := strikes(trial); gate.Passed {
		t.Errorf("one of two strikes passes: %+v", gate)
	}
}

func TestATrialAddsUpWhatTheReplicasSaw(t *testing.T) {
	trial := results.Trial{Strikes: 99, Events: map[string]int64{"old": 1}, Executions: []api.Executions{
		{Replica: "one", Stalled: 1, Frozen: int64(2 * time.Second), Fenced: 3, Events: map[string]int64{"deadlock": 4, "conflict": 1}},
		{Replica: "two", Stalled: 10, Frozen: int64(time.Second), Lost: 20, Fenced: 30, Events: map[string]int64{"deadlock": 40}},
		{Replica: "three"},
	}}
	sumUp(&trial)
	want := results.Trial{Strikes: 11, Frozen: results.Duration(3 * time.Second), Lost: 20, Refusals: 33,
		Events: map[string]int64{"deadlock": 44, "conflict": 1}, Executions: trial.Executions}
	if !reflect.DeepEqual(trial, want) {
		t.Errorf("\n got %+v\nwant %+v", trial, want)
	}
	none := results.Trial{Events: map[string]int64{"old": 1}, Executions: []api.Executions{{Replica: "one"}}}
	if sumUp(&none); none.Events != nil {
		t.Errorf("no replica told of an event, yet %v", none.Events)
	}
}
