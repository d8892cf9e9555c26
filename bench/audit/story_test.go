package audit

import (
	"fmt"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// told returns a hit in milliseconds.
func told(seq uint64, outcome api.Outcome, quantity int32, sent, end int) results.Hit {
	return results.Hit{
		Seq: seq, Outcome: outcome, Quantity: quantity,
		Sent: time.Duration(sent) * time.Millisecond, End: time.Duration(end) * time.Millisecond,
	}
}

// bought returns a hit that was sold at a position, in milliseconds.
func bought(seq uint64, position int64, quantity int32, sent, end int) results.Hit {
	h := told(seq, api.Sold, quantity, sent, end)
	h.Order, h.Position = int64(100+seq), position
	return h
}

// row returns the ledger's line of the order that a hit asked for.
func row(seq uint64, position int64, quantity int) api.Order {
	return api.Order{ID: int64(100 + seq), Key: fmt.Sprint(prefix, seq), Position: position, Quantity: quantity}
}

// story returns a case of a stock, what was told and what is in the ledger.
func story(stock int64, hits []results.Hit, ledger ...api.Order) Case {
	return Case{
		Stock: stock, KeyPrefix: prefix, Hits: hits, Ledger: ledger, Zero: zero,
		Replicas: []string{"replica-a", "replica-b"},
	}
}

// step returns a step of order prefix + seq at a replica, in milliseconds after zero.
func step(seq, replica string, store api.Store, name string, start, end int) api.Step {
	at := func(ms int) int64 { return zero.Add(time.Duration(ms) * time.Millisecond).UnixNano() }
	return api.Step{Order: prefix + seq, Replica: replica, Store: store, Name: name, Start: at(start), End: at(end)}
}

// failed returns a step with an error.
func failed(s api.Step) api.Step {
	s.Error = "lost connection"
	return s
}

// refusedStep returns a step of Redis that was refused.
func refusedStep(seq, replica, name string, start, end int) api.Step {
	s := step(seq, replica, api.Redis, name, start, end)
	s.Refused = true
	return s
}

// traced returns a case in which orders 0 and 1 were sold, and 77 without being asked for, with these steps.
func traced(steps ...api.Step) Case {
	c := story(9, []results.Hit{bought(0, 1, 1, 0, 50), bought(1, 2, 1, 0, 50), told(2, api.SoldOut, 1, 0, 50)},
		row(0, 1, 1), row(1, 2, 1), row(77, 3, 1))
	c.Steps = steps
	return c
}

// stay returns the steps of one sale under a lease: acquire, begin, commit and release end and start at these moments.
func stay(seq, replica string, granted, begin, committed, released int) []api.Step {
	return []api.Step{
		step(seq, replica, api.Redis, "acquire", granted-1, granted),
		step(seq, replica, api.Database, "begin", begin, begin),
		step(seq, replica, api.Database, "commit", committed-1, committed),
		step(seq, replica, api.Redis, "release", released, released+1),
	}
}
