package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name: "serializable",
		Doc:  "read and write back under SERIALIZABLE isolation, retried after deadlocks",
		Safe: true,
		New:  func(e Env) (Strategy, error) { return serializable{e}, nil },
	})
}

// serializable leaves the order of things to the database: the code is that of none, the isolation level is not.
//
// Mechanism: under SERIALIZABLE InnoDB turns the plain SELECT into a shared lock. Two orders that have both read cannot both
// write: each waits for the other's shared lock, and the database ends one of them (error 1213). It is retried in a new
// transaction, after a random pause, until the wait limit.
//
// Guarantee: whatever commits could have run one after the other.
//
// What breaks it: nothing known, as long as every transaction that touches the row runs at this level, and none goes on after
// a deadlock: its transaction is gone, and the next statement would commit by itself.
//
// Cost: under contention most transactions are deadlock victims. A stalled holder of a shared lock holds all writers up.
//
// Pick it when the rule spans several rows, contention is low, and nobody wants to think about which locks it needs.
//
// Known users: none known for hot stock. MariaDB's snapshot isolation, the default of its newer releases, is a milder form
// that ends the second writer with error 1020.
type serializable struct{ Env }

var _ Strategy = serializable{}

func (s serializable) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	err = s.retry(ctx, o, func() error { return s.sell(ctx, o, &r) })
	return r, err
}

func (s serializable) sell(ctx context.Context, o Order, r *Receipt) error {
	return inTx(ctx, s.DB, &sql.TxOptions{Isolation: sql.LevelSerializable}, func(tx *sql.Tx) error {
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
		return s.writeOrder(ctx, tx, o, r)
	})
}
