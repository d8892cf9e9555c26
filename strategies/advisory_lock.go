package strategies

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name: "advisory-lock",
		Doc:  "GET_LOCK on the very connection that runs the transaction; then read and write-back",
		Safe: true,
		New:  func(e Env) (Strategy, error) { return advisoryLock{e}, nil },
	})
}

// advisoryLock takes a named lock of the database server around a read and a write-back. The lock belongs to the
// connection that the transaction runs on: if the connection is lost, so is the transaction.
//
// Mechanism: GET_LOCK on a connection, then BEGIN, SELECT, write-back, COMMIT on the same one, then RELEASE_LOCK. The lock has
// no expiry, so that a holder that stalls keeps it; the server frees it when the connection ends, after rolling back.
//
// Guarantee: one holder at a time, and none that has lost the lock without having lost its transaction.
//
// What breaks it: a lock on one connection and the work on another, as happens behind a proxy that shares connections between
// clients; several database servers that take writes, since the lock is known to one of them only; anyone who writes without
// taking it.
//
// Cost: two round trips, and a connection for every order that waits.
//
// Pick it when the thing to protect is no row: a job, a migration, an export. For a row, the row's own lock is simpler.
//
// Known users: iTop (Combodo/iTop pull request 209), Prisma's migrations.
type advisoryLock struct{ Env }

var _ Strategy = advisoryLock{}

func (s advisoryLock) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	conn, err := s.DB.Conn(ctx)
	if err != nil {
		return Receipt{}, notSold(ctx, fmt.Errorf("connect: %w", err))
	}
	// Back into the pool; that can only fail if the connection is broken, and then the lock is gone with it.
	defer conn.Close()
	if err := s.lock(ctx, conn, o.SKU); err != nil {
		return Receipt{}, notSold(ctx, err)
	}
	defer s.unlock(ctx, conn, o.SKU) // after the COMMIT

	err = inTx(ctx, conn, nil, func(tx *sql.Tx) error {
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

func (s advisoryLock) lock(ctx context.Context, conn *sql.Conn, sku string) error {
	var got sql.NullInt64
	err := conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, ?)`, lockName(s.Prefix, sku), s.Lease.Wait.Seconds()).Scan(&got)
	switch {
	case err != nil:
		return fmt.Errorf("get_lock: %w", err)
	case !got.Valid:
		return fmt.Errorf("%w: get_lock failed", ErrUnavailable)
	case got.Int64 == 0:
		s.tell(ctx, sku, LockWait)
		return fmt.Errorf("%w: the lock of %s was not free within %v", ErrContended, sku, s.Lease.Wait)
	}
	return nil
}

// unlock releases the lock under a context that outlives the request's. If it cannot, it breaks the connection, for in the
// pool the connection would hold the lock on.
func (s advisoryLock) unlock(ctx context.Context, conn *sql.Conn, sku string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_, err := conn.ExecContext(ctx, `DO RELEASE_LOCK(?)`, lockName(s.Prefix, sku))
	if err == nil || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return
	}
	s.Log.WarnContext(ctx, "the lock was not released; its connection is closed", "sku", sku, "error", err)
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // that closes it
}

// lockName is short enough for MySQL, which takes 64 characters, and the same in all replicas of one service alone.
func lockName(prefix, sku string) string {
	sum := sha256.Sum256([]byte(prefix + sku))
	return hex.EncodeToString(sum[:16])
}
