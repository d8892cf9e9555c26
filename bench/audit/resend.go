package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// A tally compares what one replica counted with what the clients sent to it.
type tally struct {
	replica  string
	known    bool             // the case names the replica; else any hit may have gone to it
	sent     int64            // hits
	answered int64            // hits with an answer that only a replica gives
	requests int64            // arrivals that the replica counted
	repeated map[uint64]int64 // arrivals of each Seq that came more than once
	extra    int64            // arrivals in repeated beyond those that were sent
}

// tallies returns a tally per replica that counts its executions, by name.
func (t *trial) tallies() []*tally {
	byName := map[string]*tally{}
	for _, e := range t.Executions {
		y := byName[e.Replica]
		if y == nil {
			y = &tally{replica: e.Replica, known: slices.Contains(t.Replicas, e.Replica), repeated: map[uint64]int64{}}
			byName[e.Replica] = y
		}
		y.requests += e.Requests
		for seq, arrivals := range e.Repeated {
			y.repeated[seq] += arrivals
		}
	}
	for i := range t.Hits {
		h := &t.Hits[i]
		if y := byName[t.replica(h.Replica)]; y != nil && y.known {
			y.sent++
			if answeredByReplica(h) {
				y.answered++
			}
		}
	}
	for _, y := range byName {
		if !y.known {
			y.sent = int64(len(t.Hits))
		}
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b *tally) int { return strings.Compare(a.replica, b.replica) })
}

// answeredByReplica reports whether the hit has an answer that no proxy in front of a replica would give.
func answeredByReplica(h *results.Hit) bool {
	return h.Outcome != api.Unknown && h.Outcome != api.Invalid
}

// sentTo counts the hits of a Seq that went to the tally's replica.
func (t *trial) sentTo(y *tally, seq uint64) (sent int64) {
	k := t.find(t.keyName(seq))
	if k == none {
		return 0
	}
	for _, i := range t.tries(k) {
		if !y.known || t.replica(t.Hits[i].Replica) == y.replica {
			sent++
		}
	}
	return sent
}

// checkHiddenResend counts the hits that reached a replica more often than they were sent, the arrivals beyond that
// which cannot be laid to one hit, and the answers of a replica to hits that it did not count.
func checkHiddenResend(t *trial) result {
	if len(t.Executions) == 0 {
		return unchecked("the target does not count executions")
	}
	tallies := t.tallies()
	var findings []finding
	var seqs []uint64 // by finding.other
	for i, y := range tallies {
		for _, seq := range slices.Sorted(maps.Keys(y.repeated)) {
			if extra := y.repeated[seq] - t.sentTo(y, seq); extra > 0 {
				y.extra += extra
				f := finding{who: int32(i), other: int32(len(seqs))}
				if k := t.find(t.keyName(seq)); k != none {
					f.at = t.keys[k].sent
				}
				findings, seqs = append(findings, f), append(seqs, seq)
			}
		}
	}
	r := judge(findings, t.uncounted(tallies), func(f finding) results.Anomaly {
		y, seq := tallies[f.who], seqs[f.other]
		return results.Anomaly{
			Detail: fmt.Sprintf("Hit %d reached %s in %s, but was sent there in %d.",
				seq, y.replica, count(y.repeated[seq], "request"), t.sentTo(y, seq)),
			Orders: []results.Witness{t.witnessKey(t.keyName(seq))},
		}
	})
	for _, y := range tallies {
		r = y.balance(r)
	}
	return r
}

// balance adds to r what the tally's totals show beyond its repeated hits.
func (y *tally) balance(r result) result {
	add := func(n int64, detail string) {
		r.check.State = results.Violated
		r.check.Count += n
		r.anomalies = append(r.anomalies, results.Anomaly{Detail: detail})
	}
	if n := y.requests - y.sent - y.extra; n > 0 {
		add(n, fmt.Sprintf("%s counted %s of which none can tell the hit: it counted %d and was sent %d.",
			y.replica, count(n, "further arrival"), y.requests, y.sent))
	}
	if n := y.answered - y.requests; n > 0 {
		add(n, fmt.Sprintf("Executions missing: %s answered %s and counted %d.",
			y.replica, count(y.answered, "hit"), y.requests))
	}
	return r
}

// uncounted notes how many of the trial's replicas did not count executions.
func (t *trial) uncounted(tallies []*tally) string {
	silent := 0
	for _, name := range t.Replicas {
		if !slices.ContainsFunc(tallies, func(y *tally) bool { return y.replica == name }) {
			silent++
		}
	}
	if silent == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s did not count executions", silent, count(int64(len(t.Replicas)), "replica"))
}
