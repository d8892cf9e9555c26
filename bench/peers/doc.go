// Package peers measures hotsku's leases beside those of redsync and bsm/redislock. It is a module of its own, so that hotsku
// does not depend on them; all of it is in its tests.
package peers
