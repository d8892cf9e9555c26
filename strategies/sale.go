package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
)

// The errors of MySQL and MariaDB that strategies tell apart.
const (
	errDuplicateEntry  = 1062
	errLockWaitTimeout = 1205
	errDeadlock        = 1213
	errRecordChanged   = 1020 // MariaDB, under innodb_snapshot_isolation
	errLockNowait      = 3572 // MySQL; MariaDB says 1205
)

// inTx runs work in one transaction and commits it. The error is nil if the commit was acknowledged, matches one of
// this package's errors if nothing was sold, and matches none of them if COMMIT itself failed.
//
// The transaction is abandoned at the first error, whatever it was: after a deadlock the server has rolled back and
// would run the next statement in autocommit, and after a lock wait timeout a COMMIT would keep the first half.
func inTx(ctx context.Context, db *sql.DB, options *sql.TxOptions, work func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return notSold(fmt.Errorf("begin: %w", err))
	}
	if err := work(tx); err != nil {
		// A rollback can only fail if the connection is lost, and then the server rolls back by itself.
		if lost := tx.Rollback(); lost != nil && !errors.Is(lost, sql.ErrTxDone) {
			err = errors.Join(err, fmt.Errorf("rollback: %w", lost))
		}
		return notSold(err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("the outcome is unknown: commit: %w", err)
	}
	return nil
}

// notSold puts err, met before COMMIT was sent, into this package's terms.
func notSold(err error) error {
	for _, known := range []error{ErrSoldOut, ErrUnknownSKU, ErrDuplicate, ErrContended, ErrFenced, ErrUnavailable} {
		if errors.Is(err, known) {
			return err
		}
	}
	switch mysqlError(err) {
	case errDeadlock, errLockWaitTimeout, errRecordChanged, errLockNowait:
		return fmt.Errorf("%w: %w", ErrContended, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// mysqlError returns the server's error number, or 0 if err did not come from the server.
func mysqlError(err error) uint16 {
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		return server.Number
	}
	return 0
}

// writeOrder writes the order's row and its outbox rows: the part of a sale that is the same in every strategy.
// It completes r. An order with the same key that is committed already makes it fail with [ErrDuplicate].
func (e Env) writeOrder(ctx context.Context, tx *sql.Tx, o Order, r *Receipt) error {
	r.Created = time.Now().UTC().Truncate(time.Microsecond)
	result, err := tx.ExecContext(ctx, `
		INSERT INTO orders (sku, quantity, position, customer, idempotency_key, fence, replica, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		o.SKU, o.Quantity, r.Position, o.Customer, o.Key, r.Fence, e.Replica, r.Created)
	if mysqlError(err) == errDuplicateEntry {
		return fmt.Errorf("%w: %w", ErrDuplicate, err)
	}
	if err != nil {
		return fmt.Errorf("insert order: %w", err)
	}
	if r.ID, err = result.LastInsertId(); err != nil {
		return fmt.Errorf("insert order: %w", err)
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO outbox (order_id, kind) VALUES (?, 'payment'), (?, 'mail')`, r.ID, r.ID)
	if err != nil {
		return fmt.Errorf("insert outbox: %w", err)
	}
	return nil
}

// refusal says why a conditional UPDATE touched no row. It must run in the transaction of that UPDATE, whose lock on
// the row keeps the answer true. Token 0 means that no fence was part of the condition.
func refusal(ctx context.Context, tx *sql.Tx, o Order, token int64) error {
	var stock, fence int64
	err := tx.QueryRowContext(ctx, `SELECT stock, fence FROM inventory WHERE sku = ?`, o.SKU).Scan(&stock, &fence)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%w: %s", ErrUnknownSKU, o.SKU)
	case err != nil:
		return fmt.Errorf("select after a refused update: %w", err)
	case stock < int64(o.Quantity):
		return fmt.Errorf("%w: %d left of %s", ErrSoldOut, stock, o.SKU)
	case token > 0 && fence >= token:
		return &fencedError{token: token, fence: fence}
	}
	return fmt.Errorf("%w: the update of %s touched no row, yet %d units are left", ErrUnavailable, o.SKU, stock)
}

// fencedError is an [ErrFenced] that knows the tokens.
type fencedError struct{ token, fence int64 }

func (e *fencedError) Error() string {
	return fmt.Sprintf("%v: token %d, the database has seen %d", ErrFenced, e.token, e.fence)
}

func (e *fencedError) Unwrap() error { return ErrFenced }
