package api

import (
	"fmt"
	"net/http"
)

// Outcome is what became of an order as far as its client can know.
type Outcome uint8

// The outcomes. Unknown is the zero value: whatever was not understood is unknown, neither sold nor refused.
const (
	Unknown     Outcome = iota // no answer, a reset, a timeout, or a 5xx without a code
	Sold                       // 201
	Replayed                   // 200 with HeaderReplayed: a retry of a sold order
	SoldOut                    // code sold_out
	Contended                  // code contended
	Fenced                     // code fenced
	Unavailable                // code unavailable
	Invalid                    // any other 4xx: the request itself was wrong
	outcomes
)

var outcomeNames = [outcomes]string{"unknown", "sold", "replayed", "sold-out", "contended", "fenced", "unavailable", "invalid"}

// Outcomes lists all outcomes, in the order of their declaration.
func Outcomes() []Outcome {
	all := make([]Outcome, outcomes)
	for i := range all {
		all[i] = Outcome(i)
	}
	return all
}

// String returns the name that records, plots and tables use, such as "sold-out".
func (o Outcome) String() string {
	if o < outcomes {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// MarshalText implements [encoding.TextMarshaler].
func (o Outcome) MarshalText() ([]byte, error) {
	if o >= outcomes {
		return nil, fmt.Errorf("api: no such outcome: %d", uint8(o))
	}
	return []byte(outcomeNames[o]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (o *Outcome) UnmarshalText(text []byte) error {
	for i, name := range outcomeNames {
		if name == string(text) {
			*o = Outcome(i)
			return nil
		}
	}
	return fmt.Errorf("api: no such outcome: %q", text)
}

// Acknowledged reports whether the client was told that its order is sold.
func (o Outcome) Acknowledged() bool { return o == Sold || o == Replayed }

// Refused reports whether the client was told that its order is surely not sold.
func (o Outcome) Refused() bool { return o != Unknown && !o.Acknowledged() }

// Classify returns the outcome of an answer from its status, its header and, for a Problem, its code.
// It trusts a code over the status that carries it, and takes everything that the contract does not name for Unknown,
// but for a 4xx, which is Invalid.
func Classify(status int, header http.Header, code Code) Outcome {
	switch code {
	case CodeSoldOut:
		return SoldOut
	case CodeContended:
		return Contended
	case CodeFenced:
		return Fenced
	case CodeUnavailable:
		return Unavailable
	}
	switch {
	case status == http.StatusCreated:
		return Sold
	case status == http.StatusOK && header.Get(HeaderReplayed) == "true":
		return Replayed
	case status >= 400 && status < 500:
		return Invalid
	}
	return Unknown
}
