package strategies

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
)

func init() {
	Register(Info{
		Name:   "redis-counter",
		Doc:    "a guarded decrement of a counter in Redis, then an unconditional UPDATE",
		Redis:  true,
		Breaks: []string{"lost-memory"},
		New:    func(e Env) (Strategy, error) { return redisCounter{e}, e.Lease.Validate() },
	})
}

// redisCounter takes the units from a counter in Redis and then writes the sale to the database, which it does not ask
// whether they were there. It is how many a flash sale was built, and it keeps one truth in two places.
//
// Mechanism: A Lua script lowers the counter, if it holds enough; then a transaction lowers the stock without a condition
// and writes the order. If that surely failed, the units go back to the counter; after a COMMIT whose outcome is unknown
// they do not, for units that are sold and given back would be sold twice. The counter is loaded from the inventory row
// when it is missing, by one order while the others wait.
//
// Guarantee: While Redis keeps its memory, no unit is sold twice, whoever stalls or dies.
//
// What breaks it: When Redis loses its memory while an order is between the counter and the database, the counter is
// loaded from a row that still has that order's units: they are sold again. The other way round units are stranded until
// the counter expires, a day after the last sale: when the reply of the decrement is lost, when a process dies before its
// COMMIT, when the outcome of a COMMIT is unknown, and when units cannot be given back because Redis is gone. And an order
// that was told sold out was told so too early if an order before it then gives units back.
//
// Cost: One command to Redis on top of the transaction. Whoever comes when everything is sold costs the database nothing.
//
// Pick it when a few oversold units cost no more than an apology, and the crowd that comes in vain must be kept from the
// database. redis-reserve keeps it away as well, and does not oversell.
//
// Known users: Shopify held its reservations so, with DECR and INCR, until it moved them to MySQL (Shopify Engineering,
// "scaling inventory reservations", 2026). The repository qwan30/Flash-Sale-Concurrency-Engine measures it with and
// without giving units back.
type redisCounter struct{ Env }

var _ Strategy = redisCounter{}

func (s redisCounter) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	if err := s.take(ctx, o); err != nil {
		return Receipt{}, err
	}
	err = inTx(ctx, s.DB, nil, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `
			UPDATE inventory
			   SET stock = stock - ?, sold = LAST_INSERT_ID(sold + ?)
			 WHERE sku = ?`,
			o.Quantity, o.Quantity, o.SKU)
		if err != nil {
			return fmt.Errorf("update inventory: %w", err)
		}
		switch rows, err := result.RowsAffected(); {
		case err != nil:
			return fmt.Errorf("update inventory: %w", err)
		case rows == 0:
			return fmt.Errorf("%w: %s", ErrUnknownSKU, o.SKU)
		}
		if r.Position, err = result.LastInsertId(); err != nil {
			return fmt.Errorf("update inventory: %w", err)
		}
		return s.writeOrder(ctx, tx, o, &r)
	})
	if surelyNotSold(err) {
		s.giveBack(ctx, o)
	}
	return r, err
}

func (s redisCounter) counterKey(sku string) string { return s.Prefix + "stock:{" + sku + "}" }

var takeUnits = script("take", `
-- Takes units from the counter.
-- KEYS: counter, lease to load it.  ARGV: units, owner, life of the lease in ms, life of the counter in ms.
-- Returns "taken", "too few", "load" if the order must load the counter, or "loading" if another is about to.
local stock = redis.call('GET', KEYS[1])
if not stock then
  if redis.call('SET', KEYS[2], ARGV[2], 'NX', 'PX', ARGV[3]) then return 'load' end
  return 'loading'
end
if tonumber(stock) < tonumber(ARGV[1]) then return 'too few' end
redis.call('DECRBY', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 'taken'
`)

// take takes the order's units from the counter. If its error matches one of this package's, the order has none, unless
// Redis ran the script and the reply was lost: then the order is surely not sold, and its units are stranded.
func (s redisCounter) take(ctx context.Context, o Order) error {
	owner := rand.Text()
	for turn := s.newTurn(); ; {
		answer, err := takeUnits.Run(ctx, s.Redis, []string{s.counterKey(o.SKU), s.loadingKey(o.SKU)},
			o.Quantity, owner, loadLimit.Milliseconds(), counterLife.Milliseconds()).Text()
		if err != nil {
			return fmt.Errorf("%w: take %d of %s in Redis, where they may be stranded now: %w", ErrUnavailable, o.Quantity, o.SKU, err)
		}
		switch answer {
		case "taken":
			return nil
		case "too few":
			return fmt.Errorf("%w: the counter of %s holds fewer than %d", ErrSoldOut, o.SKU, o.Quantity)
		case "load":
			if err := s.load(ctx, o.SKU, owner); err != nil {
				s.release(ctx, s.loadLease(o.SKU, owner))
				return err
			}
		}
		if err := turn.pause(ctx); err != nil {
			return fmt.Errorf("waiting for the counter of %s to be loaded: %w", o.SKU, err)
		}
	}
}

var loadCounter = script("load", `
-- Sets the counter, if the lease to load it has not ended.
-- KEYS: counter, lease to load it.  ARGV: owner, stock, life of the counter in ms.
-- Returns 1, or 0 if the lease has ended or is another's: then the stock may have been read too long ago.
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('DEL', KEYS[2])
return 1
`)

// load loads the counter from the inventory row.
func (s redisCounter) load(ctx context.Context, sku, owner string) error {
	var stock int64
	err := s.DB.QueryRowContext(ctx, `SELECT stock FROM inventory WHERE sku = ?`, sku).Scan(&stock)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%w: %s", ErrUnknownSKU, sku)
	case err != nil:
		return notSold(ctx, fmt.Errorf("select inventory: %w", err))
	}
	loaded, err := loadCounter.Run(ctx, s.Redis, []string{s.counterKey(sku), s.loadingKey(sku)},
		owner, stock, counterLife.Milliseconds()).Int64()
	if err != nil {
		return fmt.Errorf("%w: load the counter of %s: %w", ErrUnavailable, sku, err)
	}
	if loaded == 1 {
		s.tell(ctx, sku, Loaded)
	}
	return nil
}

var giveBackUnits = script("give back", `
-- Gives units back to the counter, if it is there: one that is missing will be loaded from the row, which has them.
-- KEYS: counter.  ARGV: units.
-- Returns 1, or 0 if the counter is missing.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('INCRBY', KEYS[1], ARGV[1])
return 1
`)

// giveBack gives the order's units back to the counter. It outlives the request, as a release does.
func (s redisCounter) giveBack(ctx context.Context, o Order) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	returned, err := giveBackUnits.Run(ctx, s.Redis, []string{s.counterKey(o.SKU)}, o.Quantity).Int64()
	switch {
	case returned == 1:
		s.tell(ctx, o.SKU, Returned)
	case err != nil:
		s.Log.WarnContext(ctx, "units were not given back; they are stranded until the counter expires",
			"sku", o.SKU, "units", o.Quantity, "error", err)
	}
}
