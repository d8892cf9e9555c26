package audit_test

import (
	"fmt"
	"time"

	"github.com/hotsku/hotsku/bench/audit"
	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// Three customers were told that they bought one of two units. The inventory row, written back as 0 by the last of
// them, looks fine; the ledger does not.
func ExampleAudit() {
	zero := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ms := time.Millisecond
	c := audit.Case{
		SKU: "console", Stock: 2, KeyPrefix: "trial-1-", Zero: zero, Replicas: []string{"replica-a", "replica-b"},
		Inventory: api.Inventory{SKU: "console", Stock: 0, Sold: 2},
		Hits: []results.Hit{
			{Seq: 0, Sent: 1 * ms, End: 9 * ms, Quantity: 1, Outcome: api.Sold, Order: 11, Position: 1, Replica: 0},
			{Seq: 1, Sent: 10 * ms, End: 18 * ms, Quantity: 1, Outcome: api.Sold, Order: 12, Position: 2, Replica: 0},
			{Seq: 2, Sent: 11 * ms, End: 19 * ms, Quantity: 1, Outcome: api.Sold, Order: 13, Position: 2, Replica: 1},
		},
		Ledger: []api.Order{
			{ID: 11, Key: "trial-1-0", Quantity: 1, Position: 1, CreatedAt: zero.Add(5 * ms)},
			{ID: 12, Key: "trial-1-1", Quantity: 1, Position: 2, CreatedAt: zero.Add(15 * ms)},
			{ID: 13, Key: "trial-1-2", Quantity: 1, Position: 2, CreatedAt: zero.Add(16 * ms)},
		},
	}
	a, anomalies := audit.Audit(c)
	fmt.Printf("sold %d of %d, the first beyond the stock after %v\n", a.Sold, c.Stock, a.FirstOversell)
	for _, check := range a.Broke() {
		fmt.Printf("%s is %s: %d\n", check.Invariant, check.State, check.Count)
	}
	for _, x := range anomalies {
		fmt.Println(x.Detail)
	}
	// Output:
	// sold 3 of 2, the first beyond the stock after 19ms
	// oversold is broken: 1
	// conservation is broken: 1
	// lost update is broken: 1
	// 3 units were committed of a stock of 2: 1 too many.
	// A stock of 2 less the 3 sold leaves -1, but the inventory row says 0 left and 2 sold.
	// Order trial-1-2 took unit 2, but order trial-1-1 had taken the units up to 2.
}
