package audit

import (
	"fmt"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// FuzzAudit audits nonsense, of which it demands that the audit survives and stays consistent, and a clean history,
// of which it demands that nothing is found.
func FuzzAudit(f *testing.F) {
	f.Add(uint64(1), []byte{})
	f.Add(uint64(2), []byte("a stock of three, a few orders, and a ledger that has never heard of them"))
	f.Add(uint64(3), []byte{3, 1, 2, 0, 0, 9, 1, 1, 1, 0, 9, 2, 0, 0, 1, 1, 1, 0, 1, 1, 2, 1, 0})
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		c := nonsense(data)
		requireConsistent(t, c)

		clean := recipe{
			seed: seed, orders: int(seed % 90), stock: int64(seed / 7 % 60), quantity: 1 + int(seed/11%3),
			clients: 1 + int(seed/13%20), bare: seed%3 == 0, untraced: seed%4 == 0, unsettled: seed%5 != 0,
		}.make()
		a, anomalies := Audit(clean.Case)
		requireCounts(t, a, anomalies, nil)
	})
}

// requireConsistent demands that states, counts and evidence of an audit fit together.
func requireConsistent(t *testing.T, c Case) {
	t.Helper()
	a, anomalies := Audit(c)
	evidence := counts{}
	for _, x := range anomalies {
		evidence[x.Invariant]++
		if x.Detail == "" {
			t.Errorf("%s: an anomaly without a detail", x.Invariant)
		}
	}
	if len(a.Checks) != len(Invariants()) {
		t.Errorf("%d checks, want %d", len(a.Checks), len(Invariants()))
	}
	for _, x := range a.Checks {
		if x.Count < 0 || (x.State == results.Violated) != (x.Count > 0) || (evidence[x.Invariant] > 0) != (x.Count > 0) {
			t.Errorf("%+v with %d anomalies", x, evidence[x.Invariant])
		}
	}
	if min(a.Oversold, a.ResolvedSold, a.ResolvedNotSold, a.LongestGap.D().Nanoseconds()) < 0 {
		t.Errorf("a negative count: %+v", a)
	}
}

// A source hands out the bytes of the fuzzer, then zeros.
type source []byte

func (s *source) next() int {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return int(b)
}

// small returns a number around zero.
func (s *source) small() int64 { return int64(s.next()%24) - 4 }

// moment returns a time, in rare cases one at the edge of time.
func (s *source) moment() time.Duration {
	b := s.next()
	switch b {
	case 254:
		return always
	case 255:
		return never
	}
	return time.Duration(b%32) * time.Millisecond
}

// nonsense makes a case of bytes.
func nonsense(data []byte) Case {
	s := source(data)
	c := Case{
		Stock: s.small(), KeyPrefix: []string{"", prefix, "7"}[s.next()%3], Replicas: []string{"a", "b", "a"}[:s.next()%4],
		Inventory: api.Inventory{Stock: s.small(), Sold: s.small()},
	}
	if s.next()%8 > 0 {
		c.Zero = zero
	}
	for range s.next() % 16 {
		c.Hits = append(c.Hits, results.Hit{
			Seq: uint64(s.small()), Sent: s.moment(), End: s.moment(), Order: s.small(), Position: s.small(),
			Fence: s.small(), Quantity: int32(s.small()), Code: uint16(s.next()),
			Outcome: api.Outcome(s.next() % 10), Replica: uint8(s.next() % 5),
		})
	}
	keys := []string{"", "x", prefix, prefix + "00", fmt.Sprint(prefix, uint64(1<<63))}
	for seq := range 16 {
		keys = append(keys, fmt.Sprint(c.KeyPrefix, seq))
	}
	for range s.next() % 16 {
		o := api.Order{
			ID: s.small(), Key: keys[s.next()%len(keys)], Quantity: int(s.small()), Position: s.small(), Fence: s.small(),
			Replica: []string{"", "a", "z"}[s.next()%3],
		}
		if s.next()%2 > 0 {
			o.CreatedAt = zero.Add(s.moment())
		}
		c.Ledger = append(c.Ledger, o)
	}
	names := []string{"acquire", "release", "renew", "begin", "commit", "rollback", "get"}
	for range s.next() % 16 {
		c.Steps = append(c.Steps, api.Step{
			Order: keys[s.next()%len(keys)], Replica: []string{"a", "b"}[s.next()%2], Name: names[s.next()%len(names)],
			Store: []api.Store{api.Database, api.Redis}[s.next()%2], Start: int64(s.moment()), End: int64(s.moment()),
			Refused: s.next()%4 == 0,
		})
	}
	for range s.next() % 4 {
		c.Executions = append(c.Executions, api.Executions{
			Replica: []string{"a", "b", "c"}[s.next()%3], Requests: s.small(),
			Repeated: map[uint64]int64{uint64(s.next() % 16): s.small()},
		})
	}
	return c
}
