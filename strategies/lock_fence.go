package strategies

import (
	"context"
	"database/sql"
	"fmt"
)

func init() {
	Register(Info{
		Name:  "lock-fence",
		Doc:   "a Redis lease with a fencing token, and a conditional UPDATE that refuses late holders",
		Safe:  true,
		Redis: true,
		New: func(e Env) (Strategy, error) {
			return lockFence{e}, e.Lease.Validate()
		},
	})
}

// lockFence is the reference: the lease lowers contention, the condition on the stock guarantees, and the fence lets
// the database refuse a holder whose lease has gone to another meanwhile. A refused order is told so and sells nothing.
type lockFence struct{ Env }

var _ Strategy = lockFence{}

func (s lockFence) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	lease, err := s.acquireFenced(ctx, o.SKU)
	if err != nil {
		return Receipt{}, err
	}
	defer s.release(ctx, lease) // after the COMMIT

	r.Fence = lease.token
	err = inTx(ctx, s.DB, nil, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `
			UPDATE inventory
			   SET stock = stock - ?, sold = LAST_INSERT_ID(sold + ?), fence = ?
			 WHERE sku = ? AND stock >= ? AND fence < ?`,
			o.Quantity, o.Quantity, lease.token, o.SKU, o.Quantity, lease.token)
		if err != nil {
			return fmt.Errorf("update inventory: %w", err)
		}
		switch rows, err := result.RowsAffected(); {
		case err != nil:
			return fmt.Errorf("update inventory: %w", err)
		case rows == 0:
			return refusal(ctx, tx, o, lease.token)
		}
		if r.Position, err = result.LastInsertId(); err != nil {
			return fmt.Errorf("update inventory: %w", err)
		}
		return s.writeOrder(ctx, tx, o, &r)
	})
	s.raiseFence(ctx, o.SKU, err)
	return r, err
}
