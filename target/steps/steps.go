// Package steps is the seam at which every step of a strategy can be seen: each statement that it sends to the database
// and each command that it sends to Redis, before it is sent and after it is answered, with the order it belongs to.
//
// Strategies know nothing of it: the seam lies in the database's connector ([Connector]) and in the Redis client's hook
// ([Hook]). Timings, traces and stalls are observers on it. Without an observer nothing is wrapped, and nothing is paid.
package steps

import (
	"context"
	"sync/atomic"
	"time"
)

// Store names what a step is sent to.
type Store string

// The stores.
const (
	Database Store = "database"
	Redis    Store = "redis"
)

// A Step is one statement sent to the database or one command sent to Redis.
type Step struct {
	Order *Order
	Store Store
	// Name is the statement's verb and table, such as "update inventory", or "begin", "commit", "rollback"; for Redis
	// the script's name, such as "acquire", or the command's. A SET with NX is an "acquire", too.
	Name  string
	Start time.Time     // sent at
	End   time.Time     // answered at; zero before
	Stall time.Duration // how long a stall held it back before Start
	Token int64         // what a granted acquire returned, if that is a number
	Try   int64         // of an acquire: the how-manieth of its order, from 1
	// Waited is, for a granted acquire, the time since the order's first try.
	Waited time.Duration
	Rows   int64 // affected rows of a statement that changes some
	// Refused is true for an acquire that was not granted, and for a script that compared and did not act.
	Refused bool
	Err     error // what went wrong; a refusal is no error
}

// An Observer sees the steps of all orders. Its methods are called from many goroutines at once, those of one order
// one after the other in the order's own goroutine, so that a Before that sleeps stalls the order.
type Observer interface {
	Before(s *Step) // Start and what follows are not set yet
	After(s *Step)
}

// An Order is what the steps of one checkout have in common. It is made by [Begin].
type Order struct {
	Key string // the idempotency key
	SKU string

	waiting atomic.Pointer[time.Time] // when it first tried to take a lease
	tries   atomic.Int64              // to take it, so far
}

type orderKey struct{}

// Begin returns a context under which every step belongs to the order with the given key and SKU.
func Begin(ctx context.Context, key, sku string) (context.Context, *Order) {
	o := &Order{Key: key, SKU: sku}
	return context.WithValue(ctx, orderKey{}, o), o
}

// Of returns the order that ctx belongs to, or nil. Steps without an order are not observed.
func Of(ctx context.Context) *Order {
	o, _ := ctx.Value(orderKey{}).(*Order)
	return o
}

// All returns an observer that passes each step to every one of those given that is not nil, or nil if there is none.
// After runs in the reverse order, so that the first sees the whole.
func All(observers ...Observer) Observer {
	var some chain
	for _, o := range observers {
		if o != nil {
			some = append(some, o)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some
}

type chain []Observer

var _ Observer = chain(nil)

func (c chain) Before(s *Step) {
	for _, o := range c {
		o.Before(s)
	}
}

func (c chain) After(s *Step) {
	for i := len(c) - 1; i >= 0; i-- {
		c[i].After(s)
	}
}

// acquire is the name of every step that tries to take a lease.
const acquire = "acquire"

// observe runs do as a step, if there is an order to which it belongs.
func observe(ctx context.Context, w Observer, store Store, name string, do func(*Step) error) error {
	order := Of(ctx)
	if order == nil {
		return do(&Step{})
	}
	s := &Step{Order: order, Store: store, Name: name}
	w.Before(s)
	s.Start = time.Now()
	err := do(s)
	s.End = time.Now()
	if !s.Refused {
		s.Err = err
	}
	if name == acquire {
		order.waiting.CompareAndSwap(nil, &s.Start)
		s.Try = order.tries.Add(1)
		if err == nil && !s.Refused {
			s.Waited = s.End.Sub(*order.waiting.Load())
		}
	}
	w.After(s)
	return err
}

// Granted shows w the grant of a lease to the order of ctx as a step, where the grant came as a message from Redis and not
// as the answer to a command.
func Granted(ctx context.Context, w Observer, token int64) {
	if w == nil || Of(ctx) == nil {
		return
	}
	_ = observe(ctx, w, Redis, acquire, func(s *Step) error { s.Token = token; return nil })
}
