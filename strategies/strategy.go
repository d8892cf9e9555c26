package strategies

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Strategy sells a limited stock to orders that arrive concurrently, at any number of replicas.
// Its methods may be called from many goroutines.
type Strategy interface {
	// Checkout sells o.Quantity units of o.SKU to o, or nothing. A nil error means sold and committed.
	// The errors that this package declares mean that it is surely not sold, but for ErrDuplicate: then the
	// ledger has an order with the key, which may be the very one that an earlier try, or an unanswered COMMIT
	// of this one, has made. After any other error the outcome is unknown: only the ledger can tell.
	Checkout(ctx context.Context, o Order) (Receipt, error)
}

// An Order is a request for some units of one SKU. Several SKUs in one order are out of scope.
type Order struct {
	Key      string // the idempotency key, which tells a retry from a second purchase
	SKU      string
	Quantity int // at least 1
	Customer string
}

// A Receipt is what a sold order got.
type Receipt struct {
	ID       int64
	Position int64     // the number of the last unit that it took, among all units sold of its SKU; 0 if [Info.Unordered]
	Fence    int64     // the fencing token that it was sold under, 0 for none
	Created  time.Time // the replica's clock, in whole microseconds, as it stands in the order's row
}

// The errors of a checkout whose outcome is known. Match them with [errors.Is]: they come wrapped.
var (
	ErrSoldOut     = errors.New("strategies: sold out")                   // fewer units are left than the order asks for
	ErrUnknownSKU  = errors.New("strategies: no such SKU")                // it has no inventory row
	ErrDuplicate   = errors.New("strategies: the key has an order")       // an order with this key is committed already
	ErrContended   = errors.New("strategies: no turn in time")            // others were in the way for too long; try again
	ErrFenced      = errors.New("strategies: fenced off")                 // a newer holder of the lease came first; try again
	ErrUnavailable = errors.New("strategies: a dependency does not work") // the database or Redis failed before COMMIT
)

// Env is all that a strategy may touch.
type Env struct {
	DB      *sql.DB
	Redis   redis.UniversalClient
	Nodes   []redis.UniversalClient // the independent Redis processes of a lock that wants a majority; see redlock
	Prefix  string                  // of every key in Redis
	Replica string                  // the name of this process, written into the order's row
	Lease   LeaseSettings
	Log     *slog.Logger // for what no caller can be told, such as a release that failed
	// Tell, unless nil, is told of what no single statement shows. It may be called from many goroutines.
	Tell func(ctx context.Context, e Event)
	// As, unless nil, returns a context in the name of the order, for work that one goroutine does for another's order:
	// so whoever watches the steps knows whose they are.
	As func(ctx context.Context, o Order) context.Context
}

// An Event is something that happened on the way of an order and that no single statement shows.
type Event struct {
	Kind  EventKind
	SKU   string
	Token int64 // of a lease that was granted; 0 for none
}

// EventKind names an event. It is the label of a metric: lower-case words joined by '-'.
type EventKind string

// The events.
const (
	Deadlock    EventKind = "deadlock"          // the database ended this transaction to break a deadlock
	LockWait    EventKind = "lock-wait-timeout" // a row was locked for longer than the database lets a transaction wait
	Conflict    EventKind = "conflict"          // a compare-and-set found that another had been there
	LookedAgain EventKind = "looked-again"      // too few units were free, but some only locked or reserved for a moment
	Granted     EventKind = "granted"           // a lease was handed to an order that waited for it
	LeaseLost   EventKind = "lease-lost"        // a holder learned that its lease had ended
	FenceRaised EventKind = "fence-raised"      // a fence counter that had been lost was raised to the database's maximum
	Loaded      EventKind = "loaded"            // a stock was loaded from the inventory row into where it is sold from
	Returned    EventKind = "returned"          // units that had been taken in Redis were given back
	TookOver    EventKind = "took-over"         // a new leader began to sell a SKU
	Merged      EventKind = "merged"            // several orders were sold in one transaction
)

// tell passes an event on to whoever wants to know.
func (e Env) tell(ctx context.Context, sku string, kind EventKind) {
	if e.Tell != nil {
		e.Tell(ctx, Event{Kind: kind, SKU: sku})
	}
}

// as returns a context in the name of the order.
func (e Env) as(ctx context.Context, o Order) context.Context {
	if e.As == nil {
		return ctx
	}
	return e.As(ctx, o)
}

// A StockKeeper is a [Strategy] that keeps units elsewhere than in the inventory row, too.
type StockKeeper interface {
	// Stock returns how many units of a SKU are left and sold, wherever they are. It is exact while no order is under
	// way. Its error matches [ErrUnknownSKU] or [ErrUnavailable].
	Stock(ctx context.Context, sku string) (left, sold int64, err error)
}

// A strategy that has work going on in the background is an [io.Closer], too. Close ends that work and waits for it.
// No checkout may be under way.

// Info describes a strategy and makes it. What it says at length is in the doc comment of its type; see [Describe].
type Info struct {
	Name  string // lower-case words joined by '-', none of them a number: it becomes a column in every result
	Doc   string // one line
	Safe  bool   // claims never to oversell, whatever fault strikes
	Redis bool   // sells nothing while Redis is gone
	Lease bool   // takes the SKU's lease, which PHP can share; see [LeaseSettings]
	Nodes int    // how many independent Redis processes it wants; 0 for none besides Env.Redis
	// Unordered says that units are not sold one behind the other, so that a receipt has no position.
	Unordered bool
	// Breaks names the scenarios that are known to break an unsafe strategy; EveryScenario stands for all.
	Breaks []string
	New    func(Env) (Strategy, error)
}

// EveryScenario in [Info.Breaks] says that no fault is needed to break the strategy.
const EveryScenario = "every scenario"
