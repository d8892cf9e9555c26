package results

import (
	"fmt"
	"slices"
	"strings"
)

// A Stall is a pause between two steps, as a garbage collection or a slow dependency would cause.
type Stall struct {
	Kind StallKind `json:"kind,omitempty" yaml:"kind"` // empty means StallOrder
	// Before names the step that is held back, such as "update inventory". Several names are separated by ", ": an order
	// stalls before whichever it comes to first, since strategies keep the stock in different tables.
	Before      string   `json:"before" yaml:"before"`
	For         Duration `json:"for" yaml:"for"`                 // its length; with Least, at most
	Least       Duration `json:"least,omitempty" yaml:"least"`   // unless 0, each order's length is drawn evenly from Least to For
	Probability float64  `json:"probability" yaml:"probability"` // share of orders struck, drawn from seed and order
}

// StallKind says what stalls.
type StallKind string

// The kinds of stall.
const (
	StallOrder   StallKind = "order"        // the order alone
	StallReplica StallKind = "replica"      // the whole replica: meanwhile nothing in it renews a lease
	StallMemory  StallKind = "redis-memory" // the order, and Redis loses all keys of the run before
)

// Steps returns the names in Before.
func (s Stall) Steps() []string { return strings.Split(s.Before, ", ") }

// Validate returns an error that names the field that makes no sense.
func (s Stall) Validate() error {
	switch {
	case !slices.Contains([]StallKind{"", StallOrder, StallReplica, StallMemory}, s.Kind):
		return fmt.Errorf("kind: must be %s, %s or %s, not %q", StallOrder, StallReplica, StallMemory, s.Kind)
	case slices.ContainsFunc(s.Steps(), func(step string) bool {
		return step == "" || strings.TrimSpace(step) != step || strings.Contains(step, ",")
	}):
		return fmt.Errorf("before: must be the name of a step, or several separated by \", \", not %q", s.Before)
	case s.For <= 0:
		return fmt.Errorf("for: must be above 0, not %v", s.For)
	case s.Least < 0 || s.Least > s.For:
		return fmt.Errorf("least: must be 0 to %v, not %v", s.For, s.Least)
	case !(s.Probability > 0 && s.Probability <= 1):
		return fmt.Errorf("probability: must be above 0 and at most 1, not %v", s.Probability)
	}
	return nil
}
