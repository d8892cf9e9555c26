package attack

import (
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
)

func TestGates(t *testing.T) {
	good := Report{Attack: results.Attack{Planned: 10_000, Sent: 10_000, CPU: 0.2}, LagP99: time.Millisecond}
	for _, test := range []struct {
		name   string
		limits results.Gates
		change func(*Report)
		failed string
	}{
		{"a good attack passes the defaults", results.Gates{}, func(*Report) {}, ""},
		{"ten of ten thousand may be missing", results.Gates{}, func(r *Report) { r.Attack.Sent = 9990 }, ""},
		{"eleven of ten thousand may not", results.Gates{}, func(r *Report) { r.Attack.Sent = 9989 }, "sent share"},
		{"a limit of its own is stricter", results.Gates{SentShare: 1},
			func(r *Report) { r.Attack.Sent = 9999 }, "sent share"},
		{"lag at the default limit passes", results.Gates{}, func(r *Report) { r.LagP99 = DefaultLagP99 }, ""},
		{"lag beyond it fails", results.Gates{}, func(r *Report) { r.LagP99 = DefaultLagP99 + 1 }, "lag p99"},
		{"lag beyond a limit of its own fails", results.Gates{LagP99: results.Duration(ms / 2)}, func(*Report) {}, "lag p99"},
		{"one socket error is too many", results.Gates{}, func(r *Report) { r.Attack.SocketErrors = 1 }, "socket errors"},
		{"a busy generator fails", results.Gates{}, func(r *Report) { r.Attack.CPU = 0.71 }, "generator CPU"},
		{"a busy generator is allowed where the scenario says so", results.Gates{CPU: 0.9},
			func(r *Report) { r.Attack.CPU = 0.71 }, ""},
		{"processor time that was not measured does not pass", results.Gates{},
			func(r *Report) { r.Attack.CPU = 0 }, "generator CPU"},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := good
			test.change(&report)
			for _, gate := range Gates(test.limits, report) {
				if gate.Passed != (gate.Name != test.failed) {
					t.Errorf("%s: limit %s, measured %s: passed %v", gate.Name, gate.Limit, gate.Measured, gate.Passed)
				}
			}
		})
	}
}

func TestNothingSentPassesNothing(t *testing.T) {
	for _, gate := range Gates(results.Gates{}, Report{}) {
		if gate.Passed && gate.Name != "socket errors" {
			t.Errorf("%s passed: measured %s", gate.Name, gate.Measured)
		}
	}
}

func TestGatesSpeakPlainly(t *testing.T) {
	report := Report{
		Attack: results.Attack{Planned: 1000, Sent: 998, CPU: 0.256, SocketErrors: 3}, LagP99: 412 * time.Microsecond,
	}
	want := []results.Gate{
		{Name: "sent share", Limit: ">= 0.999", Measured: "0.9980 (998 of 1000)"},
		{Name: "lag p99", Limit: "<= 5ms", Measured: "410µs", Passed: true},
		{Name: "socket errors", Limit: "0", Measured: "3"},
		{Name: "generator CPU", Limit: "<= 0.7 of GOMAXPROCS", Measured: "0.256", Passed: true},
	}
	for i, gate := range Gates(results.Gates{}, report) {
		if gate != want[i] {
			t.Errorf("got %+v, want %+v", gate, want[i])
		}
	}
}
