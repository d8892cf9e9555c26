package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

func TestDetailsSayWhatHappened(t *testing.T) {
	mess := story(2, []results.Hit{
		bought(0, 1, 1, 1, 5), bought(1, 2, 1, 1, 6), bought(2, 2, 1, 1, 7), bought(3, 5, 1, 8, 9),
		told(4, api.Contended, 1, 8, 9), bought(5, 9, 1, 8, 9), told(6, api.SoldOut, 1, 0, 0), told(8, api.Unknown, 3, 8, 9),
	}, row(0, 1, 1), row(1, 2, 1), row(2, 2, 1), row(3, 5, 1), row(4, 3, 1), row(77, 4, 1), row(8, 7, 1), row(8, 0, 3))
	mess.Ledger[0].Fence, mess.Ledger[1].Fence, mess.Hits[0].Fence, mess.Hits[1].Fence = 9, 8, 9, 7
	mess.Ledger[5].CreatedAt = zero.Add(9 * time.Millisecond)
	mess.Inventory = api.Inventory{Stock: -1, Sold: 3}

	lapse := traced(slices.Concat(stay("0", "a", 1, 2, 8, 10), stay("1", "b", 5, 6, 18, 20))...)
	lapse.Hits = []results.Hit{bought(0, 2, 1, 0, 10), bought(1, 1, 1, 14, 22), told(2, api.SoldOut, 1, 13, 14)}
	lapse.Ledger = []api.Order{row(1, 1, 1), row(0, 2, 1)}
	lapse.Inventory.Stock = 7
	lapse.Executions = []api.Executions{
		{Replica: "replica-a", Requests: 6, Repeated: map[uint64]int64{1: 3}}, {Replica: "replica-b", Requests: 0},
	}

	strays := story(9, []results.Hit{bought(0, 0, 1, 0, 1), told(1, api.Unknown, 2, 0, 1)}, row(1, -1, 1), row(0, 0, 1))
	strays.Inventory.Stock = 7
	strays.Hits[0].Replica = 1
	strays.Executions = []api.Executions{{Replica: "replica-b"}}

	for _, tt := range []struct {
		name string
		c    Case
		want []string
	}{
		{"a stock sold beyond its end", mess, []string{
			"oversold: 10 units were committed of a stock of 2: 8 too many.",
			"conservation: A stock of 2 less the 10 sold leaves -8, but the inventory row says -1 left and 3 sold.",
			"negative stock: The inventory row fell to -1.",
			"lost update: Order t-7-1 took unit 2, but order t-7-2 had taken the units up to 2.",
			"lost update: Order t-7-8 has no position, although others have.",
			"lost update: Order t-7-8 took unit 7, but the orders before it end at unit 5.",
			"false sold-out: Order t-7-6 was told sold out of 1 unit by 0s, when at most 1 of 2 can have been sold.",
			"duplicate order: Key t-7-8 has order 108 besides order 108.",
			"lost order: Order t-7-1 was acknowledged with fence 7 (the ledger has 8).",
			"lost order: Order t-7-5 was acknowledged as order 105, but is not in the ledger.",
			"phantom order: Order t-7-4 was refused (contended), but is in the ledger as order 104.",
			"phantom order: Order 177 with key \"t-7-77\" is in the ledger, but nobody asked for it.",
			"fence order: Order t-7-1 at position 2 was sold under fence 8, below fence 9 of position 1.",
		}},
		{"a lease that lapsed", lapse, []string{
			"real-time order: Order t-7-1 was sent 4ms after order t-7-0 was answered, but its position is 1, below 2.",
			"false sold-out: Order t-7-2 was told sold out of 1 unit by 14ms, when at most 2 of 9 can have been sold.",
			"stranded units: At rest 7 of 9 units are left, although 1 sold-out answer refused orders for no more than that.",
			"overlapping leases: Order t-7-1 at b entered 5ms after the start while order t-7-0 at a believed in its lease; " +
				"they shared 5ms.",
			"overlapping effects: Order t-7-1 at b entered 6ms after the start while order t-7-0 at a had begun and not " +
				"committed; they shared 2ms.",
			"hidden re-send: Hit 1 reached replica-a in 3 requests, but was sent there in 1.",
			"hidden re-send: replica-a counted 1 further arrival of which none can tell the hit: it counted 6 and was sent 3.",
		}},
		{"orders outside the units, and an answer that was not counted", strays, []string{
			"lost update: Order t-7-1 took unit -1, but the units begin at 1.",
			"lost update: Order t-7-0 has no position, although others have.",
			"lost order: Order t-7-1 asked for 2 units, but the ledger has 1.",
			"hidden re-send: Executions missing: replica-b answered 1 hit and counted 0.",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, anomalies := Audit(tt.c)
			var got []string
			for _, a := range anomalies {
				got = append(got, fmt.Sprintf("%s: %s", a.Invariant, a.Detail))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestWitnessesJoinTheClientsRecordWithTheLedger(t *testing.T) {
	c := story(1, []results.Hit{told(0, api.Contended, 1, 1, 2), bought(0, 1, 1, 3, 5), bought(1, 2, 1, 4, 6)},
		row(0, 1, 1), row(1, 2, 1))
	c.Ledger[1].Fence, c.Hits[2].Fence = 7, 7
	c.Ledger[1].CreatedAt = zero.Add(5 * time.Millisecond)
	c.Hits[2].Replica = 1
	c.Inventory.Stock = -1
	_, anomalies := Audit(c)
	want := results.Witness{
		Key: "t-7-1", Outcome: "sold", Replica: "replica-b", Order: 101, Position: 2, Quantity: 1, Fence: 7,
		Sent: results.Duration(4 * time.Millisecond), End: results.Duration(6 * time.Millisecond),
		Created: c.Ledger[1].CreatedAt,
	}
	if got := anomalies[0].Orders; len(got) != 1 || got[0] != want {
		t.Errorf("the first order beyond the stock is %+v, want %+v", got, want)
	}
}

func TestTheLedgerKnowsBestWhichReplicaSold(t *testing.T) {
	c := story(0, []results.Hit{bought(0, 1, 1, 1, 2)}, row(0, 1, 1))
	c.Ledger[0].Replica = "replica-b"
	_, anomalies := Audit(c)
	if got := anomalies[0].Orders[0].Replica; got != "replica-b" {
		t.Errorf("the order was sold by %q, want replica-b", got)
	}
}

func TestTheFirstOrdersBeyondTheStockAreShown(t *testing.T) {
	for _, tt := range []struct {
		name     string
		position func(k int64) int64
		created  func(k int64) int64
		want     string
	}{
		{"by position, when the positions are in order",
			func(k int64) int64 { return k + 1 }, func(k int64) int64 { return -k }, "t-7-5"},
		{"by creation, when they are not",
			func(int64) int64 { return 1 }, func(k int64) int64 { return -k }, "t-7-14"},
		{"by creation, when there are none",
			func(int64) int64 { return 0 }, func(k int64) int64 { return k }, "t-7-5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := story(5, nil)
			for k := range int64(20) {
				o := row(uint64(k), tt.position(k), 1)
				o.CreatedAt = zero.Add(time.Duration(tt.created(k)))
				c.Hits, c.Ledger = append(c.Hits, bought(uint64(k), o.Position, 1, 0, 9)), append(c.Ledger, o)
			}
			_, anomalies := Audit(c)
			if got := anomalies[0]; got.Units != 15 || len(got.Orders) != MaxWitnesses || got.Orders[0].Key != tt.want {
				t.Errorf("%d units, %d orders, the first %s; want 15, %d and %s",
					got.Units, len(got.Orders), got.Orders[0].Key, MaxWitnesses, tt.want)
			}
		})
	}
}

func TestTheFirstSoldOutAnswersThatStrandedUnitsAreShown(t *testing.T) {
	c := story(5, nil)
	for k := range 20 {
		c.Hits = append(c.Hits, told(uint64(k), api.SoldOut, int32(1+k%6), 0, 20-k))
	}
	a, anomalies := Audit(c)
	shown := anomalies[len(anomalies)-1]
	if checkOf(a, results.Stranded).Count != 5 || len(shown.Orders) != MaxWitnesses || shown.Orders[0].Key != "t-7-19" {
		t.Errorf("%+v, want the first %d of the 17 answers", shown, MaxWitnesses)
	}
}
