package results

import "github.com/hotsku/hotsku/target/api"

// Valid reports whether the trial may be shown as a result: no gate failed.
func (t Trial) Valid() bool { return t.Verdict.State == Held || t.Verdict.State == Broken }

// Broke reports whether an invariant broke in the trial, be it valid or not.
func (t Trial) Broke() bool { return t.Verdict.State == Broken || len(t.Audit.Broke()) > 0 }

// Latency returns the summary of the hits of one kind, outcome and phase, and false if there were none.
func (t Trial) Latency(kind Kind, outcome api.Outcome, phase PhaseName) (Latency, bool) {
	for _, l := range t.Latencies {
		if l.Kind == kind && l.Outcome == outcome && l.Phase == phase {
			return l, true
		}
	}
	return Latency{}, false
}

// Sales returns the trial's headline: the response times of its sales in the phase in which sales were to be had,
// Selling or Sustained; over the whole trial if no sale falls in that phase. It is false if nothing was sold.
func (t Trial) Sales() (Latency, bool) {
	for _, phase := range []PhaseName{Selling, Sustained, Whole} {
		if l, ok := t.Latency(Response, api.Sold, phase); ok {
			return l, true
		}
	}
	return Latency{}, false
}

// Goodput returns the orders per second that were acknowledged in the phase in which sales were to be had, Selling or
// Sustained. It is false if the trial has no such phase, as when a drain sold out within EdgeWidth: over a time in
// which there was nothing to sell it would say nothing about the strategy.
func (t Trial) Goodput() (perSecond float64, ok bool) {
	for _, p := range t.Phases {
		if p.Name == Selling || p.Name == Sustained {
			return float64(p.Acknowledged) / (p.To - p.From).D().Seconds(), true
		}
	}
	return 0, false
}

// UnavailableShare returns the share of the hits sent that were answered unavailable, from 0 to 1, and false if none
// was sent.
func (t Trial) UnavailableShare() (float64, bool) {
	if t.Attack.Sent == 0 {
		return 0, false
	}
	return float64(t.Attack.Outcomes[api.Unavailable]) / float64(t.Attack.Sent), true
}
