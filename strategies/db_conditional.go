package strategies

import (
	"context"
	"database/sql"
	"fmt"
)

func init() {
	Register(Info{
		Name: "db-conditional",
		Doc:  "one conditional UPDATE; its affected-row count decides",
		Safe: true,
		New:  func(e Env) (Strategy, error) { return dbConditional{e}, nil },
	})
}

// dbConditional lets the database decide: the UPDATE takes the units only while enough are left, and the number of
// affected rows says whether it did.
//
// Mechanism: one statement, SET stock = stock - n WHERE sku = ? AND stock >= n, before the order's rows in one transaction.
// An UPDATE judges its condition on the newest row, not on the transaction's snapshot, and holds the row's lock until
// COMMIT, which puts all sales of a SKU in one line. LAST_INSERT_ID(sold + n) hands the position back with it.
//
// Guarantee: no more units are committed than there were, whatever happens to Redis, to a process or to a clock, because
// nothing is decided anywhere else.
//
// What breaks it: only a writer that does not keep to it, such as an UPDATE without the condition, or SET stock =
// GREATEST(stock - n, 0), which under clientFoundRows=true reports a row even when nothing was left. After an error of
// COMMIT the outcome is unknown, as everywhere: only the order's key makes a retry safe.
//
// Cost: one round trip for the stock, the least there is. All sales of a SKU wait for the lock of one row, so that they come
// no faster than commits one after another; more contenders only make the line longer.
//
// Pick it when all replicas share one database and one row can be committed as often as the SKU sells. Begin with this one,
// and leave it only when a measurement says so.
//
// Known users: CubeCart, whose fix takes the stock in a single guarded step (cubecart/v6, issue #4224). Alibaba Cloud's
// AliSQL has hints for this statement in flash sales: one makes it fail unless so many rows were affected (documentation of
// ApsaraDB RDS for MySQL, "Inventory Hint").
type dbConditional struct{ Env }

var _ Strategy = dbConditional{}

func (s dbConditional) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	err = inTx(ctx, s.DB, nil, func(tx *sql.Tx) error {
		// LAST_INSERT_ID hands the position back without another round trip.
		result, err := tx.ExecContext(ctx, `
			UPDATE inventory
			   SET stock = stock - ?, sold = LAST_INSERT_ID(sold + ?)
			 WHERE sku = ? AND stock >= ?`,
			o.Quantity, o.Quantity, o.SKU, o.Quantity)
		if err != nil {
			return fmt.Errorf("update inventory: %w", err)
		}
		switch rows, err := result.RowsAffected(); {
		case err != nil:
			return fmt.Errorf("update inventory: %w", err)
		case rows == 0:
			return refusal(ctx, tx, o, 0)
		}
		if r.Position, err = result.LastInsertId(); err != nil {
			return fmt.Errorf("update inventory: %w", err)
		}
		return s.writeOrder(ctx, tx, o, &r)
	})
	return r, err
}
