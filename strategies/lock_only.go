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
		Lease:  true,
		Breaks: []string{"stalled-holder", "slow-holder", "frozen-replica", "lost-memory"},
		New: func(e Env) (Strategy, error) {
			return lockOnly{e}, e.Lease.Validate()
		},
	})
}

// lockOnly trusts a lease in Redis to keep others away while it reads the stock and writes back what is left. It does keep
// them away, as long as every holder is faster than its lease.
//
// Mechanism: SET NX PX takes the lease of the SKU for a random owner, or the order pauses and tries again. Under the lease a
// transaction reads the stock, writes back the difference and commits. Then a script gives the lease back if the owner is
// still the same.
//
// Guarantee: none. While no holder outlives its lease and Redis forgets nothing, holders do not overlap; nothing checks
// whether it was so.
//
// What breaks it: a holder that stalls past the lease's end, as in a garbage collection or a slow statement, goes on with a
// stock that it read before others sold, and writes their sales away. Redis that loses the key, by a restart, a failover to
// a replica that had not got it or eviction under memory pressure, lets two in at once, and so does a clock that jumps. One
// writer that does not ask for the lease is enough, too.
//
// Cost: two round trips to Redis a sale, and waiting by polling: the slowest sales take many times as long as under
// db-conditional at the same load. The lease of a replica that died keeps everybody out until it expires.
//
// Pick it when the lock merely saves work that may as well be done twice, such as filling a cache. For a stock, take the
// condition into the UPDATE.
//
// Known users: two ledgers in Go take such a lease around money, and what else guards their writes we have not examined:
// Blnk (blnkfinance/blnk, issue #354, in which a release under a cancelled request left balances locked for minutes) and
// Midaz (LerianStudio/midaz, pull request #1520 and issue #1609, in which a stale read after the release committed twice).
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
