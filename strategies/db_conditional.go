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
// affected rows says whether it did. The row's lock, held to the COMMIT, puts all sales of a SKU in one line.
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
