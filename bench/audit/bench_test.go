package audit

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkAudit audits whole trials: one that sells all the time, one that sells a tenth and refuses the rest, one in
// which nearly every order shares its units with another, and one with all steps traced.
func BenchmarkAudit(b *testing.B) {
	sizes := []struct {
		name   string
		orders int
	}{{"1e5", 100_000}, {"1e6", 1_000_000}}
	for _, size := range sizes {
		n := size.orders
		shapes := []struct {
			name string
			make func() history
		}{
			{"sustain", recipe{orders: n, stock: int64(2 * n), quantity: 1, clients: 200, untraced: true}.make},
			{"drain", recipe{orders: n, stock: int64(n / 10), quantity: 1, clients: 200, untraced: true, unsettled: true}.make},
			{"broken", func() history {
				h := recipe{orders: n, stock: int64(n / 10), quantity: 1, clients: 200, untraced: true}.make()
				oversell(&h, n-n/10)
				for i := range h.Ledger {
					h.Ledger[i].Position = int64(1 + i/8)
					h.told(i)
				}
				return h
			}},
			{"traced", recipe{orders: n, stock: int64(n), quantity: 1, clients: 200}.make},
		}
		for _, shape := range shapes {
			if shape.name == "traced" && n > 100_000 {
				continue // five million steps are more than a machine for tests should be asked to hold
			}
			b.Run(fmt.Sprintf("orders=%s/shape=%s", size.name, shape.name), func(b *testing.B) {
				h := shape.make()
				runtime.GC()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for b.Loop() {
					Audit(h.Case)
				}
				runtime.ReadMemStats(&after)
				orders := float64(len(h.Hits))
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/orders, "ns/order")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/orders, "B/order")
			})
		}
	}
}
