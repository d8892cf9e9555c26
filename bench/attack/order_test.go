package attack

import (
	"fmt"
	"testing"
)

func TestOrderDependsOnSeedAndNumberAlone(t *testing.T) {
	some := orders{seed: 9, prefix: "hot/", sku: "hot", quantity: 4, addresses: 3}
	var text []byte
	for _, k := range []uint64{0, 1, 2, 3, 1000, 49_999_999} {
		one := some.at(k)
		if again := some.at(k); again != one {
			t.Errorf("order %d was %v, then %v", k, one, again)
		}
		text = fmt.Appendf(text, "%d: %+v\n", k, one)
	}
	golden(t, "orders.golden", text)
	other := some
	other.seed++
	same := 0
	for k := range uint64(1000) {
		if some.at(k).checkout == other.at(k).checkout {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d of 1000 orders are the same under another seed", same)
	}
}

// Quantities are uniform and independent of the order before, by Pearson's test over pairs: 15 degrees of freedom, with
// the critical value 37.7 at one per mille; the seed is fixed.
func TestQuantitiesAreUniform(t *testing.T) {
	some := orders{seed: 1, quantity: 4, addresses: 1}
	const n = 80_000
	var pairs [4][4]float64
	for k := uint64(0); k < n; k += 2 {
		pairs[some.at(k).checkout.Quantity-1][some.at(k+1).checkout.Quantity-1]++
	}
	sum := 0.0
	for _, row := range pairs {
		for _, count := range row {
			const want = n / 2 / 16
			sum += (count - want) * (count - want) / want
		}
	}
	if sum > 37.7 {
		t.Errorf("chi-square %.1f: %v", sum, pairs)
	}
}

func TestOrdersGoToReplicasInTurn(t *testing.T) {
	some := orders{quantity: 1, addresses: 3}
	for k := range uint64(9) {
		if got, want := some.at(k).replica, int(k%3); got != want {
			t.Errorf("order %d goes to replica %d, not %d", k, got, want)
		}
		if got := some.at(k).checkout.Quantity; got != 1 {
			t.Errorf("order %d asks for %d units of at most 1", k, got)
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	some := orders{seed: 1, prefix: "hot/", sku: "hot", quantity: 4, addresses: 3}
	b.ReportAllocs()
	k := uint64(0)
	for b.Loop() {
		some.at(k)
		k++
	}
}
