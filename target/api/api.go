// Package api is the wire contract of a checkout service that hotsku can measure: its calls, their bodies, the
// outcomes they mean, and the lines in which a ledger is read back.
//
// Any server that speaks it can be put under the bench, in whatever language it is written. The package imports
// nothing of hotsku, so both sides of the wire may depend on it.
package api

import "time"

// The calls of the contract. Those below PathLedger, and PUT on PathInventory, are for the administrator and want the
// header "Authorization: Bearer <token>".
const (
	PathCheckouts  = "/v1/checkouts"       // POST a Checkout
	PathInventory  = "/v1/inventory/{sku}" // PUT a NewInventory, GET an Inventory
	PathLedger     = "/v1/ledger"          // GET ?sku=: Order lines by position
	PathTrace      = "/v1/trace"           // GET ?sku=: Step lines of one replica
	PathExecutions = "/v1/executions"      // GET ?sku=: an Executions
	PathHealth     = "/healthz"            // GET: the process lives
	PathReady      = "/readyz"             // GET: it can sell; 503 names the dependency that it misses
	PathMetrics    = "/metrics"            // GET: Prometheus text format
)

// The headers of the contract.
const (
	// HeaderKey carries the order's idempotency key, 1 to MaxKey characters. A second checkout with the key of a
	// sold order and the same body is answered with that order.
	HeaderKey = "Idempotency-Key"
	// HeaderReplayed is "true" on the answer to a retry of a sold order.
	HeaderReplayed = "Idempotency-Replayed"
	// HeaderReplica names the replica that answered.
	HeaderReplica = "Hotsku-Replica"
	// HeaderSeq is the number that the load generator gives to a hit. A replica counts executions by it, so that
	// a hit that was sent twice behind the generator's back is found out.
	HeaderSeq = "X-Vegeta-Seq"
)

// The bounds of a valid Checkout.
const (
	MaxSKU      = 64   // characters of a SKU
	MaxKey      = 128  // characters of an idempotency key
	MaxCustomer = 64   // characters of a customer
	MaxQuantity = 1000 // units of one order
	MaxStock    = 1_000_000_000
	MaxBody     = 4096 // bytes of a request body
)

// A Checkout asks for Quantity units of one SKU. Several SKUs in one order are out of hotsku's scope.
type Checkout struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"` // 1 to MaxQuantity
	Customer string `json:"customer"`
}

// An Order is a sale that was committed: the answer to a checkout and a line of the ledger.
type Order struct {
	ID       int64  `json:"id"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	// Position is the order's place among its SKU's sales, counted in units: the number of the last unit that the
	// order took. The orders of an intact ledger cover 1, 2, 3 … without a gap or an overlap.
	// 0 means that the strategy gives none.
	Position int64  `json:"position"`
	Customer string `json:"customer"`
	Key      string `json:"idempotency_key"`
	// Fence is the fencing token that the sale was made under; 0 means none.
	Fence     int64     `json:"fence"`
	Replica   string    `json:"replica"`
	CreatedAt time.Time `json:"created_at"` // the replica's clock, in whole microseconds, before COMMIT
}

// NewInventory creates a SKU with Stock units. It answers 201, or 409 (code Exists) when the SKU is there already.
type NewInventory struct {
	Stock int64 `json:"stock"` // 0 to MaxStock
}

// Inventory is what the inventory row of a SKU says. It is a claim of the strategy, not the truth: sales are counted
// in the ledger.
type Inventory struct {
	SKU   string `json:"sku"`
	Stock int64  `json:"stock"` // units left; negative where a strategy let it fall below zero
	Sold  int64  `json:"sold"`  // units
	Fence int64  `json:"fence"` // the highest fencing token seen, 0 for none
}

// Executions says what one replica saw of the checkouts of one SKU.
type Executions struct {
	Replica  string `json:"replica"`
	SKU      string `json:"sku"`
	Requests int64  `json:"requests"` // checkouts that reached the replica with a HeaderSeq
	// Repeated maps each HeaderSeq that came more than once to the number of its arrivals.
	Repeated map[uint64]int64 `json:"repeated"`
	Stalled  int64            `json:"stalled"` // orders that a stall struck
	// Frozen is for how long the replica stood still in those strikes, in ns, and Lost how many keys they deleted in Redis:
	// the evidence of stalls that do more than hold an order back.
	Frozen int64 `json:"frozen,omitempty"`
	Lost   int64 `json:"lost,omitempty"`

	Fenced   int64 `json:"fenced"`    // writes that the fence refused
	Steps    int64 `json:"steps"`     // steps sent to the database and Redis for these checkouts
	InFlight int64 `json:"in_flight"` // checkouts of the SKU under way now
	// Events counts what happened on the way of the orders and no single step shows, such as "deadlock", by name.
	Events map[string]int64 `json:"events,omitempty"`
}

// A Step is one statement sent to the database, or one command sent to Redis, as a replica saw it.
// Its times are the replica's wall clock, in nanoseconds since 1970.
type Step struct {
	Order   string `json:"order"` // the idempotency key
	Replica string `json:"replica"`
	Store   Store  `json:"store"`
	// Name says what was done: "begin", "select inventory", "update inventory", "insert orders", "insert outbox",
	// "commit", "rollback"; "acquire", "release", "renew", or the lower-case name of a Redis command.
	Name  string `json:"step"`
	Start int64  `json:"start"`           // sent at
	End   int64  `json:"end"`             // answered at
	Stall int64  `json:"stall,omitempty"` // ns that a stall held it back before Start
	Token int64  `json:"token,omitempty"` // the fencing token that an acquire was granted
	// Try numbers an order's tries to take its lease, from 1. Of those refused only the first is kept.
	Try int64 `json:"try,omitempty"`
	// Rows is the number of affected rows of an UPDATE or INSERT.
	Rows int64 `json:"rows,omitempty"`
	// Refused is true for an acquire that was not granted, and for a compare-and-act script that did not act.
	Refused bool   `json:"refused,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Store names what a step was sent to.
type Store string

// The stores.
const (
	Database Store = "database"
	Redis    Store = "redis"
)

// Code names a refusal in a Problem.
type Code string

// The codes of the contract.
const (
	CodeSoldOut     Code = "sold_out"     // 409: fewer units are left than were asked for
	CodeFenced      Code = "fenced"       // 409: the lease was lost to a newer holder; nothing was sold; try again
	CodeContended   Code = "contended"    // 423: no turn within the wait limit; try again
	CodeUnavailable Code = "unavailable"  // 503: a dependency is down; nothing was sold; try again
	CodeUnknownSKU  Code = "unknown_sku"  // 404
	CodeKeyReused   Code = "key_reused"   // 422: the key belongs to a sold order with another body
	CodeInvalid     Code = "invalid"      // 400
	CodeTooLarge    Code = "too_large"    // 413
	CodeExists      Code = "exists"       // 409: the SKU is there already
	CodeForbidden   Code = "unauthorized" // 401: the administrator's token is missing or wrong
)

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

// A Problem is the body of every refusal (RFC 9457). A 5xx without a Code leaves the outcome unknown.
type Problem struct {
	Type   string `json:"type"` // "about:blank": the status and Code say it all
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Code   Code   `json:"code,omitempty"`
}
