package results

import (
	"fmt"
	"strings"
)

// The exit codes of hotsku.
const (
	ExitHeld        = 0   // every claim held, and every control was caught where it is known to break
	ExitUsage       = 2   // the command line or a plan is wrong
	ExitBroken      = 10  // a strategy that claims to be safe broke an invariant
	ExitThreshold   = 20  // a threshold was missed
	ExitInvalid     = 30  // the run proves nothing: a control was not caught, or valid trials are missing
	ExitEnvironment = 40  // the environment failed
	ExitInterrupted = 130 // interrupted; what was finished is kept
)

// Exit returns what the run comes to: ExitBroken if a claim was broken; else ExitInvalid if a control was not caught,
// if a cell has fewer valid trials than the plan asks for, or if there is no cell; else ExitHeld. The sentence says
// why.
func (s Summary) Exit() (code int, sentence string) {
	var broken, unproven []string
	for _, c := range s.Cells {
		switch {
		case c.Claim == ClaimBroken:
			broken = append(broken, c.brokenClause())
		case c.Claim == ClaimNotCaught:
			unproven = append(unproven, fmt.Sprintf("the control %s was not caught in %s", c.Strategy.Name, c.Scenario))
		case c.Short():
			unproven = append(unproven, fmt.Sprintf("%s in %s has %d of its %d valid trials",
				c.Strategy.Name, c.Scenario, c.Valid, c.Blocks))
		}
	}
	switch {
	case len(broken) > 0:
		return ExitBroken, "A claim to be safe is broken: " + clauses(broken) + "."
	case len(unproven) > 0:
		return ExitInvalid, "The run proves nothing yet: " + clauses(unproven) + "."
	case len(s.Cells) == 0:
		return ExitInvalid, "The run proves nothing yet: it has no trial."
	}
	return ExitHeld, "Every strategy that claims to be safe held, and every control was caught where it is known to break."
}

func (c CellSummary) brokenClause() string {
	var invariants []string
	for _, b := range c.Broke {
		invariants = append(invariants, fmt.Sprintf("%s in %d of %d trials, at worst %d",
			b.Invariant, b.Trials, c.Trials, b.Worst))
	}
	return fmt.Sprintf("%s in %s (%s)", c.Strategy.Name, c.Scenario, strings.Join(invariants, ", "))
}

// clauses joins the first few clauses and counts the rest.
func clauses(all []string) string {
	const most = 3
	if len(all) <= most {
		return strings.Join(all, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(all[:most], "; "), len(all)-most)
}
