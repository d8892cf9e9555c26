package strategies

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// lines let the orders of one process that want the same SKU stand in line. The first leads: it works for itself and for
// those whom it takes along; the others wait until they are taken along, or until the lead comes to them. A line
// exists while somebody leads it.
//
// The lead saves work and guarantees nothing: it can be passed on while its holder is stuck, and then two are at work.
type lines struct {
	mu    sync.Mutex // guards what follows, and [place.taken]
	bySKU map[string]*line
}

type line struct {
	leader  *place
	waiting []*place // in order of arrival
}

// A place is that of one order in its line.
type place struct {
	order Order
	ctx   context.Context // the order's own
	turn  chan struct{}   // closed when the order is to lead
	taken bool            // along by a leader; guarded by the mutex of lines

	once sync.Once
	done chan struct{} // closed when the outcome is there
	outcome
}

// An outcome is what Checkout returns.
type outcome struct {
	receipt Receipt
	err     error
}

// settle makes the outcome known. Only the first outcome of an order counts.
func (p *place) settle(o outcome) {
	p.once.Do(func() {
		p.outcome = o
		close(p.done)
	})
}

// A group is the orders that a leader has taken along, in order of arrival.
type group []*place

func (g group) without(one *place) group {
	return slices.DeleteFunc(slices.Clone(g), func(p *place) bool { return p == one })
}

func (g group) orders() []Order {
	orders := make([]Order, len(g))
	for i, p := range g {
		orders[i] = p.order
	}
	return orders
}

// answer tells each order its own outcome, or all of them err.
func (g group) answer(outs []outcome, err error) {
	for i, p := range g {
		if err != nil {
			p.settle(outcome{err: err})
		} else {
			p.settle(outs[i])
		}
	}
}

func newLines() *lines { return &lines{bySKU: map[string]*line{}} }

// errLeft says that an order's context ended before it was its turn.
func errLeft(ctx context.Context) error {
	return fmt.Errorf("%w: waiting in line: %w", ErrContended, context.Cause(ctx))
}

// join puts the order at the end of its SKU's line. If nobody is there, it is its turn at once.
func (l *lines) join(ctx context.Context, o Order) *place {
	p := &place{order: o, ctx: ctx, turn: make(chan struct{}), done: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if line, ok := l.bySKU[o.SKU]; ok {
		line.waiting = append(line.waiting, p)
		return p
	}
	l.bySKU[o.SKU] = &line{leader: p}
	close(p.turn)
	return p
}

// leave takes an order whose context has ended out of its line, and reports whether it could: an order that was taken
// along has to wait for its outcome.
func (l *lines) leave(p *place) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !p.taken {
		l.passOn(p) // the lead, if it has just come; otherwise those who take along and pass on skip an ended context
	}
	return !p.taken
}

// cut has the leader take along at most limit orders, its own included, in order of arrival. An order whose context has
// ended is left out. An order with the key of another one stays behind: what becomes of it depends on the other.
func (l *lines) cut(leader *place, limit int) (all group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := map[string]bool{}
	take := func(p *place) (gone bool) {
		switch {
		case p.ctx.Err() != nil:
			p.settle(outcome{err: errLeft(p.ctx)})
			return true
		case len(all) == limit || keys[p.order.Key]:
			return false
		}
		keys[p.order.Key] = true
		p.taken, all = true, append(all, p)
		return true
	}
	take(leader)
	if line, ok := l.bySKU[leader.order.SKU]; ok {
		line.waiting = slices.DeleteFunc(line.waiting, take)
	}
	return all
}

// pass gives the lead to the order that has waited longest. Somebody who does not lead any more passes nothing on.
func (l *lines) pass(leader *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passOn(leader)
}

func (l *lines) passOn(leader *place) {
	line, ok := l.bySKU[leader.order.SKU]
	if !ok || line.leader != leader {
		return
	}
	for i, next := range line.waiting {
		if next.ctx.Err() == nil {
			line.waiting = slices.Delete(line.waiting, 0, i+1)
			line.leader = next
			close(next.turn)
			return
		}
	}
	delete(l.bySKU, leader.order.SKU)
}
