package results

import "slices"

// EveryScenario among a Strategy's Breaks says that it is known to break in each.
const EveryScenario = "every scenario"

// Claim says what became of a strategy's claim in one scenario. A strategy that claims to be safe must hold; the others
// are controls, which must be caught where they are known to break, or else the measurement proves nothing.
type Claim string

// The fates of a claim. An invariant that broke counts even in an invalid trial, since a gate doubts the times and the
// load, never the ledger. For all else only valid trials count.
const (
	ClaimHeld      Claim = "held"       // safe, and every valid trial held
	ClaimBroken    Claim = "broken"     // safe, yet an invariant broke in at least one trial
	ClaimCaught    Claim = "caught"     // a control, and an invariant broke in at least one trial
	ClaimNotCaught Claim = "not caught" // a control that is known to break in this scenario, yet it held
	ClaimUnharmed  Claim = "unharmed"   // a control that is not known to break in this scenario, and it held
	ClaimNoResult  Claim = "no result"  // nothing broke, but fewer trials are valid than the plan has blocks
)

// KnownToBreak reports whether the strategy is known to break in the scenario.
func (s Strategy) KnownToBreak(scenario string) bool {
	return slices.Contains(s.Breaks, scenario) || slices.Contains(s.Breaks, EveryScenario)
}

// claim judges the cell's claim from its counts.
func (c CellSummary) claim() Claim {
	broke := len(c.Broke) > 0 || c.Broken > 0
	switch {
	case broke && c.Strategy.Safe:
		return ClaimBroken
	case broke:
		return ClaimCaught
	case c.Short():
		return ClaimNoResult
	case c.Strategy.Safe:
		return ClaimHeld
	case c.Strategy.KnownToBreak(c.Scenario):
		return ClaimNotCaught
	}
	return ClaimUnharmed
}
