package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name:   "lock-after-snapshot",
		Doc:    "lock-only, but the transaction has read something before the lease is taken",
		Redis:  true,
		Lease:  true,
		Breaks: []string{EveryScenario},
		New: func(e Env) (Strategy, error) {
			return lockAfterSnapshot{e}, e.Lease.Validate()
		},
	})
}

// lockAfterSnapshot takes its lease in the middle of a transaction that has read already. Under REPEATABLE READ, the
// default, all later reads see the database as it was at that first one: the lease is fresh, the stock is not.
//
// Mechanism: BEGIN; a harmless SELECT, here whether the order's key is known; then the lease; then the SELECT of the stock,
// from the snapshot that the first SELECT made; a write-back, COMMIT, release.
//
// Guarantee: none, not even with a perfect lock.
//
// What breaks it: any order that has to wait for the lease. What was sold while it waited is not in its snapshot, and its
// write-back undoes it.
//
// Cost: that of lock-only, and a database connection held while the order waits for its turn.
//
// Pick it when never. Take the lease before the transaction begins, or read the stock with FOR UPDATE, which reads the
// newest state and not the snapshot.
//
// Known users: apache/superset before pull request 44091, shopper before 2.12.3 (a security release), and vendure before
// pull request 4930 had this order of steps.
type lockAfterSnapshot struct{ Env }

var _ Strategy = lockAfterSnapshot{}

func (s lockAfterSnapshot) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	var lease lease
	err = inTx(ctx, s.DB, nil, func(tx *sql.Tx) error {
		var known int64
		err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM orders WHERE idempotency_key = ?`, o.Key).Scan(&known)
		if err != nil {
			return fmt.Errorf("select orders: %w", err)
		}
		if lease, err = s.acquire(ctx, o.SKU); err != nil { // the mistake: the snapshot is older than the lease
			return err
		}
		var stock, sold int64
		err = tx.QueryRowContext(ctx, `SELECT stock, sold FROM inventory WHERE sku = ?`, o.SKU).Scan(&stock, &sold)
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
	if lease.owner != "" {
		s.release(ctx, lease) // after the COMMIT
	}
	return r, err
}
