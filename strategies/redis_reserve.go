package strategies

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

func init() {
	Register(Info{
		Name:  "redis-reserve",
		Doc:   "a reservation in Redis for the order's key, then a conditional UPDATE; what was lost is counted again",
		Safe:  true,
		Redis: true,
		New:   func(e Env) (Strategy, error) { return redisReserve{e}, e.Lease.Validate() },
	})
}

// redisReserve lets Redis choose the orders that get to the database, and the database decide. Redis only guesses how
// many units are free: a guess that is too high costs an order a refused UPDATE, one that is too low is corrected before
// anybody is told sold out.
//
// Mechanism: A Lua script moves units from a counter of free ones to a reservation under the order's key, so that a retry
// finds its reservation. The UPDATE is conditional; after the COMMIT the reservation is dropped, after a sure failure its
// units are free again, after an unknown outcome it stays. The order that finds too few units free asks the database for
// the stock, and for the reservations' keys among the orders: what is sold is dropped, what is older than the lease's TTL
// is given up, and free is the stock less what is reserved. What the database said of the stock is kept for a second as a
// floor that sales lower, so that orders for more than that are sold out without asking again.
//
// Guarantee: Never more than the stock is sold, by the condition in the UPDATE alone. Nobody is told sold out unless the
// database had fewer units committed than the order wants, within the last two seconds. No unit is stranded: one that Redis
// lost track of is found by the next order that has too few, a second later at most, or a TTL after it was reserved.
//
// What breaks it: Nothing known. While reservations of processes that died are younger than the TTL, the last units are
// contended and not sold. Units that are put back into the row are noticed when those that Redis knows of are gone, and
// after a second.
//
// Cost: Two commands to Redis on top of the transaction. The database is asked for the stock when a counter is missing,
// and about once a second and SKU by orders that find too few units.
//
// Pick it when far more customers come than there are units: those in vain are answered by Redis alone, and the answer is
// true. While units are left it only costs what db-conditional does not.
//
// Known users: none known in this whole form. Its first half is common in flash-sale services: jijizhazha1024/go-mall,
// for one, marks the order as seen and takes its stock in one script.
type redisReserve struct{ Env }

var _ Strategy = redisReserve{}

func (s redisReserve) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	held, err := s.reserve(ctx, o)
	if err != nil {
		return Receipt{}, err
	}
	err = inTx(ctx, s.DB, nil, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `
			UPDATE inventory
			   SET stock = stock - ?, sold = LAST_INSERT_ID(sold + ?)
			 WHERE sku = ? AND stock >= ?`,
			o.Quantity, o.Quantity, o.SKU, o.Quantity)
		if err != nil {
			return fmt.Errorf("update inventory: %w", err)
		}
		switch rows, err := result.RowsAffected(); {
		case err != nil:
			return fmt.Errorf("update inventory: %w", err)
		case rows == 0:
			return refusal(ctx, tx, o, 0)
		}
		if r.Position, err = result.LastInsertId(); err != nil {
			return fmt.Errorf("update inventory: %w", err)
		}
		return s.writeOrder(ctx, tx, o, &r)
	})
	s.settle(ctx, o, held, err)
	return r, err
}

// keys returns the keys of a SKU: the counter of free units; the hash of reservations, which maps an order's key to the
// reservation's owner, units and deadline; the floor; and the lease to load these.
func (s redisReserve) keys(sku string) []string {
	tag := ":{" + sku + "}"
	return []string{s.Prefix + "free" + tag, s.Prefix + "reserved" + tag, s.Prefix + "floor" + tag, s.loadingKey(sku)}
}

// A reservation holds units for an order until it is settled.
type reservation struct {
	owner string // random, so that an order never settles the reservation that a retry made after its own was given up
	own   bool   // this order made it; otherwise it found it under its key
}

var reserveUnits = script("reserve", `
-- Reserves units under an order's key.
-- KEYS: free, reserved, floor, lease to load.
-- ARGV: key, owner, units, life of the reservation, of the lease to load and of the keys in ms.
-- Returns "reserved" and the owner of the reservation that the key has now; or "sold out" and the floor; or "only
-- reserved", if the units are there but not free; or "load" and the keys of all reservations, if the order must load;
-- or "loading", if another is about to.
local held = redis.call('HGET', KEYS[2], ARGV[1])
if held then return {'reserved', string.match(held, '^%S+')} end
local units = tonumber(ARGV[3])
local free, floor = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[3]) -- false if missing
if floor and tonumber(floor) < units then return {'sold out', floor} end
if free and tonumber(free) >= units then
  local now = redis.call('TIME')
  local deadline = now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[4]
  redis.call('DECRBY', KEYS[1], units)
  redis.call('HSET', KEYS[2], ARGV[1], string.format('%s %d %d', ARGV[2], units, deadline))
  redis.call('PEXPIRE', KEYS[1], ARGV[6])
  redis.call('PEXPIRE', KEYS[2], ARGV[6])
  return {'reserved', ARGV[2]}
end
if free and floor then return {'only reserved'} end
if not redis.call('SET', KEYS[4], ARGV[2], 'NX', 'PX', ARGV[5]) then return {'loading'} end
-- Without a counter nothing is reserved until it is loaded, so that these are all reservations there can be by then.
redis.call('DEL', KEYS[1])
local answer = redis.call('HKEYS', KEYS[2])
table.insert(answer, 1, 'load')
return answer
`)

// reserve returns when units are reserved under the order's key. Its error matches one of this package's. If the reply
// was lost, units may be reserved all the same: a retry finds them, or they are given up at the deadline.
func (s redisReserve) reserve(ctx context.Context, o Order) (reservation, error) {
	owner := rand.Text()
	for turn := s.newTurn(); ; {
		answer, err := reserveUnits.Run(ctx, s.Redis, s.keys(o.SKU), o.Key, owner, o.Quantity,
			s.Lease.TTL.Milliseconds(), loadLimit.Milliseconds(), counterLife.Milliseconds()).StringSlice()
		if err != nil {
			return reservation{}, fmt.Errorf("%w: reserve %d of %s: %w", ErrUnavailable, o.Quantity, o.SKU, err)
		}
		switch answer[0] {
		case "reserved":
			return reservation{owner: answer[1], own: answer[1] == owner}, nil
		case "sold out":
			return reservation{}, fmt.Errorf("%w: the database had %s left of %s", ErrSoldOut, answer[1], o.SKU)
		case "only reserved":
			s.tell(ctx, o.SKU, LookedAgain)
		case "load":
			if err := s.load(ctx, o.SKU, owner, answer[1:]); err != nil {
				s.release(ctx, s.loadLease(o.SKU, owner))
				return reservation{}, err
			}
		}
		if err := turn.pause(ctx); err != nil {
			return reservation{}, fmt.Errorf("waiting for units of %s: %w", o.SKU, err)
		}
	}
}

// floorLife is how old the database's word may be when an order is told sold out.
const floorLife = time.Second

var loadUnits = script("load", `
-- Sets what is free to the stock less what is reserved, if the lease to load has not ended.
-- KEYS: free, reserved, floor, lease to load.
-- ARGV: owner, stock, life of the floor and of the counter in ms, then the keys that had orders when the stock was read.
-- Returns 1, or 0 if the lease has ended or is another's: then the stock may have been read too long ago.
if redis.call('GET', KEYS[4]) ~= ARGV[1] then return 0 end
for i = 5, #ARGV do redis.call('HDEL', KEYS[2], ARGV[i]) end
local stock, reserved, life = tonumber(ARGV[2]), 0, tonumber(ARGV[3])
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
local held = redis.call('HGETALL', KEYS[2])
for i = 1, #held, 2 do
  local units, deadline = string.match(held[i + 1], '^%S+ (%d+) (%S+)$')
  if deadline == 'sold' then -- after the stock was read
    stock = stock - units
    redis.call('HDEL', KEYS[2], held[i])
  elseif deadline - now <= 0 then
    redis.call('HDEL', KEYS[2], held[i])
  else
    reserved = reserved + units
    life = math.min(life, deadline - now) -- then somebody must look whether it is to be given up
  end
end
redis.call('SET', KEYS[1], stock - reserved, 'PX', ARGV[4])
redis.call('SET', KEYS[3], stock, 'PX', life)
redis.call('DEL', KEYS[4])
return 1
`)

// load counts the free units from the database. The orders that need it do it: an abandoned reservation does no harm until
// somebody finds too few units, so that a sweeper in the background would have nothing to do before, and one more way to
// die.
func (s redisReserve) load(ctx context.Context, sku, owner string, keys []string) error {
	stock, sold, err := s.stockAndSold(ctx, sku, keys)
	if err != nil {
		return err
	}
	args := append([]any{owner, stock, floorLife.Milliseconds(), counterLife.Milliseconds()}, sold...)
	loaded, err := loadUnits.Run(ctx, s.Redis, s.keys(sku), args...).Int64()
	if err != nil {
		return fmt.Errorf("%w: load the counter of %s: %w", ErrUnavailable, sku, err)
	}
	if loaded == 1 {
		s.tell(ctx, sku, Loaded)
	}
	return nil
}

// stockAndSold reads the committed stock and which of the keys have an order. It is one statement, and so of one moment:
// each of these orders is in the stock already, and none of the others.
func (s redisReserve) stockAndSold(ctx context.Context, sku string, keys []string) (stock int64, sold []any, err error) {
	var args []any
	for _, key := range keys {
		args = append(args, key)
	}
	rows, err := s.DB.QueryContext(ctx, `
		SELECT i.stock, o.idempotency_key
		  FROM inventory i LEFT JOIN orders o ON o.idempotency_key IN (NULL`+strings.Repeat(", ?", len(keys))+`)
		 WHERE i.sku = ?`, append(args, sku)...)
	if err != nil {
		return 0, nil, notSold(ctx, fmt.Errorf("select inventory: %w", err))
	}
	defer rows.Close()
	known := false
	for rows.Next() {
		var key sql.NullString
		if err := rows.Scan(&stock, &key); err != nil {
			return 0, nil, notSold(ctx, fmt.Errorf("select inventory: %w", err))
		}
		known = true
		if key.Valid {
			sold = append(sold, key.String)
		}
	}
	if err := rows.Err(); err != nil {
		return 0, nil, notSold(ctx, fmt.Errorf("select inventory: %w", err))
	}
	if !known {
		return 0, nil, fmt.Errorf("%w: %s", ErrUnknownSKU, sku)
	}
	return stock, sold, nil
}

var settleUnits = script("settle", `
-- Ends a reservation, if it is still its owner's.
-- KEYS: free, reserved, floor.  ARGV: key, owner, units, what became of the order: "sold", "failed", or "refused" if the
-- database had too few units.
-- Returns 1, or 0 if the reservation was given up or lost.
-- If there were too few units, the counter is too high: it must be loaded anew.
if ARGV[4] == 'refused' then redis.call('DEL', KEYS[1], KEYS[3]) end
local free = redis.call('EXISTS', KEYS[1]) == 1
local held = redis.call('HGET', KEYS[2], ARGV[1])
if not held or string.match(held, '^%S+') ~= ARGV[2] then return 0 end
if ARGV[4] == 'sold' and not free then
  -- Somebody is loading, and only he knows whether the stock that he read has this sale in it.
  redis.call('HSET', KEYS[2], ARGV[1], string.format('%s %d sold', ARGV[2], ARGV[3]))
  return 1
end
if ARGV[4] == 'sold' and redis.call('EXISTS', KEYS[3]) == 1 then redis.call('DECRBY', KEYS[3], ARGV[3]) end
if ARGV[4] == 'failed' and free then redis.call('INCRBY', KEYS[1], ARGV[3]) end
redis.call('HDEL', KEYS[2], ARGV[1])
return 1
`)

// settle ends the reservation of an order that is sold or surely not sold. It outlives the request, as a release does. An
// order that found a reservation under its key leaves it to whoever made it, unless it is the one that was sold.
func (s redisReserve) settle(ctx context.Context, o Order, held reservation, err error) {
	became := "failed"
	switch {
	case err == nil:
		became = "sold"
	case !held.own, !surelyNotSold(err):
		return
	case errors.Is(err, ErrSoldOut):
		became = "refused"
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	settled, err := settleUnits.Run(ctx, s.Redis, s.keys(o.SKU)[:3], o.Key, held.owner, o.Quantity, became).Int64()
	switch {
	case err != nil:
		s.Log.WarnContext(ctx, "a reservation was not settled; it is given up at its deadline",
			"key", o.Key, "sku", o.SKU, "order", became, "error", err)
	case settled == 1 && became == "failed":
		s.tell(ctx, o.SKU, Returned)
	}
}
