package strategies

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

func init() {
	Register(Info{
		Name:  "queue",
		Doc:   "a Redis Stream per SKU, from which one fenced leader sells in batches",
		Safe:  true,
		Redis: true,
		New: func(e Env) (Strategy, error) {
			return newQueue(e), e.Lease.Validate()
		},
	})
}

// queue puts every order into a line in Redis, one for each SKU, and waits for the answer of the one leader that sells
// from the line, many orders in one transaction. The answer is a sale, not a promise.
//
// Mechanism: an order is an entry of a Redis Stream and waits for a message. Every process with waiting orders competes
// for the leadership of the SKU, a lease with a fencing token, the generation. A new leader first writes its generation
// into the inventory row and sells only while it stands there: one conditional UPDATE for a whole batch, the orders' rows,
// COMMIT, and then the answers. Reading the line renews the lease, so that a leader that makes no progress loses it.
//
// Guarantee: never more than the stock, whatever Redis forgets and however long a leader stalls: the condition on the
// stock and the unique key of an order decide, in one transaction. Orders are sold in the order of their arrival; one that
// asks for more than is left is refused, and a smaller one behind it is sold if it fits. What is told to an order as surely
// not sold is told by the leader, or by the order itself once it has taken its entry back before any leader read it.
//
// What breaks it: nothing breaks the stock. An order whose leader dies with it in hand, or whose COMMIT was not answered, may
// end as unknown, or as a duplicate of its own sale, and then the ledger tells. A row that the database refuses, such as a
// name too long, refuses its whole batch. A failover of Redis that forgets what a leader read, but not the
// entry, can make an order believe that it took back what is being sold. Without Redis nothing is sold.
//
// Cost: three round trips to Redis on the way of an order, and a wait for the batch ahead of it; for that the row is
// locked once for a batch and not once for an order. When a leader dies nothing is sold until its lease has ended.
//
// Pick it when one SKU draws more orders than its row can take one by one, when they come through many processes, and when
// first come, first served matters.
//
// Known users: none known in this form. Waiting rooms of ticket shops queue alike, but answer with a promise: so the
// project AnTaeho/ticketing-system, with Redis and Kafka.
type queue struct {
	Env
	mail *mailbox

	life    context.Context // of the consumers: it ends with Close
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex           // guards what follows
	wanted  map[string]time.Time // when a SKU's consumer was of use last; there is one for each SKU in here
	trouble map[string]error     // why this process could not use its last leadership of a SKU, for want of the database
}

var _ Strategy = (*queue)(nil)

func newQueue(e Env) *queue {
	life, end := context.WithCancel(context.Background())
	return &queue{Env: e, mail: e.newMailbox(), life: life, end: end,
		wanted: map[string]time.Time{}, trouble: map[string]error{}}
}

const (
	// A waiting order looks this often whether Redis still lives and still has its entry: with the time that a command
	// may take, a loss is noticed within half a second.
	lookEvery = 200 * time.Millisecond
	// A consumer ends when it has been of no use for so long.
	idleLife = time.Second
	// A leader whose line is empty is woken by the next order. In case that the message is lost it looks at least this
	// often, which renews its lease, too.
	leaderNap = 100 * time.Millisecond
	// A leader sells at most so many orders in one transaction.
	batchSize = 128
)

// Checkout waits in the line for [LeaseSettings.Wait], and once more for as long if a leader has read the order by then.
func (s *queue) Checkout(ctx context.Context, o Order) (Receipt, error) {
	if err := ctx.Err(); err != nil {
		return Receipt{}, notSold(ctx, err)
	}
	if err := s.mail.open(ctx); err != nil {
		return Receipt{}, err
	}
	w, forget := s.newWaiter(ctx, o)
	defer forget()
	for ctx.Err() == nil && time.Now().Before(w.limit) {
		if err := s.enqueue(ctx, w); err != nil { // again, if Redis has lost its entry
			return Receipt{}, err
		}
		s.want(o.SKU)
		if text, ok := w.listen(ctx, w.limit); ok {
			return readReply(text)
		}
		if w.trouble = s.troubleWith(o.SKU); w.trouble != nil {
			break // to wait for the database to come back would not be to fail closed
		}
	}
	return s.leave(ctx, w)
}

// leave ends the wait of an order that was not answered in time. Its error matches [ErrContended] if the order could be
// taken out of the line before any leader read it. Otherwise a leader may sell it yet, and no refusal would be true.
func (s *queue) leave(ctx context.Context, w *waiter) (Receipt, error) {
	for over := w.limit.Add(s.Lease.Wait); ; {
		if err := s.withdraw(ctx, w); err != nil {
			return Receipt{}, err
		}
		s.want(w.order.SKU) // if its leader has died, this process may lead next, and tell
		if text, ok := w.listen(ctx, over); ok {
			return readReply(text)
		}
		if ctx.Err() != nil || time.Now().After(over) {
			return Receipt{}, errors.New("the outcome is unknown: a leader has read the order and did not answer")
		}
	}
}

// want makes sure that a consumer of the SKU runs in this process, and goes on to for a while.
func (s *queue) want(sku string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, runs := s.wanted[sku]
	if s.life.Err() != nil {
		return
	}
	s.wanted[sku] = time.Now()
	if !runs {
		s.running.Go(func() { s.consume(s.life, sku) })
	}
}

// idle reports whether the SKU's consumer may end.
func (s *queue) idle(sku string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life.Err() != nil || time.Since(s.wanted[sku]) > idleLife
}

// retire reports the same, and if so the next order will start a new consumer.
func (s *queue) retire(sku string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() == nil && time.Since(s.wanted[sku]) <= idleLife {
		return false
	}
	delete(s.wanted, sku)
	delete(s.trouble, sku)
	return true
}

// note remembers how the last leadership of the SKU began in this process: with err, if the database is of no use.
func (s *queue) note(sku string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, ErrUnavailable) {
		s.trouble[sku] = err
	} else {
		delete(s.trouble, sku)
	}
}

func (s *queue) troubleWith(sku string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble[sku]
}

// Close ends the consumers, which give their leaderships up, and the mailbox.
func (s *queue) Close() error {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.running.Wait()
	return s.mail.Close()
}

// consume leads the SKU whenever no other process does, until it is idle.
func (s *queue) consume(ctx context.Context, sku string) {
	for !s.retire(sku) {
		if !s.lead(ctx, sku) {
			rest(ctx, nil, s.poll())
		}
	}
}

// poll is the pause before the next try to lead, and of a leader after a failure.
func (s *queue) poll() time.Duration { return min(16*s.Lease.Retry, leaderNap) }

// lead sells what is in line as the SKU's leader, until the leadership is lost or of no use. It returns false if there was
// none to have.
func (s *queue) lead(ctx context.Context, sku string) bool {
	id := rand.Text()
	wake, forget := s.mail.expect(id)
	defer forget()
	// The owner says where the leader can be woken. The key is not that of the SKU's lease, which nobody holds for long.
	l := lease{redis: s.Redis, key: s.leaderKey(sku), owner: s.mail.channel + " " + id, sku: sku}
	var err error
	l.token, err = acquireScript.Run(ctx, s.Redis, []string{l.key, s.fenceKey(sku)},
		l.owner, s.Lease.TTL.Milliseconds(), fenceLife.Milliseconds()).Int64()
	if errors.Is(err, redis.Nil) {
		s.note(sku, nil) // another leads, and can do what this process could not
		return false
	}
	if err != nil && notExecuted(err) {
		return false // Redis is gone, which the orders notice themselves
	}
	defer s.release(ctx, l) // after an error, too: only the answer may be lost
	if err != nil {
		s.Log.WarnContext(ctx, "the leadership cannot be asked for", "sku", sku, "error", err)
		return false
	}
	err = s.register(ctx, l)
	s.note(sku, err)
	if err != nil {
		s.raiseFence(ctx, sku, err)
		s.Log.WarnContext(ctx, "the leadership cannot be had", "sku", sku, "generation", l.token, "error", err)
		return false
	}
	s.tell(ctx, sku, TookOver)
	for s.sellNext(ctx, l, wake) {
	}
	return true
}

// register writes the leader's generation into the inventory row: from then on no older leader sells anything, not even
// with an UPDATE that it has sent already. The lease could not promise that.
func (s *queue) register(ctx context.Context, l lease) error {
	ctx, cancel := context.WithTimeout(ctx, s.Lease.TTL+s.Lease.Wait)
	defer cancel()
	return inTx(ctx, s.DB, nil, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `UPDATE inventory SET fence = ? WHERE sku = ? AND fence < ?`, l.token, l.sku, l.token)
		if err != nil {
			return fmt.Errorf("update inventory: %w", err)
		}
		rows, err := result.RowsAffected()
		if err != nil || rows == 1 {
			return err
		}
		if err := refusal(ctx, tx, Order{SKU: l.sku}, l.token); !errors.Is(err, ErrUnknownSKU) {
			return err
		}
		return nil // the orders are to be told
	})
}

// sellNext sells the orders that are first in line, or waits for one to come. It returns false if the leader is none any
// more, or of no use.
func (s *queue) sellNext(ctx context.Context, l lease, wake <-chan string) bool {
	batch, err := s.take(ctx, l)
	if errors.Is(err, errLeaseLost) {
		s.tell(ctx, l.sku, LeaseLost)
		return false
	}
	if err != nil { // the next look tells whether it still leads
		s.Log.WarnContext(ctx, "the line was not read", "sku", l.sku, "error", err)
		rest(ctx, nil, s.poll())
		return !s.idle(l.sku)
	}
	if len(batch) == 0 {
		rest(ctx, wake, min(leaderNap, s.Lease.TTL/3))
		return !s.idle(l.sku)
	}
	s.want(l.sku)
	err = s.sell(ctx, l, batch)
	s.settle(ctx, l, batch, err)
	if errors.Is(err, ErrFenced) {
		s.tell(ctx, l.sku, LeaseLost)
		return false
	}
	if err != nil {
		s.Log.WarnContext(ctx, "a batch was not sold", "sku", l.sku, "orders", len(batch), "error", err)
		rest(ctx, nil, s.poll())
	}
	return true
}

// sell sells a batch in one transaction, and notes in each entry what became of it. An error is that of the transaction.
func (s *queue) sell(ctx context.Context, l lease, batch []*entry) error {
	// By then the lease is long over, and no order of the batch waits any more.
	ctx, cancel := context.WithTimeout(s.as(ctx, batch[0].order), s.Lease.TTL+s.Lease.Wait)
	defer cancel()
	oneByOne := slices.ContainsFunc(batch, func(e *entry) bool { return e.late })
	for {
		err := s.retry(ctx, batch[0].order, func() error {
			return inTx(ctx, s.DB, nil, func(tx *sql.Tx) error {
				if !oneByOne {
					if sold, err := s.sellAll(ctx, tx, l, batch); sold || err != nil {
						return err
					}
				}
				return s.sellSome(ctx, tx, l, batch)
			})
		})
		if oneByOne || !errors.Is(err, ErrDuplicate) {
			return err
		}
		oneByOne = true
	}
}

// sellAll sells all of the orders, unless too few units are left or the leader has been replaced.
func (s *queue) sellAll(ctx context.Context, tx *sql.Tx, l lease, batch []*entry) (sold bool, err error) {
	units := 0
	for _, e := range batch {
		units += e.order.Quantity
	}
	position, err := s.takeUnits(ctx, tx, l, units)
	if err != nil || position == 0 {
		return false, err
	}
	position -= int64(units)
	orders, receipts := make([]Order, len(batch)), make([]Receipt, len(batch))
	for i, e := range batch {
		position += int64(e.order.Quantity)
		orders[i], receipts[i] = e.order, Receipt{Position: position, Fence: l.token}
	}
	if err := s.writeOrders(ctx, tx, orders, receipts); err != nil {
		return false, err
	}
	for i, e := range batch {
		e.receipt, e.err = receipts[i], nil
	}
	return true, nil
}

// takeUnits takes units from the stock, and returns the position of the last, or 0 if none was taken. The leader's own
// generation must stand in the row: an older leader that wakes takes nothing, nor does one that could not register.
func (s *queue) takeUnits(ctx context.Context, tx *sql.Tx, l lease, units int) (position int64, err error) {
	result, err := tx.ExecContext(ctx, `
		UPDATE inventory
		   SET stock = stock - ?, sold = LAST_INSERT_ID(sold + ?)
		 WHERE sku = ? AND stock >= ? AND fence = ?`,
		units, units, l.sku, units, l.token)
	if err != nil {
		return 0, fmt.Errorf("update inventory: %w", err)
	}
	rows, err := result.RowsAffected()
	if err == nil && rows == 1 {
		position, err = result.LastInsertId()
	}
	if err != nil {
		return 0, fmt.Errorf("update inventory: %w", err)
	}
	return position, nil
}

// sellSome decides about the orders of a batch one by one, and sells to those that can be sold to. The row is locked
// meanwhile: what it says, and which keys have an order, stays true, and an older leader's sales are all seen.
func (s *queue) sellSome(ctx context.Context, tx *sql.Tx, l lease, batch []*entry) error {
	var stock, fence int64
	err := tx.QueryRowContext(ctx, `SELECT stock, fence FROM inventory WHERE sku = ? FOR UPDATE`, l.sku).Scan(&stock, &fence)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		for _, e := range batch {
			e.err = fmt.Errorf("%w: %s", ErrUnknownSKU, l.sku)
		}
		return nil
	case err != nil:
		return fmt.Errorf("select inventory: %w", err)
	case fence != l.token:
		return &fencedError{token: l.token, fence: fence}
	}
	keys := make([]any, len(batch))
	for i, e := range batch {
		keys[i] = e.order.Key
	}
	ordered, err := orderIDs(ctx, tx, keys)
	if err != nil {
		return fmt.Errorf("select orders: %w", err)
	}
	fit := choose(batch, stock, ordered)
	if len(fit) == 0 {
		return nil
	}
	if sold, err := s.sellAll(ctx, tx, l, fit); err != nil || sold {
		return err
	}
	return fmt.Errorf("%w: the update of %s touched no row, yet %d units are left", ErrUnavailable, l.sku, stock)
}

// choose returns the orders that can be sold to, in the order of their arrival, and refuses the others. One that asks for
// more than is left does not keep a smaller one behind it from being sold.
func choose(batch []*entry, stock int64, ordered map[string]int64) (fit []*entry) {
	for _, e := range batch {
		_, duplicate := ordered[e.order.Key]
		switch {
		case duplicate:
			e.err = fmt.Errorf("%w: %s", ErrDuplicate, e.order.Key)
		case e.late:
			e.err = fmt.Errorf("%w: the wait limit is over", ErrContended)
		case stock < int64(e.order.Quantity):
			e.err = fmt.Errorf("%w: %d left of %s", ErrSoldOut, stock, e.order.SKU)
		default:
			stock -= int64(e.order.Quantity)
			ordered[e.order.Key] = 0
			fit = append(fit, e)
		}
	}
	return fit
}

// settle answers the orders of a batch. A sale is a fact, whoever leads now. A refusal is true only as long as no other
// leader can have read the entry. If the transaction failed, entries stay in line unless they are surely not sold: that
// is known of those that no leader had read before this one.
func (s *queue) settle(ctx context.Context, l lease, batch []*entry, failed error) {
	var facts, refusals []*entry
	sold := 0
	for _, e := range batch {
		switch {
		case failed != nil && (!e.fresh || !errors.Is(failed, ErrUnavailable) && !errors.Is(failed, ErrContended)):
		case failed != nil:
			e.err = failed
			refusals = append(refusals, e)
		case e.err == nil:
			sold++
			facts = append(facts, e)
		case errors.Is(e.err, ErrDuplicate):
			facts = append(facts, e)
		default:
			refusals = append(refusals, e)
		}
	}
	if sold > 1 {
		s.tell(ctx, l.sku, Merged)
	}
	s.answer(ctx, l, facts, "")
	s.answer(ctx, l, refusals, l.owner)
}

// rest returns after a pause, or earlier if it is woken or ctx ends.
func rest(ctx context.Context, wake <-chan string, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}
