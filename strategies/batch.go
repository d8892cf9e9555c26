package strategies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

func init() {
	Register(Info{
		Name: "batch",
		Doc:  "orders that wait in one replica are sold by one conditional UPDATE in one transaction",
		Safe: true,
		New: func(e Env) (Strategy, error) {
			return &batch{Env: e, lines: newLines(), timeout: batchTimeout, patience: batchPatience}, e.Lease.Validate()
		},
	})
}

const (
	// maxBatch is the number of orders in a batch at most. From about 32 on, the time of a batch is that of its rows, so
	// that more would win little; 128 orders take a few milliseconds, during which the row is locked for other replicas,
	// and at most 100 KB in one statement, which every server accepts.
	maxBatch = 128
	// batchTimeout bounds the statements of a batch, COMMIT excepted: the driver waits for that without a limit.
	batchTimeout = 3 * time.Second
	// batchPatience is how long an order waits for its batch to end. It exceeds batchTimeout, after which most batches
	// can still say that they sold nothing.
	batchPatience = batchTimeout + time.Second
)

// batch merges the orders for one SKU that wait in one replica: while one transaction is under way others arrive, and
// the next transaction sells to all of them. It is group commit for sales.
//
// Mechanism: The first order for a SKU begins a transaction at once, without waiting for company. The orders that have
// arrived when BEGIN is answered, at most 128, are its batch: one conditional UPDATE takes the units of all, then come
// their rows and one COMMIT, and positions follow the order of arrival. If too few units are left for all, the stock is
// read under the row's lock and sold in order of arrival to those for whom it suffices. If a key has an order already, the
// others are sold to without it.
//
// Guarantee: No oversell, by the condition in the UPDATE: who leads a batch, and whether there are two at once, does not
// matter to the stock. An order that is told sold out did not fit when its turn came. Once an order's batch has begun,
// the answer is that of the batch, even if its client has left meanwhile.
//
// What breaks it: Nothing that is known, as to the stock. A batch shares its fate: when the connection is lost before
// COMMIT nobody in it is sold to, and when COMMIT is not answered all of them have an unknown outcome. A batch that gets
// stuck holds up those behind it in its replica for as long as a lease lasts; then the next batch begins beside it.
//
// Cost: A single order pays what it pays with db-conditional. In a crowd an order waits for the batch before its own, and
// the throughput grows with the crowd, until the time goes into writing rows. Each replica merges its own orders only, and
// replicas take turns on the row's lock.
//
// Pick it when one SKU must sell faster than the database commits transactions on one row, and each replica sees several
// orders for it at a time.
//
// Known users: None known by name for merging in the service. Databases do the like inside the server: the manuals of
// Alibaba's PolarDB for MySQL (hot row optimization) and of Tencent's TXSQL (merge optimization of hot updates) describe
// how updates of one row that wait are grouped.
type batch struct {
	Env
	lines    *lines
	timeout  time.Duration
	patience time.Duration
}

var _ Strategy = (*batch)(nil)

func (s *batch) Checkout(ctx context.Context, o Order) (Receipt, error) {
	p := s.lines.join(ctx, o)
	select {
	case <-p.turn:
		s.lead(p)
	case <-p.done:
	case <-ctx.Done():
		if s.lines.leave(p) {
			return Receipt{}, errLeft(ctx)
		}
	}
	<-p.done
	return p.receipt, p.err
}

// errStuck is the outcome of orders whose batch does not end, or ended in a panic.
var errStuck = errors.New("the outcome is unknown: the batch did not end")

// lead sells to the first order of a line and to those behind it, and answers them all.
func (s *batch) lead(first *place) {
	// The lead is passed on when the batch is over, or when it has lasted for too long.
	pass := func() { s.lines.pass(first) }
	defer pass()
	defer time.AfterFunc(s.Lease.TTL, pass).Stop()

	var all group
	var late *time.Timer
	unknown := func() { all.without(first).answer(nil, errStuck) } // whoever has an answer keeps it
	defer unknown()                                                // after a panic
	// The batch is cut when its transaction has begun. Until then orders may come and leave, the first one, too.
	cut := sync.OnceValue(func() group {
		all = s.lines.cut(first, maxBatch)
		late = time.AfterFunc(s.patience, unknown)
		return all
	})

	// From then on it is not the first order's alone, and goes on without it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(first.ctx), s.timeout)
	defer cancel()
	outs, err := s.sell(ctx, cut)
	cut() // if BEGIN failed, too: those who wait would fare no better
	defer late.Stop()
	if len(all) > 1 && ofOneRow(err) {
		s.sellAgain(ctx, all)
		return
	}
	all.answer(outs, err)
}

// sell sells to a group of orders in one transaction. Who belongs to the group is asked when that has begun.
func (s *batch) sell(ctx context.Context, who func() group) (outs []outcome, err error) {
	sold := 0
	err = inTx(ctx, s.DB, nil, func(tx *sql.Tx) (err error) {
		orders := who().orders()
		if len(orders) == 0 {
			return fmt.Errorf("%w: everybody has left", ErrContended)
		}
		outs, sold, err = s.sellTo(ctx, tx, orders)
		return err
	})
	if err == nil && sold > 1 {
		s.tell(ctx, who()[0].order.SKU, Merged)
	}
	return outs, err
}

// sellTo takes the units for as many of the orders as fit and writes their rows. The outcome of one that does not fit is
// an error.
func (s *batch) sellTo(ctx context.Context, tx *sql.Tx, orders []Order) (outs []outcome, sold int, err error) {
	outs = make([]outcome, len(orders))
	buyers, position, err := s.allot(ctx, tx, orders, outs)
	if err != nil {
		return nil, 0, err
	}
	receipts := make([]Receipt, len(buyers))
	for i := len(buyers) - 1; i >= 0; i-- {
		receipts[i].Position = position
		position -= int64(buyers[i].Quantity)
	}
	if err := s.writeOrders(ctx, tx, buyers, receipts); err != nil {
		return nil, 0, err
	}
	for i := range outs {
		if outs[i].err == nil {
			outs[i].receipt, receipts = receipts[0], receipts[1:]
		}
	}
	return outs, len(buyers), nil
}

// allot takes the units of all the orders, or else of those that fit, in order of arrival. It returns whose units it took
// and the position of the last one.
func (s *batch) allot(ctx context.Context, tx *sql.Tx, orders []Order, outs []outcome) (buyers []Order, position int64, err error) {
	if position, err = s.take(ctx, tx, orders); err != nil || position > 0 {
		return orders, position, err
	}
	if buyers, err = s.fitting(ctx, tx, orders, outs); err != nil {
		return nil, 0, err
	}
	if position, err = s.take(ctx, tx, buyers); err == nil && position == 0 {
		err = fmt.Errorf("%w: the stock of %s changed in spite of the row's lock", ErrUnavailable, orders[0].SKU)
	}
	return buyers, position, err
}

// take takes the units of all the orders and returns the position of the last one. If fewer are left, it takes none and
// returns 0.
func (s *batch) take(ctx context.Context, tx *sql.Tx, orders []Order) (position int64, err error) {
	var units int64
	for _, o := range orders {
		units += int64(o.Quantity)
	}
	// LAST_INSERT_ID hands the position back without another round trip.
	result, err := tx.ExecContext(ctx, `
		UPDATE inventory
		   SET stock = stock - ?, sold = LAST_INSERT_ID(sold + ?)
		 WHERE sku = ? AND stock >= ?`,
		units, units, orders[0].SKU, units)
	if err != nil {
		return 0, fmt.Errorf("update inventory: %w", err)
	}
	rows, err := result.RowsAffected()
	if err == nil && rows > 0 {
		position, err = result.LastInsertId()
	}
	if err != nil {
		return 0, fmt.Errorf("update inventory: %w", err)
	}
	return position, nil
}

// fitting returns the orders for which enough is left, in order of arrival. The others' outcomes say that they do not fit;
// if none does, that is the error.
//
// A refused UPDATE keeps the row locked under REPEATABLE READ, and a plain read would do. FOR UPDATE locks it under READ
// COMMITTED, too, and never reads from an older snapshot.
func (s *batch) fitting(ctx context.Context, tx *sql.Tx, orders []Order, outs []outcome) (fit []Order, err error) {
	var left int64
	err = tx.QueryRowContext(ctx, `SELECT stock FROM inventory WHERE sku = ? FOR UPDATE`, orders[0].SKU).Scan(&left)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: %s", ErrUnknownSKU, orders[0].SKU)
	}
	if err != nil {
		return nil, fmt.Errorf("select after a refused update: %w", err)
	}
	for i, o := range orders {
		if int64(o.Quantity) > left {
			outs[i].err = fmt.Errorf("%w: %d left of %s", ErrSoldOut, left, o.SKU)
			continue
		}
		left -= int64(o.Quantity)
		fit = append(fit, o)
	}
	if len(fit) == 0 {
		return nil, outs[0].err
	}
	return fit, nil
}

// ofOneRow reports whether the database refused the row of one order, such as a second one with its key: then the
// others can be sold to without it.
func ofOneRow(err error) bool {
	return errors.Is(err, ErrDuplicate) || errors.Is(err, ErrUnavailable) && mysqlError(err) != 0
}

// sellAgain sells to a group of which the database refused one row. Orders whose key has one already are told so; the
// rest is tried together again, so that a storm of retries does not undo the merging, and one by one if that fails, too.
func (s *batch) sellAgain(ctx context.Context, all group) {
	rest, err := s.withoutDuplicates(ctx, all)
	if err != nil {
		all.answer(nil, err)
		return
	}
	if len(rest) > 1 {
		outs, err := s.sell(ctx, func() group { return rest })
		if !ofOneRow(err) {
			rest.answer(outs, err)
			return
		}
	}
	for i := range rest {
		one := rest[i : i+1]
		outs, err := s.sell(ctx, func() group { return one })
		one.answer(outs, err)
	}
}

// withoutDuplicates answers those of a group whose key has an order already, and returns the others.
func (s *batch) withoutDuplicates(ctx context.Context, all group) (rest group, err error) {
	var keys []any
	for _, p := range all {
		keys = append(keys, p.order.Key)
	}
	ids, err := orderIDs(ctx, s.DB, keys)
	if err != nil {
		return nil, notSold(ctx, fmt.Errorf("select orders: %w", err))
	}
	for _, p := range all {
		if id, sold := ids[p.order.Key]; sold {
			p.settle(outcome{err: fmt.Errorf("%w: number %d", ErrDuplicate, id)})
		} else {
			rest = append(rest, p)
		}
	}
	return rest, nil
}
