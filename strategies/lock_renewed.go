package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name:   "lock-renewed",
		Doc:    "lock-only with a watchdog that renews the lease while the work goes on",
		Redis:  true,
		Lease:  true,
		Breaks: []string{"frozen-replica", "lost-memory"},
		New: func(e Env) (Strategy, error) {
			return lockRenewed{e}, e.Lease.Validate()
		},
	})
}

// lockRenewed keeps its lease alive for as long as it works: a goroutine renews it at each third of its life. That mends a
// slow holder. It does not mend a holder that stands still, for its watchdog stands still with it.
//
// Mechanism: SET NX PX, then a compare-and-expire script every TTL/3; read and write-back under a context that is cancelled
// as soon as a renewal is refused or Redis has confirmed none for a whole TTL; COMMIT; compare-and-delete.
//
// Guarantee: none. A single stalled statement or a slow dependency no longer costs the lease, a stopped process does.
//
// What breaks it: a process that is frozen for longer than the lease (a garbage collection, a migrated virtual machine, a
// suspended container), a Redis that lost its memory, a renewal that came too late to call the UPDATE back.
//
// Cost: that of lock-only and a command per third of a lease for each holder; for short work none is ever sent. A holder that
// hangs holds the lease for as long as it hangs.
//
// Pick it when work of unknown length must not run twice for the sake of effort, never when it must not for the sake of
// correctness.
//
// Known users: Redisson renews by default, every 10 s for a lease of 30 s; redisson issues 5698 and 3636 tell of two holders.
type lockRenewed struct{ Env }

var _ Strategy = lockRenewed{}

func (s lockRenewed) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	lease, err := s.acquire(ctx, o.SKU)
	if err != nil {
		return Receipt{}, err
	}
	defer s.release(ctx, lease) // after the COMMIT

	ctx, stop := s.keep(ctx, lease)
	defer stop()
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
