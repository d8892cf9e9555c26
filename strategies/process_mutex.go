package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name:   "process-mutex",
		Doc:    "a mutex in the process around a read and a write-back",
		Breaks: []string{EveryScenario},
		New: func(e Env) (Strategy, error) {
			return processMutex{e, make(chan struct{}, 1)}, nil
		},
	})
}

// processMutex lets one order of its process at a time read the stock and write back what is left. That is right as long
// as the service is one process.
//
// Mechanism: a mutex in memory (here a channel that holds one, so that a wait can be cancelled), a SELECT, a write-back, and
// COMMIT before the mutex is given back.
//
// Guarantee: no two orders of one process collide. Between processes it guarantees nothing.
//
// What breaks it: the second replica, which is started on the day when the load is highest. Also a rolling deploy, during
// which two processes run even where there is one otherwise.
//
// Cost: next to nothing, and all sales of all SKUs in one line.
//
// Pick it when never for stock that a database holds. In front of a safe strategy it may calm contention.
//
// Known users: post-mortems of shops that grew from one instance to two tell of it; it is also what a language's
// synchronized keyword or lock statement around a service method amounts to.
type processMutex struct {
	Env
	turn chan struct{} // holds a value while an order is inside
}

var _ Strategy = processMutex{}

func (s processMutex) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }() // after the COMMIT
	case <-ctx.Done():
		return Receipt{}, fmt.Errorf("%w: waiting for the mutex: %w", ErrContended, context.Cause(ctx))
	}
	err = inTx(ctx, s.DB, nil, func(tx *sql.Tx) error {
		var stock, sold int64
		err := tx.QueryRowContext(ctx, `SELECT stock, sold FROM inventory WHERE sku = ?`, o.SKU).Scan(&stock, &sold)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: %s", ErrUnknownSKU, o.SKU)
		}
		if err != nil {
			return fmt.Errorf("select inventory: %w", err)
		}
		if stock < int64(o.Quantity) {
			return fmt.Errorf("%w: %d left of %s", ErrSoldOut, stock, o.SKU)
		}
		r.Position = sold + int64(o.Quantity)
		_, err = tx.ExecContext(ctx, `UPDATE inventory SET stock = ?, sold = ? WHERE sku = ?`,
			stock-int64(o.Quantity), r.Position, o.SKU)
		if err != nil {
			return fmt.Errorf("update inventory: %w", err)
		}
		return s.writeOrder(ctx, tx, o, &r)
	})
	return r, err
}
