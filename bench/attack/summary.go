package attack

import (
	"slices"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// burstWindow is the window in which a burst is counted.
const burstWindow = 10 * time.Millisecond

// summary counts what the hits of an attack of planned hits say. It leaves CPU and Clamped to others.
func summary(planned int, hits []results.Hit) results.Attack {
	a := results.Attack{Planned: planned, Sent: len(hits), Outcomes: make(map[api.Outcome]int)}
	sent, ends := make([]time.Duration, len(hits)), make([]time.Duration, len(hits))
	for i := range hits {
		hit := &hits[i]
		sent[i], ends[i] = hit.Sent, hit.End
		a.Outcomes[hit.Outcome]++
		if ownSide(hit.Error) {
			a.SocketErrors++
		}
	}
	slices.Sort(sent)
	slices.Sort(ends)
	if len(ends) > 0 {
		a.Elapsed = results.Duration(ends[len(ends)-1])
	}
	a.Burst, a.InFlight = burst(sent), inFlight(sent, ends)
	return a
}

// Reread returns the report of an attack from its hits alone. What they do not tell, how many were planned and what the
// processor was used for, it takes from the record.
func Reread(recorded results.Attack, hits []results.Hit) Report {
	r := Report{Hits: hits, Attack: summary(recorded.Planned, hits)}
	r.Attack.CPU, r.Attack.Clamped = recorded.CPU, recorded.Clamped
	if len(hits) > 0 {
		r.LagP99 = percentile(lags(hits), 99)
	}
	return r
}

// burst returns the most hits sent within any half-open burstWindow.
func burst(sent []time.Duration) int {
	most, first := 0, 0
	for last := range sent {
		for sent[last]-sent[first] >= burstWindow {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}

// inFlight returns the most hits that were unanswered at once. A hit is so from its sending until just before its end.
func inFlight(sent, ends []time.Duration) int {
	most, ended := 0, 0
	for began, at := range sent {
		for ended < began && ends[ended] <= at {
			ended++
		}
		most = max(most, began+1-ended)
	}
	return most
}
