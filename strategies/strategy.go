// Package strategies holds the ways to sell a limited stock to orders that arrive concurrently, one file each.
//
// A strategy decides how the stock is guarded and nothing else: every one of them takes the stock, writes the order and
// writes the outbox rows in one database transaction, through the same helper and in the same order of statements.
// The package imports nothing of hotsku, so that a strategy can be read, and copied, alone.
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
	// The errors that this package declares mean surely not sold. After any other error the outcome is
	// unknown: only the ledger can tell.
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
	Position int64     // the number of the last unit that it took, among all units sold of its SKU
	Fence    int64     // the fencing token that it was sold under, 0 for none
	Created  time.Time // the replica's clock, in whole microseconds, as it stands in the order's row
}

// The errors after which the order is surely not sold. Match them with [errors.Is]: they come wrapped.
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
	Prefix  string // of every key in Redis
	Replica string // the name of this process, written into the order's row
	Lease   LeaseSettings
	Log     *slog.Logger // for what no caller can be told, such as a release that failed
}

// Info describes a strategy and makes it.
type Info struct {
	Name  string // lower-case words joined by '-', none of them a number: it becomes a column in every result
	Doc   string // one line
	Safe  bool   // claims never to oversell, whatever fault strikes
	Redis bool   // sells nothing while Redis is gone
	// Breaks names the scenarios that are known to break an unsafe strategy; EveryScenario stands for all.
	Breaks []string
	New    func(Env) (Strategy, error)
}

// EveryScenario in [Info.Breaks] says that no fault is needed to break the strategy.
const EveryScenario = "every scenario"
