package results

import "time"

// Invariant names what must hold of every sale.
type Invariant string

// The invariants, each with what it counts when broken.
const (
	Oversold         Invariant = "oversold"            // units committed beyond the stock
	Conservation     Invariant = "conservation"        // units by which start − sold ≠ left
	NegativeStock    Invariant = "negative stock"      // units that the inventory row is below zero
	LostUpdate       Invariant = "lost update"         // orders whose units overlap another order's, or leave a gap before them
	RealTimeOrder    Invariant = "real-time order"     // orders sent after another was answered, with a lower position
	FalseSoldOut     Invariant = "false sold-out"      // sold-out answers while enough units were left throughout
	Stranded         Invariant = "stranded units"      // units left at rest although an order for no more was told sold out
	DuplicateOrder   Invariant = "duplicate order"     // orders beyond the first of an idempotency key
	LostOrder        Invariant = "lost order"          // acknowledged, not in the ledger, or there with other figures
	PhantomOrder     Invariant = "phantom order"       // surely refused, or never asked for, yet in the ledger
	FenceOrder       Invariant = "fence order"         // orders with a fence below that of the position before
	BelievedOverlap  Invariant = "overlapping leases"  // critical sections entered while another holder believed in its own
	EffectiveOverlap Invariant = "overlapping effects" // the same, from first statement to COMMIT, of sections that both sold
	HiddenResend     Invariant = "hidden re-send"      // hits that reached a replica more often than they were sent
)

// State says whether an invariant was checked, and with what result.
type State string

// The states of a check. Unchecked is neither passed nor failed.
const (
	Intact    State = "held"
	Violated  State = "broken"
	Unchecked State = "not checked"
)

// A Check is one invariant's result.
type Check struct {
	Invariant Invariant `json:"invariant"`
	State     State     `json:"state"`
	Count     int64     `json:"count"`          // how many were found, in the invariant's own unit
	Note      string    `json:"note,omitempty"` // why it was not checked, or what the count means here
	// Observation marks a check that is reported and never breaks a trial: overlapping leases are what a fence is for.
	Observation bool `json:"observation,omitempty"`
}

// An Audit is what became of a trial's orders really.
type Audit struct {
	Checks []Check `json:"checks"` // every invariant, in the order of their declaration
	// Sold, Orders and Left are counted in the ledger and read from the inventory row.
	Sold     int64 `json:"sold"` // units
	Orders   int64 `json:"orders"`
	Left     int64 `json:"left"`
	Oversold int64 `json:"oversold"` // units, 0 when none
	// Resolved counts the unknown outcomes by what the ledger says of them.
	ResolvedSold    int64 `json:"resolved_sold"`
	ResolvedNotSold int64 `json:"resolved_not_sold"`
	// LongestGap is the longest time between two sales while stock was left and orders were waiting.
	LongestGap Duration `json:"longest_gap"`
	// FirstOversell is when the first unit beyond the stock was acknowledged; 0 when none was.
	FirstOversell Duration `json:"first_oversell,omitempty"`
}

// Broke returns the checks that were broken and are no mere observation.
func (a Audit) Broke() []Check {
	var broke []Check
	for _, c := range a.Checks {
		if c.State == Violated && !c.Observation {
			broke = append(broke, c)
		}
	}
	return broke
}

// An Anomaly is a broken invariant with its evidence: a line of anomalies.json.
type Anomaly struct {
	Invariant Invariant `json:"invariant"`
	Detail    string    `json:"detail"` // one sentence
	Units     int64     `json:"units,omitempty"`
	Orders    []Witness `json:"orders,omitempty"`
}

// A Witness is one order in an anomaly, from the client's record, the ledger, or both.
type Witness struct {
	Key      string    `json:"key"`
	Outcome  string    `json:"outcome,omitempty"`
	Replica  string    `json:"replica,omitempty"`
	Order    int64     `json:"order,omitempty"`
	Position int64     `json:"position,omitempty"`
	Quantity int       `json:"quantity,omitempty"`
	Fence    int64     `json:"fence,omitempty"`
	Sent     Duration  `json:"sent,omitempty"`
	End      Duration  `json:"end,omitempty"`
	Created  time.Time `json:"created,omitzero"`
}
