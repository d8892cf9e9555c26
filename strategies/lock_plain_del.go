package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name:   "lock-plain-del",
		Doc:    "lock-only, but the lease is released by a plain DEL",
		Redis:  true,
		Lease:  true,
		Breaks: []string{"stalled-holder", "slow-holder", "frozen-replica", "lost-memory"},
		New: func(e Env) (Strategy, error) {
			return lockPlainDel{e}, e.Lease.Validate()
		},
	})
}

// lockPlainDel takes a lease and releases it by deleting the key, whoever's it is by then. One late holder so opens the
// door to a whole chain of them.
//
// Mechanism: SET NX PX takes the lease; the order reads the stock, writes back what is left and commits; DEL gives the lease
// back. A holder whose lease had ended deletes its successor's, whose successor then meets the same fate.
//
// Guarantee: none. While every holder is faster than its lease, orders go one at a time.
//
// What breaks it: a holder that outlives its lease, as in lock-only, and then every order until the chain happens to end.
//
// Cost: that of lock-only.
//
// Pick it when never: a compare-and-delete costs the same round trip.
//
// Known users: Laravel's cache lock up to 5.7 (laravel/framework issue 26213), and most first drafts.
type lockPlainDel struct{ Env }

var _ Strategy = lockPlainDel{}

func (s lockPlainDel) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	lease, err := s.acquire(ctx, o.SKU)
	if err != nil {
		return Receipt{}, err
	}
	defer s.del(ctx, lease) // after the COMMIT

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

// del is the mistake: it does not ask whose lease it deletes.
func (s lockPlainDel) del(ctx context.Context, l lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := s.Redis.Del(ctx, l.key).Err(); err != nil {
		s.Log.WarnContext(ctx, "the lease was not released; it ends when it expires", "key", l.key, "error", err)
	}
}
