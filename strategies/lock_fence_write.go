package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name:   "lock-fence-write",
		Doc:    "a lease with a fencing token that is checked on the write of a read and write-back alone",
		Redis:  true,
		Lease:  true,
		Breaks: []string{"slow-holder", "frozen-replica"},
		New: func(e Env) (Strategy, error) {
			return lockFenceWrite{e}, e.Lease.Validate()
		},
	})
}

// lockFenceWrite is the fencing token as the textbooks draw it: storage refuses a write under an older token than it has
// seen. That protects a write; it does not protect what was read before.
//
// Mechanism: lease and token come from one script; a SELECT reads the stock; the write-back bears the token, and the database
// takes it if it is above the last one that was written.
//
// Guarantee: no write of a holder lands after that of a newer one.
//
// What breaks it: a late write that is not yet late. Holder 33 reads 10 and overruns its lease; holder 34 reads 10; 33 writes
// 9, accepted, for nothing newer has been written; 34 writes 9, accepted. Two sales, one unit less. A holder that is frozen
// between its write and its COMMIT does the same to whoever has read meanwhile.
//
// Cost: that of lock-fence.
//
// Pick it when the write does not depend on a read, as when a file is replaced whole. For stock, put the condition in the
// UPDATE (lock-fence), or register the token before the read (lock-fence-register).
//
// Known users: the form in which Martin Kleppmann's article "How to do distributed locking" (2016) is often copied.
type lockFenceWrite struct{ Env }

var _ Strategy = lockFenceWrite{}

func (s lockFenceWrite) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	lease, err := s.acquireFenced(ctx, o.SKU)
	if err != nil {
		return Receipt{}, err
	}
	defer s.release(ctx, lease) // after the COMMIT

	r.Fence = lease.token
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
		result, err := tx.ExecContext(ctx, `
			UPDATE inventory
			   SET stock = ?, sold = ?, fence = ?
			 WHERE sku = ? AND fence < ?`,
			stock-int64(o.Quantity), r.Position, lease.token, o.SKU, lease.token)
		if err != nil {
			return fmt.Errorf("update inventory: %w", err)
		}
		switch rows, err := result.RowsAffected(); {
		case err != nil:
			return fmt.Errorf("update inventory: %w", err)
		case rows == 0:
			return refusal(ctx, tx, o, lease.token)
		}
		return s.writeOrder(ctx, tx, o, &r)
	})
	s.raiseFence(ctx, o.SKU, err)
	return r, err
}
