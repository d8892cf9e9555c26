package strategies

import (
	"context"
	"database/sql"
	"fmt"
	"io"
)

func init() {
	Register(Info{
		Name:  "fair-lock-fence",
		Doc:   "as lock-fence, but the lease is handed to the longest waiter, who is woken instead of polling",
		Safe:  true,
		Redis: true,
		Lease: true,
		New: func(e Env) (Strategy, error) {
			return fairLockFence{newFairLine(e)}, e.Lease.Validate()
		},
	})
}

// fairLockFence guards the stock as lock-fence does, and serves the orders that wait for the lease in the order of their
// arrival: whoever gives the lease back hands it to the longest waiter and wakes it.
//
// Mechanism: one Lua script grants the lease and draws the fencing token, or puts the order in the SKU's line. The script
// that releases grants the lease to the head of the line, draws its token and publishes it to the waiter's process, so that
// no command is needed to take it up. The UPDATE is that of lock-fence: … AND stock >= n AND fence < token.
//
// Guarantee: never oversells, whatever becomes of the lease, and a late holder is refused. As long as Redis keeps its
// memory and its messages arrive, the lease is granted in the order of arrival.
//
// What breaks it: nothing makes it oversell. A holder that dies, a waiter that was granted the lease and does not take it
// up, and a message that is lost cost one lease each; a process that hangs costs another one for each of its waiters only
// until their wait limits are over. When Redis loses its memory the order of arrival goes with it, and one order is
// fenced off, which raises the counter again. On a Redis cluster PUBLISH counts the receivers at one node only, so that
// the living would be passed over for dead; and a PHP service on the same lock (see LeaseSettings) neither stands in line
// nor hands the lease on: waiters find out that it released when the time of one lease is over.
//
// Cost: two commands and at most one message for each order, however many wait, and a connection for each process. Everybody
// waits for everybody who came earlier: the median wait is as long as the line, and the longest hardly longer.
//
// Pick it when the order of arrival is part of what is sold, or when no customer may be left to chance: under lock-fence
// the lucky wait for nobody, and the others many times the median.
//
// Known users: Redisson's RFairLock queues its waiters in Redis and wakes them by messages (Redisson's wiki, "Distributed
// locks and synchronizers"). It waits 5 s for each waiter that died; redisson issues 2883, 3730 and 6150 tell of lines that
// stood still. Of a shop none known.
type fairLockFence struct{ fairLine }

var (
	_ Strategy  = fairLockFence{}
	_ io.Closer = fairLockFence{}
)

func (s fairLockFence) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	lease, err := s.acquire(ctx, o.SKU)
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
