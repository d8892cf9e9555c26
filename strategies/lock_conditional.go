package strategies

import (
	"context"
	"database/sql"
	"fmt"
)

func init() {
	Register(Info{
		Name:  "lock-conditional",
		Doc:   "a Redis lease to calm contention, a conditional UPDATE to be right, no fence",
		Safe:  true,
		Redis: true,
		Lease: true,
		New: func(e Env) (Strategy, error) {
			return lockConditional{e}, e.Lease.Validate()
		},
	})
}

// lockConditional is db-conditional behind a lease: the lease may fail in any way it likes, the condition decides.
//
// Mechanism: SET NX PX; the UPDATE takes the units only while enough are left, and its affected rows say whether it did; COMMIT;
// compare-and-delete.
//
// Guarantee: that of the conditional UPDATE: never more units than there are. Two holders at once sell one after the other,
// by the row's lock.
//
// What breaks it: nothing known oversells it. Without Redis it sells nothing, which the same UPDATE alone would.
//
// Cost: two round trips to Redis and a queue that polls, in front of a database that would have queued by itself.
//
// Pick it when something slow and expensive that is not stock, such as a call to a supplier, has to be kept from happening many
// times at once, and happening twice is a waste but no harm.
//
// Known users: none known by name; it is what remains of a lock-only checkout once its UPDATE got a condition.
type lockConditional struct{ Env }

var _ Strategy = lockConditional{}

func (s lockConditional) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	lease, err := s.acquire(ctx, o.SKU)
	if err != nil {
		return Receipt{}, err
	}
	defer s.release(ctx, lease) // after the COMMIT

	err = inTx(ctx, s.DB, nil, func(tx *sql.Tx) error {
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
