package results

import "fmt"

// Judge returns the verdict on a trial. A trial whose gates did not all pass is invalid, and so is one whose audit
// could not count the units sold: it has no result, whatever else holds. Invariants that broke are among the reasons of
// an invalid trial too, for the ledger's evidence stays true.
func Judge(gates []Gate, audit Audit) Verdict {
	v := Verdict{State: Held}
	for _, c := range audit.Broke() {
		v.State = Broken
		v.Reasons = append(v.Reasons, c.reason())
	}
	var failed []string
	for _, g := range gates {
		if !g.Passed {
			failed = append(failed, fmt.Sprintf("%s: %s, the limit is %s", g.Name, g.Measured, g.Limit))
		}
	}
	if !audit.counted() {
		failed = append(failed, "the audit could not tell whether the trial oversold")
	}
	if len(failed) > 0 {
		v.State, v.Reasons = Suspect, append(failed, v.Reasons...)
	}
	return v
}

func (c Check) reason() string {
	if c.Note != "" {
		return fmt.Sprintf("%s: %d (%s)", c.Invariant, c.Count, c.Note)
	}
	return fmt.Sprintf("%s: %d", c.Invariant, c.Count)
}

// counted reports whether the audit checked for oversold units.
func (a Audit) counted() bool {
	for _, c := range a.Checks {
		if c.Invariant == Oversold {
			return c.State == Intact || c.State == Violated
		}
	}
	return false
}
