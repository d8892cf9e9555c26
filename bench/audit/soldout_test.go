package audit

import (
	"testing"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

func TestSoldOutAnswers(t *testing.T) {
	type hits = []results.Hit
	for _, tt := range []struct {
		name  string
		c     Case
		count int64
		note  string
	}{
		{"an answer after the last unit was acknowledged is true",
			story(1, hits{bought(0, 1, 1, 0, 5), told(1, api.SoldOut, 1, 6, 7)}, row(0, 1, 1)), 0, ""},
		{"an answer before the sale that took the last unit was answered is true, as that was under way",
			story(1, hits{bought(0, 1, 1, 0, 9), told(1, api.SoldOut, 1, 1, 2)}, row(0, 1, 1)), 0, ""},
		{"an answer at the very moment when the last sale was sent is true",
			story(1, hits{bought(0, 1, 1, 2, 9), told(1, api.SoldOut, 1, 1, 2)}, row(0, 1, 1)), 0, ""},
		{"an answer before the last sale was sent is false",
			story(1, hits{bought(0, 1, 1, 3, 9), told(1, api.SoldOut, 1, 1, 2)}, row(0, 1, 1)), 1, ""},
		{"an answer is false when all sales are unknown and the ledger has none of them",
			story(1, hits{told(0, api.Unknown, 1, 0, 1), told(1, api.SoldOut, 1, 1, 2)}), 1, ""},
		{"an answer is true when all sales are unknown and the ledger has enough of them",
			story(1, hits{told(0, api.Unknown, 1, 0, 1), told(1, api.SoldOut, 1, 1, 2)}, row(0, 1, 1)), 0, ""},
		{"a sale of an unknown outcome may have happened long before its client gave up",
			story(1, hits{told(0, api.Unknown, 1, 0, 30000), told(1, api.SoldOut, 1, 1, 2)}, row(0, 1, 1)), 0, ""},
		{"a sale of an unknown outcome did not happen before it was sent",
			story(1, hits{told(0, api.Unknown, 1, 3, 30000), told(1, api.SoldOut, 1, 1, 2)}, row(0, 1, 1)), 1, ""},
		{"a sale that nobody asked for may have happened at any time",
			story(1, hits{told(1, api.SoldOut, 1, 1, 2)}, row(7, 1, 1)), 0, ""},
		{"an order for more than the whole stock is rightly refused at once",
			story(1, hits{told(1, api.SoldOut, 2, 1, 2), bought(0, 1, 1, 3, 9)}, row(0, 1, 1)), 0, ""},
		{"two units are sold out when one is left, and one unit is not",
			story(3, hits{bought(0, 2, 2, 0, 1), told(1, api.SoldOut, 2, 2, 3), told(2, api.SoldOut, 1, 2, 3)},
				row(0, 2, 2)), 1, ""},
		{"an order with a low position that was sent late keeps those behind it late, too",
			story(2, hits{bought(0, 2, 1, 0, 99), bought(1, 1, 1, 50, 99), told(2, api.SoldOut, 2, 1, 2)},
				row(0, 2, 1), row(1, 1, 1)), 1, ""},
		{"an order that was sent early cannot have been sold before the one with the position below it",
			story(2, hits{bought(0, 2, 1, 0, 99), bought(1, 1, 1, 50, 99), told(2, api.SoldOut, 1, 1, 2)},
				row(0, 2, 1), row(1, 1, 1)), 1, ""},
		{"without positions the same orders may have happened the other way round",
			story(2, hits{bought(0, 0, 1, 0, 99), bought(1, 0, 1, 50, 99), told(2, api.SoldOut, 2, 1, 2)},
				row(0, 0, 1), row(1, 0, 1)), 0, "judged by when the orders were sent, for want of positions"},
		{"with a unit sold twice the positions prove nothing, and the doubt is the strategy's gain",
			story(2, hits{bought(0, 1, 1, 0, 99), bought(1, 1, 1, 50, 99), told(2, api.SoldOut, 2, 1, 2)},
				row(0, 1, 1), row(1, 1, 1)), 0,
			"judged by when the orders were sent, since the positions are broken: there may be more"},
		{"with positions against the clock they prove nothing, either",
			story(2, hits{bought(0, 2, 1, 0, 10), bought(1, 1, 1, 50, 99), told(2, api.SoldOut, 2, 1, 2)},
				row(0, 2, 1), row(1, 1, 1)), 0,
			"judged by when the orders were sent, since the positions contradict the clock: there may be more"},
		{"nothing in the ledger makes each answer false that some stock would have met",
			story(5, hits{told(0, api.SoldOut, 1, 1, 2), told(1, api.SoldOut, 5, 1, 2), told(2, api.SoldOut, 6, 1, 2)}), 2, ""},
		{"an answer under an oversold stock is true",
			story(1, hits{bought(0, 1, 1, 0, 1), bought(1, 2, 1, 0, 1), told(2, api.SoldOut, 1, 2, 3)},
				row(0, 1, 1), row(1, 2, 1)), 0, ""},
		{"each try of an order is an answer of its own",
			story(1, hits{told(0, api.SoldOut, 1, 0, 1), told(0, api.SoldOut, 1, 2, 3)}), 2, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := Audit(tt.c)
			if got := checkOf(a, results.FalseSoldOut); got.Count != tt.count || got.Note != tt.note {
				t.Errorf("%d false (%q), want %d (%q)", got.Count, got.Note, tt.count, tt.note)
			}
		})
	}
}
