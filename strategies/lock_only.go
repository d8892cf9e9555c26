package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name:   "lock-only",
		Doc:    "a Redis lease (SET NX PX, compare-and-delete) around a read and a write-back",
		Redis:  true,
		Breaks: []string{"stalled-holder", "slow-holder", "frozen-replica", "lost-memory"},
		New: func(e Env) (Strategy, error) {
			return lockOnly{e}, e.Lease.Validate()
		},
	})
}

// lockOnly trusts a lease to keep others away while it reads the stock and writes back the difference. As long as every
// holder is faster than its lease, it does. A holder that stalls past the lease's end goes on with a stock that it read
// before others sold, and writes their sales away.
type lockOnly struct{ Env }

var _ Strategy = lockOnly{}

func (s lockOnly) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	lease, err := s.acquire(ctx, o.SKU)
	if err != nil {
		return Receipt{}, err
	}
	defer s.release(ctx, lease) // after the COMMIT

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
