package strategies

import "time"

// Strategies that sell from a counter in Redis load it from the inventory row. One order at a time does that for a SKU,
// under a lease of its own: it takes the lease in the script that finds nothing to sell from, reads the row, and writes
// the counter in a script that does so only if the lease is still its own. An order that stalls between the two is late
// for its lease, and what it read, however old, is never written. Whatever makes Redis lose the counter also ends the
// lease, or leaves it to the order that holds it.

// loadLimit is how long an order may take to load a counter before another may. If it died, the others wait for no longer.
const loadLimit = time.Second

// counterLife is how long an unused counter stays in Redis, so that counters do not pile up with every SKU ever sold.
const counterLife = 24 * time.Hour

func (e Env) loadingKey(sku string) string { return e.Prefix + "loading:{" + sku + "}" }

// loadLease is the lease of the order that loads a SKU's counter, to be released if it cannot.
func (e Env) loadLease(sku, owner string) lease {
	return lease{redis: e.Redis, key: e.loadingKey(sku), owner: owner, sku: sku}
}
