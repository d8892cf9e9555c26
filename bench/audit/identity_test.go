package audit

import (
	"testing"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

func TestTriesOfOneOrder(t *testing.T) {
	type hits = []results.Hit
	replayed := bought(0, 1, 1, 6, 7)
	replayed.Outcome = api.Replayed
	for _, tt := range []struct {
		name string
		c    Case
		want counts
	}{
		{"a retry that is answered with the order is no second order",
			story(5, hits{bought(0, 1, 1, 0, 5), replayed}, row(0, 1, 1)), nil},
		{"an order that was refused and then sold is no phantom",
			story(5, hits{told(0, api.Contended, 1, 0, 1), bought(0, 1, 1, 2, 3)}, row(0, 1, 1)), nil},
		{"an order that was refused at one try and unknown at another is no phantom",
			story(5, hits{told(0, api.Contended, 1, 0, 1), told(0, api.Unknown, 1, 2, 3)}, row(0, 1, 1)), nil},
		{"an order that was refused at every try is a phantom",
			story(5, hits{told(0, api.Contended, 1, 0, 1), told(0, api.Invalid, 1, 2, 3)}, row(0, 1, 1)),
			counts{results.PhantomOrder: 1}},
		{"a retry that is answered with another order is lost, however many orders the ledger has",
			story(5, hits{bought(0, 1, 1, 0, 5), bought(0, 2, 1, 6, 7)}, row(0, 1, 1)), counts{results.LostOrder: 1}},
		{"two acknowledged orders of one key are a duplicate and not lost",
			story(5, hits{bought(0, 1, 1, 0, 5), second(0, 2, 6, 7)}, row(0, 1, 1), api.Order{
				ID: 900, Key: prefix + "0", Position: 2, Quantity: 1}), counts{results.DuplicateOrder: 1}},
		{"two orders of a key that nobody asked for are two phantoms, one of them a duplicate",
			story(5, nil, row(0, 1, 1), api.Order{ID: 900, Key: prefix + "0", Position: 2, Quantity: 1}),
			counts{results.PhantomOrder: 2, results.DuplicateOrder: 1}},
		{"a second order of a key was not acknowledged, so that it may have come at any later time",
			story(5, hits{bought(0, 1, 1, 0, 5), bought(1, 2, 1, 6, 7)}, row(0, 1, 1), row(1, 2, 1), api.Order{
				ID: 900, Key: prefix + "0", Position: 3, Quantity: 1}), counts{results.DuplicateOrder: 1}},
		{"an order whose first answer was read before another was sent comes before it, whatever later answers say",
			story(5, hits{bought(0, 2, 1, 0, 5), bought(0, 2, 1, 6, 20), bought(1, 1, 1, 10, 11)},
				row(0, 2, 1), row(1, 1, 1)), counts{results.RealTimeOrder: 1}},
		{"an order is sent as early as its first try and answered as early as its first acknowledgement",
			story(5, hits{told(0, api.Unknown, 1, 0, 50), bought(0, 1, 1, 40, 60), bought(1, 2, 1, 20, 30)},
				row(0, 1, 1), row(1, 2, 1)), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.c.Inventory.Stock = 5
			for _, o := range tt.c.Ledger {
				tt.c.Inventory.Stock -= int64(o.Quantity)
			}
			a, anomalies := Audit(tt.c)
			requireCounts(t, a, anomalies, tt.want)
		})
	}
}

// second returns a hit that was sold as order 900.
func second(seq uint64, position int64, sent, end int) results.Hit {
	h := bought(seq, position, 1, sent, end)
	h.Order = 900
	return h
}

func TestUnknownOutcomesAreResolvedByTheLedger(t *testing.T) {
	c := story(9, []results.Hit{
		told(0, api.Unknown, 1, 0, 1), told(1, api.Unknown, 1, 0, 1), told(2, api.Unknown, 1, 0, 1), bought(3, 2, 1, 0, 1),
	}, row(0, 1, 1), row(3, 2, 1))
	a, _ := Audit(c)
	if a.ResolvedSold != 1 || a.ResolvedNotSold != 2 || a.Sold != 2 || a.Orders != 2 {
		t.Errorf("%+v, want 1 sold and 2 not sold, of 2 orders", a)
	}
}

func TestKeysAreReadAsTheyWereWritten(t *testing.T) {
	for _, tt := range []struct {
		name, key string
		seq       uint64
		ok        bool
	}{
		{"the first number", prefix + "0", 0, true},
		{"the last number", prefix + "18446744073709551615", 18446744073709551615, true},
		{"a number beyond the last", prefix + "18446744073709551616", 0, false},
		{"no number", prefix, 0, false},
		{"another prefix", "t-8-1", 0, false},
		{"a leading zero", prefix + "01", 0, false},
		{"a sign", prefix + "+1", 0, false},
		{"a hyphen", prefix + "-1", 0, false},
		{"a trailing letter", prefix + "1x", 0, false},
		{"an underscore", prefix + "1_0", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if seq, ok := parseKey(prefix, tt.key); ok != tt.ok || ok && seq != tt.seq {
				t.Errorf("parseKey(%q) = %d, %v, want %d, %v", tt.key, seq, ok, tt.seq, tt.ok)
			}
		})
	}
}

func TestOfTwoOrdersOfAKeyTheOneThatWasNotAcknowledgedIsTheDuplicate(t *testing.T) {
	c := story(5, []results.Hit{second(0, 2, 0, 5)}, row(0, 1, 1), api.Order{
		ID: 900, Key: prefix + "0", Position: 2, Quantity: 1})
	c.Inventory.Stock = 3
	_, anomalies := Audit(c)
	if len(anomalies) != 1 || anomalies[0].Orders[0].Order != 900 || anomalies[0].Orders[1].Order != 100 {
		t.Errorf("%+v, want order 100 beside the acknowledged order 900", anomalies)
	}
}
