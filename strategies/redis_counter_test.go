package strategies_test

import (
	"context"
	"errors"
	"testing"

	"github.com/hotsku/hotsku/strategies"
)

// What has become of 5 units in stock after an order for 2 ended otherwise than it should: so many are in the counter and
// so many in the row. Where the counter has fewer, the difference is stranded; where it had more, it would be sold twice.
func TestTheCounterAfterAnOrderThatFailed(t *testing.T) {
	for name, row := range map[string]struct {
		send         func(*testing.T, world) error
		want         error
		counter, row int64
		returned     int
	}{
		"the key has an order already: the units come back": {func(t *testing.T, w world) error {
			w.exec(t, `INSERT INTO orders (sku, quantity, position, customer, idempotency_key, fence, replica, created_at)
				VALUES ('another', 1, 1, 'c', ?, 0, 'test', NOW(6))`, w.order(0, 2).Key)
			return checkout(t, w, "redis-counter", w.order(0, 2))
		}, strategies.ErrDuplicate, 5, 5, 1},
		"the database refuses before COMMIT: the units come back": {func(t *testing.T, w world) error {
			o := w.order(0, 2)
			o.Customer = string(make([]byte, 1000)) // does not fit into its column
			return checkout(t, w, "redis-counter", o)
		}, strategies.ErrUnavailable, 5, 5, 1},
		"the request is cancelled before COMMIT: the units come back all the same": {func(t *testing.T, w world) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w.DB = stallingDatabase(t, func(step string) {
				if step == "insert orders" {
					cancel()
				}
			})
			_, err := checkoutObserved(ctx, strategy(t, "redis-counter", w), w.order(0, 2))
			return err
		}, strategies.ErrUnavailable, 5, 5, 1},
		"COMMIT took place and its reply was lost: nothing comes back": {func(t *testing.T, w world) error {
			return checkout(t, w.losingCommits(t, true), "redis-counter", w.order(0, 2))
		}, nil, 3, 3, 0},
		"COMMIT did not take place, and nobody knows: the units are stranded": {func(t *testing.T, w world) error {
			return checkout(t, w.losingCommits(t, false), "redis-counter", w.order(0, 2))
		}, nil, 3, 5, 0},
		"the reply of the decrement was lost: the units are stranded": {func(t *testing.T, w world) error {
			return checkout(t, w.losingReplies(t, "take"), "redis-counter", w.order(0, 2))
		}, strategies.ErrUnavailable, 3, 5, 0},
		"the counter was lost meanwhile: nothing is given back to it, for the row has the units": {func(t *testing.T, w world) error {
			return checkout(t, w.watched(t, 2, func(step string) {
				if step == "give back" {
					w.forget(t)
				}
			}), "redis-counter", strategies.Order{Key: w.sku + "/0", SKU: w.sku, Quantity: 2, Customer: string(make([]byte, 1000))})
		}, strategies.ErrUnavailable, 0, 5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, told := newWorld(t, 5).alone().counting()
			if err := checkout(t, w, "redis-counter", w.order(99, 6)); !errors.Is(err, strategies.ErrSoldOut) {
				t.Fatalf("6 of 5, so that the counter is loaded: %v", err)
			}
			err := row.send(t, w)
			if row.want == nil && (!errors.Is(err, errReplyLost) || errors.Is(err, strategies.ErrUnavailable)) {
				t.Errorf("%v, want an unknown outcome", err)
			}
			if row.want != nil && !errors.Is(err, row.want) {
				t.Errorf("%v, want %v", err, row.want)
			}
			if counter, _ := w.counter(t, "stock"); counter != row.counter || w.stock(t) != row.row {
				t.Errorf("%d units in the counter and %d in the row, want %d and %d", counter, w.stock(t), row.counter, row.row)
			}
			if n := told.of(strategies.Returned); n != row.returned {
				t.Errorf("units were given back %d times, want %d", n, row.returned)
			}
		})
	}
}

// checkout sends one order by a strategy.
func checkout(t *testing.T, w world, name string, o strategies.Order) error {
	t.Helper()
	_, err := strategy(t, name, w).Checkout(t.Context(), o)
	return err
}

func TestTheCounterAnswersSoldOutWithoutTheDatabase(t *testing.T) {
	w := newWorld(t, 2)
	if err := checkout(t, w, "redis-counter", w.order(0, 2)); err != nil {
		t.Fatal(err)
	}
	asked := 0
	w = w.watched(t, 2, func(step string) {
		if step != "take" {
			t.Errorf("an order that is sold out took the step %q", step)
		}
		asked++
	})
	s := strategy(t, "redis-counter", w)
	for n := range 50 {
		if _, err := checkoutObserved(t.Context(), s, w.order(1+n, 1)); !errors.Is(err, strategies.ErrSoldOut) {
			t.Errorf("order %d: %v, want %v", n, err, strategies.ErrSoldOut)
		}
	}
	if asked != 50 {
		t.Errorf("%d commands to Redis, want one for each of 50 orders", asked)
	}
}
