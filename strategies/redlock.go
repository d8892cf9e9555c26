package strategies

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

func init() {
	Register(Info{
		Name:   "redlock",
		Doc:    "lock-only, but the lease is one on the majority of five independent Redis processes",
		Redis:  true,
		Nodes:  5,
		Breaks: []string{"stalled-holder", "slow-holder", "frozen-replica"},
		New: func(e Env) (Strategy, error) {
			if len(e.Nodes) < 3 {
				return nil, fmt.Errorf("redlock wants at least 3 independent Redis processes, not %d", len(e.Nodes))
			}
			return redlock{e}, e.Lease.Validate()
		},
	})
}

// redlock takes its lease on five Redis processes that know nothing of each other, and holds it if a majority granted it. That
// outlives the loss of two of them. It is a lease all the same.
//
// Mechanism: SET NX PX with one random owner on all five at once; it counts if at least three granted it and time is left of it:
// the TTL, less the time that asking took, less 1 % and 2 ms for clocks that drift. Then read, write-back and COMMIT, and a
// compare-and-delete on all five.
//
// Guarantee: while the processes that granted it keep their memory and clocks run alike, no two holders within the lease's
// life. After it, none.
//
// What breaks it: all that breaks lock-only by time: a holder that stalls, a process that is frozen. Of a lease that five have
// granted, two may lose their memory; of one that three have granted, none. The scenario lost-memory strikes a Redis that is
// none of the five, so that it says nothing of redlock.
//
// Cost: five commands to take and five to release, for every try that is refused, too, and five servers to run. A try takes as
// long as the slowest of the five, so that one that hangs delays all.
//
// Pick it when losing Redis must not stop the work, and a lease that ended unnoticed costs effort only. For correctness it
// needs a fence as any lease does, and has no counter to draw it from.
//
// Known users: the algorithm of the Redis documentation; go-redsync/redsync (issue 186: two holders), RedLock.net, node-redlock.
// Redisson has withdrawn its own in favour of a single lock and a fenced one.
type redlock struct{ Env }

var _ Strategy = redlock{}

func (s redlock) Checkout(ctx context.Context, o Order) (r Receipt, err error) {
	owner := rand.Text()
	if err := s.acquireMajority(ctx, o.SKU, owner); err != nil {
		return Receipt{}, err
	}
	defer s.releaseAll(ctx, o.SKU, owner) // after the COMMIT

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

// acquireMajority takes the lease on most of the nodes, waiting for it up to the wait limit.
func (s redlock) acquireMajority(ctx context.Context, sku, owner string) error {
	majority := len(s.Nodes)/2 + 1
	for turn := s.newTurn(); ; {
		start := time.Now()
		granted, err := s.askAll(ctx, sku, owner)
		drift := s.Lease.TTL/100 + 2*time.Millisecond
		if granted >= majority && s.Lease.TTL-time.Since(start)-drift > 0 {
			return nil
		}
		s.releaseAll(ctx, sku, owner) // a minority would only be in the way of others
		if failed := len(s.Nodes) - majority + 1; err.count >= failed {
			return fmt.Errorf("%w: acquire the lease of %s: %w", ErrUnavailable, sku, err.last)
		}
		if err := turn.pause(ctx); err != nil {
			return fmt.Errorf("waiting for the lease of %s: %w", sku, err)
		}
	}
}

// failures are the nodes that did not answer.
type failures struct {
	count int
	last  error
}

// askAll asks all nodes at once for the lease.
func (s redlock) askAll(ctx context.Context, sku, owner string) (granted int, failed failures) {
	var mu sync.Mutex
	s.onAll(func(node redis.UniversalClient) {
		err := node.SetArgs(ctx, s.leaseKey(sku), owner, redis.SetArgs{Mode: "NX", TTL: s.Lease.TTL}).Err()
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			granted++
		case !errors.Is(err, redis.Nil):
			failed.count, failed.last = failed.count+1, err
		}
	})
	return granted, failed
}

// releaseAll gives the lease back wherever it is the owner's: also where the grant's answer was lost.
func (s redlock) releaseAll(ctx context.Context, sku, owner string) {
	s.onAll(func(node redis.UniversalClient) {
		s.release(ctx, lease{redis: node, key: s.leaseKey(sku), owner: owner, sku: sku})
	})
}

func (s redlock) onAll(do func(redis.UniversalClient)) {
	var all sync.WaitGroup
	for _, node := range s.Nodes {
		all.Go(func() { do(node) })
	}
	all.Wait()
}
