package strategies

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"
)

// LeaseSettings say how long a lease lasts and how patiently an order waits for it.
type LeaseSettings struct {
	TTL  time.Duration // the lease expires this long after it was granted
	Wait time.Duration // an order waits this long for the lease, then it is contended
	// Retry is the mean pause before the second try. It doubles with every further one, up to 16 times, so that a crowd
	// does not spend the machine on asking; each pause is drawn between half and one and a half of its mean.
	Retry time.Duration
	// Laravel, unless empty, makes the lease of a SKU the very lock that PHP's Cache::lock($sku, …) takes: the key is
	// Laravel + SKU, where Laravel is the connection's prefix and the cache's prefix joined, such as
	// "laravel_database_laravel_cache_:". Up to version 10 Laravel puts a colon behind the cache's prefix, later ones do not;
	// the key of a lock that is held tells. Both sides set the key by SET NX to a random owner and release it by comparing
	// the owner, so that either keeps the other out. A holder in PHP draws no fencing token: fence its writes, too, or make
	// them conditional. On a Redis cluster the key would have to share a hash slot with the fence's.
	Laravel string
}

// DefaultLease returns settings for a critical section of a few milliseconds.
func DefaultLease() LeaseSettings {
	return LeaseSettings{TTL: 2 * time.Second, Wait: time.Second, Retry: 4 * time.Millisecond}
}

// Validate returns an error that names the setting that cannot work.
func (s LeaseSettings) Validate() error {
	switch {
	case s.TTL < time.Millisecond:
		return fmt.Errorf("lease: a TTL of %v is shorter than Redis can keep; give at least 1ms", s.TTL)
	case s.Wait < 0:
		return fmt.Errorf("lease: a wait limit of %v is negative", s.Wait)
	case s.Retry <= 0:
		return fmt.Errorf("lease: a retry pause of %v would spin; give at least 1ms", s.Retry)
	case strings.TrimSpace(s.Laravel) != s.Laravel || strings.ContainsFunc(s.Laravel, unicode.IsControl):
		// Such a key would be set and released without complaint, and would keep nobody in PHP out.
		return fmt.Errorf("lease: the prefix %q has white space at its end or a control character in it; no key of Laravel's has", s.Laravel)
	}
	return nil
}

// A lease is a lock with an expiry: its holder can lose it without notice. It keeps others away most of the time; what
// it protects must be right without it.
type lease struct {
	redis redis.UniversalClient
	key   string
	owner string // random, so that only the holder's own lease is ever released
	token int64  // the fencing token, 0 when none was asked for
	sku   string
}

//go:embed acquire.lua
var acquireSource string

//go:embed release.lua
var releaseSource string

//go:embed renew.lua
var renewSource string

//go:embed raise.lua
var raiseSource string

var (
	acquireScript = script("acquire", acquireSource)
	releaseScript = script("release", releaseSource)
	renewScript   = script("renew", renewSource)
	raiseScript   = script("raise", raiseSource)
)

// scripts holds the name of the step that each Lua script is, by its SHA-1 digest.
var scripts = map[string]string{}

// script makes a Lua script, and its step known by a name. It is called to initialise variables, never later.
func script(step, source string) *redis.Script {
	s := redis.NewScript(source)
	scripts[s.Hash()] = step
	return s
}

// Scripts maps the SHA-1 digest of every Lua script to the name of the step that it is, for whoever watches the traffic.
func Scripts() map[string]string { return maps.Clone(scripts) }

// The time that a release may take. It runs after the request it belongs to, so it needs a limit of its own. Only tests
// change it.
var releaseTimeout = 250 * time.Millisecond

// The time that an unused fence counter stays in Redis, so that counters do not pile up with every SKU ever sold.
// A counter that is gone too early is raised again from the database; see raiseFence.
const fenceLife = 24 * time.Hour

// The keys of one SKU share a hash tag, so that one script may use them together on a cluster.
func (e Env) leaseKey(sku string) string {
	if e.Lease.Laravel != "" {
		return e.Lease.Laravel + sku
	}
	return e.Prefix + "lease:{" + sku + "}"
}
func (e Env) fenceKey(sku string) string { return e.Prefix + "fence:{" + sku + "}" }

// acquire takes the SKU's lease with SET NX PX, waiting for it up to the wait limit.
func (e Env) acquire(ctx context.Context, sku string) (lease, error) {
	return e.wait(ctx, sku, func(l *lease) error {
		return e.Redis.SetArgs(ctx, l.key, l.owner, redis.SetArgs{Mode: "NX", TTL: e.Lease.TTL}).Err()
	})
}

// acquireFenced takes the SKU's lease and a fencing token in one script, so that tokens follow the order of grants.
// With a separate INCR, a client that stalls between the two commands could draw a newer token than the present
// holder's.
func (e Env) acquireFenced(ctx context.Context, sku string) (lease, error) {
	return e.wait(ctx, sku, func(l *lease) (err error) {
		l.token, err = acquireScript.Run(ctx, e.Redis, []string{l.key, e.fenceKey(sku)},
			l.owner, e.Lease.TTL.Milliseconds(), fenceLife.Milliseconds()).Int64()
		return err
	})
}

// wait calls try until it succeeds. A try that fails with [redis.Nil] found the lease taken; any other error means that
// Redis is of no use, and the order is refused rather than sold without a lease. If the lease was granted and only the answer
// lost, it stands in everybody's way until it expires: asking once more would cost the order the time to fail closed.
func (e Env) wait(ctx context.Context, sku string, try func(*lease) error) (lease, error) {
	l := lease{redis: e.Redis, key: e.leaseKey(sku), owner: rand.Text(), sku: sku}
	for turn := e.newTurn(); ; {
		err := try(&l)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, redis.Nil) {
			return lease{}, fmt.Errorf("%w: acquire the lease of %s: %w", ErrUnavailable, sku, err)
		}
		if err := turn.pause(ctx); err != nil {
			return lease{}, fmt.Errorf("waiting for the lease of %s: %w", sku, err)
		}
	}
}

// errLeaseLost is the cause by which the work under a lease is cancelled when the lease cannot be renewed.
var errLeaseLost = fmt.Errorf("%w: the lease ended during the work", ErrContended)

// keep renews a lease at each third of its life until stop is called. The work under the lease must be done under the
// context that keep returns: it is cancelled, with [errLeaseLost] as its cause, once the lease is another's, or once a
// whole TTL has passed since Redis last confirmed it.
//
// A statement that was sent already is not called back by that, and a process that stands still renews nothing and
// learns of nothing: renewal makes the loss of a lease rarer, never impossible.
func (e Env) keep(ctx context.Context, l lease) (work context.Context, stop func()) {
	work, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		end := time.Now().Add(e.Lease.TTL) // it lasts until then at least, as far as is known
		tick := time.NewTicker(e.Lease.TTL / 3)
		defer tick.Stop()
		for {
			select {
			case <-work.Done():
				return
			case <-tick.C:
			}
			asked := time.Now()
			held, err := e.renew(work, l, end)
			switch {
			case err == nil && held:
				end = asked.Add(e.Lease.TTL)
			case err == nil, work.Err() == nil && !time.Now().Before(end):
				e.tell(ctx, l.sku, LeaseLost)
				cancel(errLeaseLost)
			}
		}
	}()
	return work, func() { cancel(nil); <-done }
}

// renew lets a lease last for a whole TTL from now, if it is still the owner's, and reports whether it was. It takes no
// longer than to the time given, so that a Redis that hangs does not hide the end of the lease.
func (e Env) renew(ctx context.Context, l lease, end time.Time) (held bool, err error) {
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	n, err := renewScript.Run(ctx, l.redis, []string{l.key}, l.owner, e.Lease.TTL.Milliseconds()).Int64()
	return n == 1, err
}

// release gives the lease back if it is still the owner's, by a compare-and-delete script. It runs under a context that
// outlives the request's: a release that is cancelled with its request leaves the lease until it expires.
func (e Env) release(ctx context.Context, l lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := releaseScript.Run(ctx, l.redis, []string{l.key}, l.owner).Err(); err != nil {
		e.Log.WarnContext(ctx, "the lease was not released; it ends when it expires", "key", l.key, "error", err)
	}
}

// raiseFence heals a fence counter that fell behind the database, as happens when Redis loses its memory: every token
// would be refused until the counter had caught up. The sale that noticed stays refused.
func (e Env) raiseFence(ctx context.Context, sku string, refused error) {
	var fenced *fencedError
	if !errors.As(refused, &fenced) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	raised, err := raiseScript.Run(ctx, e.Redis, []string{e.fenceKey(sku)}, fenced.fence, fenceLife.Milliseconds()).Int64()
	switch {
	case raised == 1:
		e.tell(ctx, sku, FenceRaised)
	case err != nil:
		e.Log.WarnContext(ctx, "the fence counter was not raised", "sku", sku, "fence", fenced.fence, "error", err)
	}
}
