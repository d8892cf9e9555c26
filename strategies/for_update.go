package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name: "for-update",
		Doc:  "SELECT … FOR UPDATE, then write back what is left",
		Safe: true,
		New:  func(e Env) (Strategy, error) { return forUpdate{e}, nil },
	})
}

// forUpdate locks the row when it reads it, so that nobody can change the stock between its read and its write.
//
// Mechanism: SELECT … FOR UPDATE waits for the row's lock and reads the newest state, not the snapshot; the write-back and the
// order's rows follow; COMMIT frees the row. A deadlock or a lock wait timeout is retried in a new transaction until the wait
// limit.
//
// Guarantee: read, write and order are one: the database lets one transaction at a time through.
//
// What breaks it: nothing known, as long as every writer of the row takes the lock. After a lock wait timeout the
// transaction is still open, and a program that commits it keeps the half that it had done.
//
// Cost: a round trip more than the conditional UPDATE, with the row locked. Whatever happens between the read and the COMMIT,
// a stall included, everybody waits for.
//
// Pick it when application code must work something out from the row before it writes, and the work is short.
//
// Known users: Magento's inventory, vendure and shopper, the last two since they found that a plain read is not enough
// (vendure pull request 4930, shopper 2.12.3).
type forUpdate struct{ Env }

var _ Strategy = forUpdate{}

func (s forUpdate) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	err = s.retry(ctx, o, func() error { return s.sell(ctx, o, &r) })
	return r, err
}

func (s forUpdate) sell(ctx context.Context, o Order, r *Receipt) error {
	return inTx(ctx, s.DB, nil, func(tx *sql.Tx) error {
		var stock, sold int64
		err := tx.QueryRowContext(ctx, `SELECT stock, sold FROM inventory WHERE sku = ? FOR UPDATE`, o.SKU).Scan(&stock, &sold)
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
		return s.writeOrder(ctx, tx, o, r)
	})
}
