package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name:   "none",
		Doc:    "read the stock, then write back what is left: no guard at all",
		Breaks: []string{EveryScenario},
		New:    func(e Env) (Strategy, error) { return none{e}, nil },
	})
}

// none reads the stock and writes back what is left, with nothing to keep two orders apart. Its stock column never falls
// below zero, so that it looks right to the end.
//
// Mechanism: a SELECT of the stock, a comparison in the program, and an UPDATE to what was read minus what was sold, in one
// transaction. A plain SELECT locks nothing: two orders that read the same stock both sell it, and the second write-back
// undoes the first.
//
// Guarantee: none, as soon as two orders overlap.
//
// What breaks it: two buyers at once; no fault is needed. The damage hides, for the column ends at exactly 0 however much was
// sold: it shows only when the orders are counted.
//
// Cost: two statements where db-conditional needs one, so that it is not even cheap.
//
// Pick it when you want to know whether your test can find an oversell at all. Never sell by it.
//
// Known users: nopCommerce changes the quantity of an object in memory and saves the result (nopSolutions/nopCommerce, issue
// #8085, "Inventory Race Condition"). CubeCart did until it was reported (cubecart/v6, issue #4224, "Concurrent checkouts
// can oversell the last item in stock").
type none struct{ Env }

var _ Strategy = none{}

func (s none) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
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
