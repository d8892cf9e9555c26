package strategies

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// A turn is an order's wait for others to get out of its way: it pauses longer and longer, each time by a random
// amount so that a crowd does not come back as one, and gives up at the wait limit.
type turn struct {
	limit     time.Time
	mean, max time.Duration // of the next pause, of any pause
}

// newTurn begins to wait, under the limits that a wait for the lease has.
func (e Env) newTurn() *turn {
	return &turn{limit: time.Now().Add(e.Lease.Wait), mean: e.Lease.Retry, max: 16 * e.Lease.Retry}
}

// pause returns after the next pause. Its error, which matches [ErrContended], says that there is no time left for one.
func (t *turn) pause(ctx context.Context) error {
	pause := t.mean/2 + rand.N(t.mean)
	t.mean = min(2*t.mean, t.max)
	if time.Now().Add(pause).After(t.limit) {
		return fmt.Errorf("%w: the wait limit is over", ErrContended)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrContended, context.Cause(ctx))
	case <-timer.C:
		return nil
	}
}

// retry calls try, which must begin a transaction of its own each time, until it ends otherwise than by a collision with
// another transaction, or until the wait limit is over: then the last collision is the error. Collisions are told.
//
// Inside one transaction there is nothing to repeat: after a deadlock it is gone, and under REPEATABLE READ a second read
// would see the same snapshot again.
func (e Env) retry(ctx context.Context, o Order, try func() error) error {
	for turn := e.newTurn(); ; {
		err := try()
		kind := collision(err)
		if kind == "" {
			return err
		}
		e.tell(ctx, o.SKU, kind)
		if over := turn.pause(ctx); over != nil {
			return errors.Join(err, over)
		}
	}
}

// errConflict means that another order changed the row between this order's read and its write.
var errConflict = fmt.Errorf("%w: another order changed the row first", ErrContended)

// errHeld means that enough units are left, but others hold too many of them at the moment.
var errHeld = fmt.Errorf("%w: others hold the last units", ErrContended)

// collision says how err is a collision with another transaction that a new transaction may not meet, or returns "". An
// error from COMMIT is none: whether its transaction is in the ledger is unknown.
func collision(err error) EventKind {
	if !errors.Is(err, ErrContended) {
		return ""
	}
	switch mysqlError(err) {
	case errDeadlock:
		return Deadlock
	case errLockWaitTimeout, errLockNowait:
		return LockWait
	case errRecordChanged:
		return Conflict
	}
	switch {
	case errors.Is(err, errConflict):
		return Conflict
	case errors.Is(err, errHeld):
		return LookedAgain
	}
	return ""
}
