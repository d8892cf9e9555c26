package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name: "optimistic",
		Doc:  "a version column, compare and set, retried in new transactions",
		Safe: true,
		New:  func(e Env) (Strategy, error) { return optimistic{e}, nil },
	})
}

// optimistic hopes that nobody comes between its read and its write, and has the database check that nobody did.
//
// Mechanism: a SELECT reads stock and version; the UPDATE writes both, provided that the version is still the one that was
// read; its affected rows say whether it was. If not, the order tries again in a new transaction, after a random pause,
// until the wait limit. In the same transaction the second read would see the old snapshot for ever.
//
// Guarantee: each version is sold from once.
//
// What breaks it: nothing known, as long as every writer raises the version. A driver that reports matched instead of changed
// rows does not hurt here, since the version always changes.
//
// Cost: under contention all but one of those who have read have worked in vain, and the more they are, the less is sold.
//
// Pick it when collisions are rare: many SKUs, few orders for each. A hot SKU is the opposite.
//
// Known users: the lock_version column of Rails' Active Record and the @Version attribute of JPA.
type optimistic struct{ Env }

var _ Strategy = optimistic{}

func (s optimistic) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	err = s.retry(ctx, o, func() error { return s.sell(ctx, o, &r) })
	return r, err
}

func (s optimistic) sell(ctx context.Context, o Order, r *Receipt) error {
	return inTx(ctx, s.DB, nil, func(tx *sql.Tx) error {
		var stock, sold, version int64
		err := tx.QueryRowContext(ctx, `SELECT stock, sold, version FROM inventory WHERE sku = ?`, o.SKU).
			Scan(&stock, &sold, &version)
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
		result, err := tx.ExecContext(ctx, `
			UPDATE inventory
			   SET stock = ?, sold = ?, version = version + 1
			 WHERE sku = ? AND version = ?`,
			stock-int64(o.Quantity), r.Position, o.SKU, version)
		if err != nil {
			return fmt.Errorf("update inventory: %w", err)
		}
		switch rows, err := result.RowsAffected(); {
		case err != nil:
			return fmt.Errorf("update inventory: %w", err)
		case rows == 0:
			return fmt.Errorf("update inventory: version %d: %w", version, errConflict)
		}
		return s.writeOrder(ctx, tx, o, r)
	})
}
