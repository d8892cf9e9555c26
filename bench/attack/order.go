package attack

import (
	"math/bits"
	"math/rand/v2"
	"strconv"

	"github.com/hotsku/hotsku/target/api"
)

// customers is the number of distinct customers that orders come from.
const customers = 100_000

// An order is what one hit asks for, by which key and at which replica.
type order struct {
	key      string
	replica  int
	checkout api.Checkout
}

// orders derives order k from a seed and k alone, so that an attack can be repeated and any order be looked up.
type orders struct {
	seed      uint64
	prefix    string // of keys
	sku       string
	quantity  int // the greatest
	addresses int
}

// at returns order k. It is safe for concurrent use.
func (o orders) at(k uint64) order {
	var draws rand.PCG
	draws.Seed(o.seed, k)
	return order{
		key:     o.prefix + strconv.FormatUint(k, 10),
		replica: int(k % uint64(o.addresses)),
		checkout: api.Checkout{
			SKU:      o.sku,
			Quantity: 1 + below(&draws, o.quantity),
			Customer: "customer-" + strconv.Itoa(below(&draws, customers)),
		},
	}
}

// below draws from 0 to n-1 (Lemire, "Fast Random Integer Generation in an Interval", without the rejection: the bias
// is under n/2^64).
func below(draws *rand.PCG, n int) int {
	high, _ := bits.Mul64(draws.Uint64(), uint64(n))
	return int(high)
}
