package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name:  "lock-fence-register",
		Doc:   "a lease with a fencing token that is registered in the database before the read; then read and write-back",
		Safe:  true,
		Redis: true,
		Lease: true,
		New: func(e Env) (Strategy, error) {
			return lockFenceRegister{e}, e.Lease.Validate()
		},
	})
}

// lockFenceRegister makes its token known to the database before it reads. From then on an older holder is refused, and the
// registration's row lock keeps newer ones waiting until COMMIT, so that read and write-back belong together.
//
// Mechanism: lease and token from one script; UPDATE … SET fence = token WHERE fence < token, which must touch the row; then
// SELECT, write-back and COMMIT in the same transaction.
//
// Guarantee: whoever sells has registered, and nobody older sells after it. It holds whatever Redis does: the database
// compares the tokens, and never takes one twice.
//
// What breaks it: nothing that is known. Stock that is changed by anyone who does not register is not protected.
//
// Cost: that of lock-fence and a round trip more. The row is locked for longer than by a conditional UPDATE, so that the
// lease in front only moves the queue from the database to Redis.
//
// Pick it when what is done between read and write does not fit into one conditional statement, such as a price or a rule
// that application code must work out.
//
// Known users: etcd's documentation asks the same of its lock: compare the owner's key in the very transaction that writes;
// the lock tests of jepsen-io/etcd show the difference. In shops: none known.
type lockFenceRegister struct{ Env }

var _ Strategy = lockFenceRegister{}

func (s lockFenceRegister) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	lease, err := s.acquireFenced(ctx, o.SKU)
	if err != nil {
		return Receipt{}, err
	}
	defer s.release(ctx, lease) // after the COMMIT

	r.Fence = lease.token
	err = inTx(ctx, s.DB, nil, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `UPDATE inventory SET fence = ? WHERE sku = ? AND fence < ?`,
			lease.token, o.SKU, lease.token)
		if err != nil {
			return fmt.Errorf("register the token: update inventory: %w", err)
		}
		switch rows, err := result.RowsAffected(); {
		case err != nil:
			return fmt.Errorf("register the token: update inventory: %w", err)
		case rows == 0:
			return refusal(ctx, tx, o, lease.token)
		}
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
	s.raiseFence(ctx, o.SKU, err)
	return r, err
}
