package results

import (
	"time"

	"github.com/hotsku/hotsku/target/api"
)

// A Hit is one checkout as its client saw it. Its times are offsets from the trial's time zero, on the client's
// monotonic clock. It is kept for every order of a trial, so its size (80 bytes) is what an attack costs in memory.
type Hit struct {
	Seq      uint64        // its place in the schedule, from 0; the order's key is the trial's KeyPrefix + Seq
	Intended time.Duration // when the schedule wanted it sent
	Sent     time.Duration // when it was sent
	End      time.Duration // when its answer was read, or the client gave up
	Order    int64         // the order's id, 0 unless acknowledged
	Position int64         // see api.Order, 0 unless acknowledged
	Fence    int64         // see api.Order
	Error    string        // what the client met instead of an answer, or "" (few distinct values)
	Quantity int32         // units asked for
	Code     uint16        // HTTP status, 0 for no answer
	Outcome  api.Outcome
	Replica  uint8 // index of the address that it was sent to
}

// Response is the time that a customer waited, from the moment when the schedule wanted the hit sent. A generator or a
// server that falls behind cannot hide in it; it is the headline.
func (h Hit) Response() time.Duration { return h.End - h.Intended }

// Service is the time from sending to the answer. It hides the queueing that a late generator caused.
func (h Hit) Service() time.Duration { return h.End - h.Sent }

// Lag is how late the generator sent the hit; a few microseconds early counts as 0.
func (h Hit) Lag() time.Duration { return max(0, h.Sent-h.Intended) }

// Kind names one of the three times of a hit.
type Kind string

// The kinds.
const (
	Response Kind = "response"
	Service  Kind = "service"
	Lag      Kind = "lag"
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Response, Service, Lag} }

// Of returns the hit's time of kind k.
func (k Kind) Of(h Hit) time.Duration {
	switch k {
	case Service:
		return h.Service()
	case Lag:
		return h.Lag()
	}
	return h.Response()
}
