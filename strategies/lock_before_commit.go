package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name:   "lock-before-commit",
		Doc:    "lock-only, but the lease is released before COMMIT",
		Redis:  true,
		Lease:  true,
		Breaks: []string{EveryScenario},
		New: func(e Env) (Strategy, error) {
			return lockBeforeCommit{e}, e.Lease.Validate()
		},
	})
}

// lockBeforeCommit does everything under its lease but the COMMIT. The next holder reads the stock while the sale before
// it is not yet visible.
//
// Mechanism: the transaction is begun around the locked function, and the function's defer releases the lease; COMMIT comes
// when the function has returned. A method that is both synchronized and transactional behaves the same way, since the
// transaction is wrapped around the method.
//
// Guarantee: none.
//
// What breaks it: nothing has to break. The time of a COMMIT, a disk flush above all, is open to the next holder.
//
// Cost: that of lock-only.
//
// Pick it when never: end the transaction before the lease.
//
// Known users: minsoozz/blog-searcher-java-springboot issue 16 describes it; it is a common answer to "why does my lock not
// work" in frameworks that begin transactions by annotation.
type lockBeforeCommit struct{ Env }

var _ Strategy = lockBeforeCommit{}

func (s lockBeforeCommit) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	err = inTx(ctx, s.DB, nil, func(tx *sql.Tx) error {
		lease, err := s.acquire(ctx, o.SKU)
		if err != nil {
			return err
		}
		defer s.release(ctx, lease) // the mistake: COMMIT comes after this function

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
	return r, err
}
