package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name:   "none-decrement",
		Doc:    "read the stock, then subtract without a condition",
		Breaks: []string{"calm", "stalled-holder", "slow-holder", "frozen-replica", "lost-memory"},
		New:    func(e Env) (Strategy, error) { return noneDecrement{e}, nil },
	})
}

// noneDecrement looks whether enough is left, and then subtracts in the database. It loses no update, so it is right all
// day long and wrong at the one moment that matters.
//
// Mechanism: a plain SELECT reads the stock; if it suffices, UPDATE … SET stock = stock - n takes the units, whatever the
// stock is by then. Every order that read the last units before the first of them subtracted is sold.
//
// Guarantee: none. The stock column is exact, and falls below zero by as much as was oversold.
//
// What breaks it: two orders at the edge of the stock. The damage is bounded by the orders that are between their read and
// their write when the stock runs out, which makes it hard to find in a test with little traffic.
//
// Cost: one statement more than the conditional UPDATE, which is right.
//
// Pick it when never: move the comparison into the UPDATE and look at the affected rows.
//
// Known users: many; the pattern stands behind oversell reports such as magento/magento2 issue 12287 and cubecart/v6
// issue 4224.
type noneDecrement struct{ Env }

var _ Strategy = noneDecrement{}

func (s noneDecrement) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	err = inTx(ctx, s.DB, nil, func(tx *sql.Tx) error {
		var stock int64
		err := tx.QueryRowContext(ctx, `SELECT stock FROM inventory WHERE sku = ?`, o.SKU).Scan(&stock)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: %s", ErrUnknownSKU, o.SKU)
		}
		if err != nil {
			return fmt.Errorf("select inventory: %w", err)
		}
		if stock < int64(o.Quantity) {
			return fmt.Errorf("%w: %d left of %s", ErrSoldOut, stock, o.SKU)
		}
		result, err := tx.ExecContext(ctx, `
			UPDATE inventory
			   SET stock = stock - ?, sold = LAST_INSERT_ID(sold + ?)
			 WHERE sku = ?`,
			o.Quantity, o.Quantity, o.SKU)
		if err != nil {
			return fmt.Errorf("update inventory: %w", err)
		}
		if r.Position, err = result.LastInsertId(); err != nil {
			return fmt.Errorf("update inventory: %w", err)
		}
		return s.writeOrder(ctx, tx, o, &r)
	})
	return r, err
}
