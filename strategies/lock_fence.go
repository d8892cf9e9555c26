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
		Lease: true,
		New: func(e Env) (Strategy, error) {
			return lockFence{e}, e.Lease.Validate()
		},
	})
}

// lockFence is the reference: the lease lowers contention, the condition on the stock guarantees, and the fence lets
// the database refuse a holder whose lease has gone to another meanwhile.
//
// Mechanism: one script grants the lease by SET NX PX and draws a token by INCR, so that tokens follow the order of grants.
// The UPDATE has both conditions, stock >= n and fence < token, and leaves its token in the row. When it touches no row, a
// read under the row's lock tells sold out from fenced.
//
// Guarantee: no more units are committed than there were, by the condition on the stock. Accepted tokens only grow: a holder
// that comes after a newer one is told [ErrFenced] and has sold nothing.
//
// What breaks it: nothing oversells it. When Redis loses its memory, two may hold the lease, which costs time alone, and the
// counter starts again below the token in the database: orders are refused until one of those refused has raised it to the
// database's maximum. Without Redis nothing is sold.
//
// Cost: two round trips to Redis more than db-conditional, and waiting by polling, which shows in the slowest sales. To the
// stock the lease and the fence add no safety.
//
// Pick it when more happens under the lease than this UPDATE, such as a call to a supplier that should not be made twice at
// once, or when late holders must be told and counted. If only the stock matters, db-conditional is simpler and faster.
//
// Known users: none known to sell by it. Martin Kleppmann described the token ("How to do distributed locking", 2016), the
// Redis documentation advises one ("Distributed Locks with Redis"), and Redisson grants one with its Fenced Lock and
// leaves the check to the user (redisson/redisson, issue #5044).
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
