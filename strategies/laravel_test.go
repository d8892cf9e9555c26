package strategies_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/strategies"
)

// laravelPrefix is what Laravel puts before the name of a lock by default, in an application called Laravel: the prefix
// of its Redis connection and that of its cache.
const laravelPrefix = "laravel_database_laravel_cache_:"

// laravel is a service in PHP that takes and releases Cache::lock($sku, $seconds) by the commands of Laravel's RedisLock.
type laravel struct {
	redis *redis.Client
	key   string
	owner string
}

// lock is the SET of acquire(), word by word.
func (l laravel) lock(t *testing.T, seconds int) bool {
	t.Helper()
	said, err := l.redis.Do(t.Context(), "SET", l.key, l.owner, "EX", seconds, "NX").Text()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return said == "OK"
}

// release is what release() does: a script that compares the owner, sent as it is.
func (l laravel) release(t *testing.T) bool {
	t.Helper()
	n, err := l.redis.Eval(t.Context(), `
		if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
		[]string{l.key}, l.owner).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// sharedWithPHP returns a world whose leases are Laravel's locks, and a PHP service that wants the same SKU.
func sharedWithPHP(t *testing.T) (world, laravel) {
	t.Helper()
	w := newWorld(t, 10)
	w.Lease.Laravel = w.Prefix + laravelPrefix
	return w, laravel{w.Redis.(*redis.Client), w.Lease.Laravel + w.sku, "QsVxK1u0RZb4YpLn"}
}

// leased are the strategies whose lease can be Laravel's.
var leased = []string{"lock-only", "lock-fence", "fair-lock-fence"}

func TestALockThatPHPHoldsKeepsOthersOut(t *testing.T) {
	for _, name := range leased {
		t.Run(name, func(t *testing.T) {
			w, php := sharedWithPHP(t)
			if !php.lock(t, 10) {
				t.Fatal("PHP did not get a lock that is free")
			}
			impatient := w
			impatient.Lease.Wait = 10 * time.Millisecond
			if _, err := strategy(t, name, impatient).Checkout(t.Context(), w.order(0, 1)); !errors.Is(err, strategies.ErrContended) {
				t.Errorf("while PHP holds the lock: %v, want %v", err, strategies.ErrContended)
			}
			if !php.release(t) {
				t.Error("the lock was not PHP's any more")
			}
			if _, err := strategy(t, name, w).Checkout(t.Context(), w.order(1, 1)); err != nil {
				t.Errorf("after PHP has released the lock: %v", err)
			}
		})
	}
}

func TestALeaseKeepsPHPOut(t *testing.T) {
	for _, name := range leased {
		t.Run(name, func(t *testing.T) {
			w, php := sharedWithPHP(t)
			wake, result := stalledHolder(t, w, name)
			if php.lock(t, 10) {
				t.Error("PHP got the lock while an order held the lease")
			}
			if php.release(t) {
				t.Error("PHP released a lease that was not its own")
			}
			if life, err := w.Redis.PTTL(t.Context(), php.key).Result(); err != nil || life <= 0 || life > w.Lease.TTL {
				t.Errorf("the lease lasts for %v (%v), want %v at most", life, err, w.Lease.TTL)
			}
			wake()
			if err := result(); err != nil {
				t.Errorf("the holder: %v", err)
			}
			if !php.lock(t, 10) {
				t.Error("PHP did not get the lock after the sale")
			}
		})
	}
}

// The lease of a slow holder ends, PHP takes the lock, and the holder's release must leave it alone.
func TestAReleaseLeavesTheLockToPHP(t *testing.T) {
	for _, name := range leased {
		t.Run(name, func(t *testing.T) {
			w, php := sharedWithPHP(t)
			wake, result := stalledHolder(t, w, name)
			if err := w.Redis.Del(t.Context(), php.key).Err(); err != nil { // it ended
				t.Fatal(err)
			}
			if !php.lock(t, 10) {
				t.Fatal("PHP did not get a lock that is free")
			}
			wake()
			if err := result(); err != nil {
				t.Errorf("the late holder: %v", err)
			}
			if !php.release(t) {
				t.Error("the lock was not PHP's any more")
			}
		})
	}
}

// A waiter in the line cannot be told by PHP. It finds out when its own lease would have ended.
func TestAWaiterInLineTakesALockThatPHPHasReleased(t *testing.T) {
	w, php := sharedWithPHP(t)
	w.Lease.TTL = 50 * time.Millisecond
	if !php.lock(t, 10) {
		t.Fatal("PHP did not get a lock that is free")
	}
	inLine := make(chan struct{}, 100)
	w.Redis.(*redis.Client).AddHook(answered{"acquire", func() { inLine <- struct{}{} }})
	sold := make(chan error, 1)
	s := strategy(t, "fair-lock-fence", w)
	go func() {
		_, err := s.Checkout(t.Context(), w.order(0, 1))
		sold <- err
	}()
	<-inLine
	php.release(t)
	if err := <-sold; err != nil {
		t.Error(err)
	}
}
