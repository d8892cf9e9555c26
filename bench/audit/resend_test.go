package audit

import (
	"testing"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

func TestExecutions(t *testing.T) {
	hits := []results.Hit{bought(0, 1, 1, 0, 1), bought(1, 2, 1, 0, 1), told(2, api.Unknown, 1, 0, 1)}
	hits[1].Replica = 1
	counted := func(replica string, requests int64, repeated map[uint64]int64) api.Executions {
		return api.Executions{Replica: replica, Requests: requests, Repeated: repeated}
	}
	type executions = []api.Executions
	for _, tt := range []struct {
		name       string
		executions executions
		count      int64
		note       string
	}{
		{"as many arrivals as hits", executions{counted("replica-a", 2, nil), counted("replica-b", 1, nil)}, 0, ""},
		{"a hit that got no answer may not have arrived",
			executions{counted("replica-a", 1, nil), counted("replica-b", 1, nil)}, 0, ""},
		{"a hit that arrived three times is one hit",
			executions{counted("replica-a", 4, map[uint64]int64{0: 3}), counted("replica-b", 1, nil)}, 1, ""},
		{"a hit that arrived twice at another replica than it was sent to is one hit",
			executions{counted("replica-a", 2, nil), counted("replica-b", 3, map[uint64]int64{0: 2})}, 1, ""},
		{"a hit that was never sent and came twice",
			executions{counted("replica-a", 4, map[uint64]int64{99: 2}), counted("replica-b", 1, nil)}, 1, ""},
		{"an arrival beyond the hits, of which no hit is known",
			executions{counted("replica-a", 2, nil), counted("replica-b", 2, nil)}, 1, ""},
		{"a repeated hit and an arrival beyond it",
			executions{counted("replica-a", 4, map[uint64]int64{0: 2}), counted("replica-b", 1, nil)}, 2, ""},
		{"an answer of a replica that counted nothing",
			executions{counted("replica-a", 0, nil), counted("replica-b", 1, nil)}, 1, ""},
		{"a replica that does not count is noted", executions{counted("replica-b", 1, nil)}, 0,
			"1 of 2 replicas did not count executions"},
		{"a replica of an unknown name may have got any hit", executions{counted("elsewhere", 3, nil)}, 0,
			"2 of 2 replicas did not count executions"},
		{"a replica of an unknown name got more than all hits", executions{counted("elsewhere", 4, nil)}, 1,
			"2 of 2 replicas did not count executions"},
		{"two reports of one replica are added up",
			executions{counted("replica-a", 1, nil), counted("replica-a", 1, nil), counted("replica-b", 1, nil)}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := story(9, hits, row(0, 1, 1), row(1, 2, 1))
			c.Executions = tt.executions
			a, _ := Audit(c)
			if got := checkOf(a, results.HiddenResend); got.Count != tt.count || got.Note != tt.note {
				t.Errorf("%d (%q), want %d (%q)", got.Count, got.Note, tt.count, tt.note)
			}
		})
	}
}

func TestATryThatTheClientRepeatedIsNoHiddenResend(t *testing.T) {
	for _, replica := range []string{"replica-a", "elsewhere"} {
		c := story(9, []results.Hit{told(0, api.Contended, 1, 0, 1), told(0, api.Contended, 1, 2, 3)})
		c.Executions = []api.Executions{{Replica: replica, Requests: 2, Repeated: map[uint64]int64{0: 2}}}
		a, _ := Audit(c)
		if got := checkOf(a, results.HiddenResend); got.State != results.Intact {
			t.Errorf("%s: %+v, want it held", replica, got)
		}
	}
}

func TestOnlyAReplicasOwnAnswersProveThatAHitReachedIt(t *testing.T) {
	proxied, unnamed := told(0, api.Invalid, 1, 0, 1), told(1, api.Contended, 1, 0, 1)
	unnamed.Replica = 9
	c := story(9, []results.Hit{proxied, unnamed})
	c.Executions = []api.Executions{{Replica: "replica-a"}, {Replica: "replica-b"}, {Replica: ""}}
	a, _ := Audit(c)
	if got := checkOf(a, results.HiddenResend); got.State != results.Intact {
		t.Errorf("%+v, want it held", got)
	}
}
