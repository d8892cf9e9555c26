package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
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

// beginner is what a transaction can be begun on: a pool, or one connection of it.
type beginner interface {
	BeginTx(ctx context.Context, options *sql.TxOptions) (*sql.Tx, error)
}

// inTx runs work in one transaction and commits it. The error is nil if the commit was acknowledged, matches one of
// this package's errors if nothing was sold, and matches none of them if COMMIT itself failed.
//
// The transaction is abandoned at the first error, whatever it was: after a deadlock the server has rolled back and
// would run the next statement in autocommit, and after a lock wait timeout a COMMIT would keep the first half.
func inTx(ctx context.Context, db beginner, options *sql.TxOptions, work func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return notSold(ctx, fmt.Errorf("begin: %w", err))
	}
	if err := work(tx); err != nil {
		return notSold(ctx, errors.Join(err, rollback(tx)))
	}
	if cause := context.Cause(ctx); cause != nil { // the work had no statement left that would have noticed
		return notSold(ctx, errors.Join(cause, rollback(tx)))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("the outcome is unknown: commit: %w", err)
	}
	return nil
}

// rollback ends a transaction. It can only fail if the connection is lost, and then the server rolls back by itself.
func rollback(tx *sql.Tx) error {
	if lost := tx.Rollback(); lost != nil && !errors.Is(lost, sql.ErrTxDone) {
		return fmt.Errorf("rollback: %w", lost)
	}
	return nil
}

// notSold puts err, met before COMMIT was sent, into this package's terms. If ctx has ended, the cause of that is told:
// a lease that was lost makes the order contended.
func notSold(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = errors.Join(err, cause)
	}
	if surelyNotSold(err) {
		return err
	}
	switch mysqlError(err) {
	case errDeadlock, errLockWaitTimeout, errRecordChanged, errLockNowait:
		return fmt.Errorf("%w: %w", ErrContended, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// surelyNotSold reports whether err says so. An unknown outcome is neither that nor a sale.
func surelyNotSold(err error) bool {
	for _, known := range []error{ErrSoldOut, ErrUnknownSKU, ErrDuplicate, ErrContended, ErrFenced, ErrUnavailable} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
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

// writeOrders writes the rows of several orders, as [Env.writeOrder] does for one, in as few statements as for two. It
// completes their receipts. If one of them has a key that is committed already, or two share a key, it fails with
// [ErrDuplicate] for all: the transaction must be abandoned and each order be sold alone.
func (e Env) writeOrders(ctx context.Context, tx *sql.Tx, orders []Order, receipts []Receipt) error {
	if len(orders) == 1 {
		return e.writeOrder(ctx, tx, orders[0], &receipts[0])
	}
	created := time.Now().UTC().Truncate(time.Microsecond)
	var rows, keys []any
	for i, o := range orders {
		receipts[i].Created = created
		rows = append(rows, o.SKU, o.Quantity, receipts[i].Position, o.Customer, o.Key, receipts[i].Fence, e.Replica, created)
		keys = append(keys, o.Key)
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO orders (sku, quantity, position, customer, idempotency_key, fence, replica, created_at)
		VALUES `+repeat("(?, ?, ?, ?, ?, ?, ?, ?)", len(orders)), rows...)
	if mysqlError(err) == errDuplicateEntry {
		return fmt.Errorf("%w: %w", ErrDuplicate, err)
	}
	if err != nil {
		return fmt.Errorf("insert orders: %w", err)
	}
	ids, err := orderIDs(ctx, tx, keys)
	if err != nil {
		return fmt.Errorf("select orders: %w", err)
	}
	var outbox []any
	for i, o := range orders {
		receipts[i].ID = ids[o.Key]
		outbox = append(outbox, ids[o.Key], ids[o.Key])
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO outbox (order_id, kind) VALUES `+repeat("(?, 'payment'), (?, 'mail')", len(orders)), outbox...)
	if err != nil {
		return fmt.Errorf("insert outbox: %w", err)
	}
	return nil
}

// querier is a transaction, or the pool.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// orderIDs returns the ids of the orders with these keys. They are asked for, since nothing promises that a server gives
// the rows of one INSERT consecutive ids: a cluster's do not.
func orderIDs(ctx context.Context, db querier, keys []any) (map[string]int64, error) {
	rows, err := db.QueryContext(ctx, `SELECT id, idempotency_key FROM orders WHERE idempotency_key IN (`+repeat("?", len(keys))+`)`, keys...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ids := make(map[string]int64, len(keys))
	for rows.Next() {
		var id int64
		var key string
		if err := rows.Scan(&id, &key); err != nil {
			return nil, err
		}
		ids[key] = id
	}
	return ids, rows.Err()
}

// repeat returns n copies of part, separated by commas.
func repeat(part string, n int) string { return strings.Repeat(part+", ", n-1) + part }

// refusal says why a conditional UPDATE touched no row. It must run in the transaction of that UPDATE, whose lock on
// the row keeps the answer true. It reads FOR UPDATE, which finds the newest state: a transaction that has read before would
// see its snapshot again, in which the reason may not be. Token 0 means that no fence was part of the condition.
func refusal(ctx context.Context, tx *sql.Tx, o Order, token int64) error {
	var stock, fence int64
	err := tx.QueryRowContext(ctx, `SELECT stock, fence FROM inventory WHERE sku = ? FOR UPDATE`, o.SKU).Scan(&stock, &fence)
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
