package strategies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// lineTest is a line under test: who stands in it, and what Redis answered.
type lineTest struct {
	fairLine
	counted *counter
	answers chan int64 // to each acquire, in turn
	served  chan lineServed
}

// lineServed is how the wait of the n-th waiter ended.
type lineServed struct {
	n     int
	lease lease
	err   error
}

// newLineTest returns a line for the SKU "hot" with keys of its own. When the test has ended, nobody may be waiting, and no
// key may be left that does not expire.
func newLineTest(t *testing.T, set LeaseSettings) *lineTest {
	t.Helper()
	env, counted := leaseEnv(t)
	env.Lease = set
	q := &lineTest{counted: counted, answers: make(chan int64, 1000), served: make(chan lineServed, 100)}
	env.Redis.(*redis.Client).AddHook(afterCommand(func(cmd redis.Cmder, err error) {
		if answer, ok := cmd.(*redis.Cmd); ok && stepOf(cmd) == "acquire" && err == nil {
			q.answers <- answer.Val().(int64)
		}
	}))
	q.fairLine = q.process(t, env)
	// A command more for each script that Redis does not know yet would spoil the counts.
	for _, s := range []*redis.Script{fairLineAcquireScript, fairLineReleaseScript} {
		if err := s.Load(t.Context(), env.Redis).Err(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { wantExpiry(t, env) })
	return q
}

// process returns a line as one more process would have it.
func (q *lineTest) process(t *testing.T, env Env) fairLine {
	t.Helper()
	l := newFairLine(env)
	if err := l.mail.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if n := len(l.mail.waiting); n != 0 {
			t.Errorf("%d messages are still expected", n)
		}
	})
	return l
}

// afterCommand is a hook that is called with each command that was answered.
type afterCommand func(cmd redis.Cmder, err error)

func (afterCommand) DialHook(next redis.DialHook) redis.DialHook { return next }
func (afterCommand) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (a afterCommand) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		a(cmd, err)
		return err
	}
}

// wantExpiry checks that every key expires within a day.
func wantExpiry(t *testing.T, env Env) {
	t.Helper()
	for _, key := range keysOf(t, env) {
		life, err := env.Redis.PTTL(context.Background(), env.Prefix+key).Result()
		if err != nil || life <= 0 || life > 24*time.Hour {
			t.Errorf("the key %s lives for %v (%v)", key, life, err)
		}
	}
}

// keysOf returns the keys that there are, without their prefix.
func keysOf(t *testing.T, env Env) []string {
	t.Helper()
	found, err := env.Redis.Keys(context.Background(), env.Prefix+"*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = strings.TrimPrefix(found[i], env.Prefix)
	}
	slices.Sort(found)
	return found
}

// answer returns what Redis answered to the next acquire.
func (q *lineTest) answer(t *testing.T) int64 {
	t.Helper()
	select {
	case answer := <-q.answers:
		return answer
	case <-time.After(tooLong):
		t.Fatal("nobody asks for the lease")
		return 0
	}
}

// hold takes the lease, which must be free.
func (q *lineTest) hold(t *testing.T) lease {
	t.Helper()
	l, err := q.acquire(t.Context(), "hot")
	if err != nil {
		t.Fatal(err)
	}
	if answer := q.answer(t); answer != l.token {
		t.Fatalf("Redis answered %d, the token is %d", answer, l.token)
	}
	return l
}

// arrive lets the n-th waiter come to l and returns when it stands in line.
func (q *lineTest) arrive(ctx context.Context, t *testing.T, l fairLine, n int) {
	t.Helper()
	go func() {
		mine, err := l.acquire(ctx, "hot")
		q.served <- lineServed{n, mine, err}
	}()
	if answer := q.answer(t); answer >= 0 {
		t.Fatalf("waiter %d did not have to wait: %d", n, answer)
	}
}

// next returns the lease of the waiter that is served next, which must be the n-th, with the given token.
func (q *lineTest) next(t *testing.T, n int, token int64) lease {
	t.Helper()
	s := <-q.served
	if s.err != nil || s.n != n || s.lease.token != token {
		t.Fatalf("served was %d with the token %d (%v), want %d with %d", s.n, s.lease.token, s.err, n, token)
	}
	return s.lease
}

// stand puts an owner in line that will never take up what it is granted.
func stand(t *testing.T, l fairLine, owner string) {
	t.Helper()
	answer, err := l.run(t.Context(), fairLineAcquireScript, lease{key: l.leaseKey("hot"), owner: owner, sku: "hot"})
	if err != nil || answer >= 0 {
		t.Fatalf("%s does not stand in line: %d, %v", owner, answer, err)
	}
}

// wantKeys checks which keys there are.
func wantKeys(t *testing.T, env Env, want ...string) {
	t.Helper()
	if found := keysOf(t, env); !slices.Equal(found, want) {
		t.Errorf("the keys in Redis are %q, want %q", found, want)
	}
}

// tooLong is far above what anything here takes: who waits for so long waits in vain.
const tooLong = 30 * time.Second

// The lease is long enough that no timer fires: whoever is served was told.
var longLease = LeaseSettings{TTL: time.Hour, Wait: tooLong, Retry: time.Second}

// The lease is short: whoever was not told asks again soon.
var shortLease = LeaseSettings{TTL: 50 * time.Millisecond, Wait: tooLong, Retry: time.Second}

func TestTheLineServesInTheOrderOfArrival(t *testing.T) {
	q := newLineTest(t, longLease)
	processes := []fairLine{q.fairLine, q.process(t, q.Env), q.process(t, q.Env)}
	held := q.hold(t)
	const waiters = 20
	for n := range waiters {
		q.arrive(t.Context(), t, processes[n%3], n)
	}
	wantKeys(t, q.Env, "fence:{hot}", "lease:{hot}", "line:{hot}")
	wantExpiry(t, q.Env)
	for n := range waiters {
		processes[n%3].release(t.Context(), held) // at whichever process
		held = q.next(t, n, int64(n)+2)
	}
	q.release(t.Context(), held)
	wantKeys(t, q.Env, "fence:{hot}")
}

// A clock that was set back after the first had come must not let the second overtake it.
func TestTheOrderOfArrivalDoesNotHangOnTheClock(t *testing.T) {
	q := newLineTest(t, longLease)
	held := q.hold(t)
	for n := range 3 {
		q.arrive(t.Context(), t, q.fairLine, n)
		places, err := q.Redis.ZRevRange(t.Context(), q.fairLineKey("hot"), 0, 0).Result()
		if err != nil || len(places) != 1 {
			t.Fatalf("in line are %q, %v", places, err)
		}
		if n == 0 {
			q.Redis.ZIncrBy(t.Context(), q.fairLineKey("hot"), float64(time.Minute/time.Microsecond), places[0])
		}
	}
	for n := range 3 {
		q.release(t.Context(), held)
		held = q.next(t, n, int64(n)+2)
	}
	q.release(t.Context(), held)
}

// One command takes a lease or a place, one gives it back; the handover takes none.
func TestWaitingTakesNoCommands(t *testing.T) {
	for _, waiters := range []int{0, 1, 8, 64} {
		t.Run(fmt.Sprintf("%d waiters", waiters), func(t *testing.T) {
			q := newLineTest(t, longLease)
			before := q.counted.all()
			held := q.hold(t)
			for n := range waiters {
				q.arrive(t.Context(), t, q.fairLine, n)
			}
			for n := range waiters {
				q.release(t.Context(), held)
				held = q.next(t, n, int64(n)+2)
			}
			q.release(t.Context(), held)
			sales := int64(waiters + 1)
			if a, r, all := q.counted.of("acquire"), q.counted.of("release"), q.counted.all()-before; a != sales || r != sales || all != 2*sales {
				t.Errorf("%d sales took %d commands: %d acquire and %d release", sales, all, a, r)
			}
		})
	}
}

func TestAGrantThatCameByMessageIsAnEvent(t *testing.T) {
	q := newLineTest(t, longLease)
	var events []Event // no two at once: the lease has one holder
	q.Tell = func(_ context.Context, e Event) { events = append(events, e) }
	held := q.hold(t)
	q.arrive(t.Context(), t, q.fairLine, 0)
	q.release(t.Context(), held)
	q.release(t.Context(), q.next(t, 0, 2))
	if want := []Event{{Kind: Granted, SKU: "hot", Token: 2}}; !slices.Equal(events, want) {
		t.Errorf("the events are %+v, want %+v", events, want)
	}
}

// The lease of a holder that died ends while somebody waits. A newcomer that happens to ask first must stand in line.
func TestANewcomerDoesNotOvertake(t *testing.T) {
	q := newLineTest(t, longLease)
	held := q.hold(t)
	q.arrive(t.Context(), t, q.fairLine, 0)
	q.Redis.Del(t.Context(), held.key) // it ended
	q.arrive(t.Context(), t, q.fairLine, 1)
	first := q.next(t, 0, 2)
	q.release(t.Context(), held) // the late holder
	q.release(t.Context(), first)
	q.release(t.Context(), q.next(t, 1, 3))
	wantKeys(t, q.Env, "fence:{hot}")
}

func TestAWaiterWhoseProcessIsGoneIsPassedOver(t *testing.T) {
	q := newLineTest(t, longLease)
	held := q.hold(t)
	for _, owner := range []string{"a", "b"} {
		gone := newFairLine(q.Env)
		if err := gone.mail.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		stand(t, gone, owner)
		q.answer(t)
		if err := gone.Close(); err != nil {
			t.Fatal(err)
		}
		for heard := int64(1); heard > 0; { // until Redis has noticed
			numbers, err := q.Redis.PubSubNumSub(t.Context(), gone.mail.channel).Result()
			if err != nil {
				t.Fatal(err)
			}
			heard = numbers[gone.mail.channel]
		}
	}
	q.arrive(t.Context(), t, q.fairLine, 0)
	q.release(t.Context(), held)
	last := q.next(t, 0, 4) // a token was drawn for each of the two
	stand(t, newFairLine(q.Env), "c")
	q.answer(t)
	q.release(t.Context(), last)
	wantKeys(t, q.Env, "fence:{hot}") // nobody was there: the lease is free
}

// A process that hangs hears the message and does nothing. Of all its waiters one is granted a lease; by the end of it
// the others must have given up, and are passed over.
func TestAWaiterThatMustHaveGivenUpIsPassedOver(t *testing.T) {
	q := newLineTest(t, longLease)
	held := q.hold(t)
	impatient := q.Env
	impatient.Lease.Wait = 0
	hanging := q.process(t, impatient)
	stand(t, hanging, "a")
	q.answer(t)
	q.arrive(t.Context(), t, q.fairLine, 0)
	q.release(t.Context(), held)
	q.release(t.Context(), q.next(t, 0, 2))
}

func TestAGrantThatIsNotTakenUpLastsOneLease(t *testing.T) {
	q := newLineTest(t, shortLease)
	held := q.hold(t)
	hanging := q.process(t, q.Env)
	stand(t, hanging, "hanging")
	q.answer(t)
	q.arrive(t.Context(), t, q.fairLine, 0)
	q.release(t.Context(), held)
	q.release(t.Context(), q.next(t, 0, 3))
	for len(q.answers) > 0 {
		if answer := <-q.answers; -answer > shortLease.TTL.Milliseconds() {
			t.Errorf("the waiter was told to wait for %d ms, want one lease at most", -answer)
		}
	}
}

func TestAMessageThatWasLostCostsOneLease(t *testing.T) {
	q := newLineTest(t, shortLease)
	held := q.hold(t)
	q.arrive(t.Context(), t, q.fairLine, 0)
	q.forgetAll()
	q.release(t.Context(), held)
	q.release(t.Context(), q.next(t, 0, 3)) // 2 went with the message
	wantKeys(t, q.Env, "fence:{hot}")
}

// The lease that it was granted without knowing is not over yet when the waiter asks again.
func TestWhoAsksForALeaseThatItHasGetsANewToken(t *testing.T) {
	q := newLineTest(t, longLease)
	held := q.hold(t)
	q.arrive(t.Context(), t, q.fairLine, 0)
	q.forgetAll()
	q.release(t.Context(), held)
	q.mail.connected()
	q.release(t.Context(), q.next(t, 0, 3)) // 2 went with the message
	wantKeys(t, q.Env, "fence:{hot}")
}

// forgetAll makes the mailbox drop the messages for all who wait now.
func (q *lineTest) forgetAll() {
	q.mail.mu.Lock()
	defer q.mail.mu.Unlock()
	clear(q.mail.waiting)
}

// What was published while a process had no connection is lost, and so may be its places in line.
func TestAWaiterAsksAgainWhenItsProcessIsConnectedAgain(t *testing.T) {
	q := newLineTest(t, longLease)
	held := q.hold(t)
	q.arrive(t.Context(), t, q.fairLine, 0)
	q.Redis.Del(t.Context(), q.fairLineKey("hot")) // it was passed over
	if n, err := q.Redis.ClientKillByFilter(t.Context(), "ID", subscriber(t, q)).Result(); n != 1 || err != nil {
		t.Fatalf("%d connections are cut, %v", n, err)
	}
	if answer := q.answer(t); answer >= 0 {
		t.Fatalf("the waiter was not put in line again: %d", answer)
	}
	q.release(t.Context(), held)
	q.release(t.Context(), q.next(t, 0, 2))
}

// subscriber returns the id of the connection on which the line's messages come.
func subscriber(t *testing.T, q *lineTest) string {
	t.Helper()
	list, err := q.Redis.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
	if err != nil {
		t.Fatal(err)
	}
	for connection := range strings.Lines(list) {
		if strings.Contains(connection, " name="+q.Redis.(*redis.Client).Options().ClientName+" ") {
			id, _, _ := strings.Cut(strings.TrimPrefix(connection, "id="), " ")
			return id
		}
	}
	t.Fatalf("the test's client has not subscribed:\n%s", list)
	return ""
}

func TestLostMemoryInMidQueueIsSurvived(t *testing.T) {
	q := newLineTest(t, shortLease)
	held := q.hold(t)
	const waiters = 5
	for n := range waiters {
		q.arrive(t.Context(), t, q.fairLine, n)
	}
	q.Redis.Del(t.Context(), held.key, q.fenceKey("hot"), q.fairLineKey("hot"))
	q.release(t.Context(), held)
	seen := map[int]bool{}
	for range waiters {
		s := <-q.served
		if s.err != nil || seen[s.n] {
			t.Errorf("waiter %d: %v", s.n, s.err)
		}
		seen[s.n] = true
		q.release(t.Context(), s.lease)
	}
	wantKeys(t, q.Env, "fence:{hot}")
}

// Whoever holds the lease without knowing of the line, such as a service in PHP, hands nothing on.
func TestALeaseThatAStrangerDeletedIsTakenAfterOneLease(t *testing.T) {
	q := newLineTest(t, shortLease)
	q.Redis.Set(t.Context(), q.leaseKey("hot"), "stranger", time.Hour)
	go func() {
		mine, err := q.acquire(t.Context(), "hot")
		q.served <- lineServed{0, mine, err}
	}()
	if answer := q.answer(t); answer != -shortLease.TTL.Milliseconds() {
		t.Errorf("the waiter was told to wait for %d ms, want the %v that our own lease takes", -answer, shortLease.TTL)
	}
	q.Redis.Del(t.Context(), q.leaseKey("hot"))
	q.release(t.Context(), q.next(t, 0, 1))
}

func TestAWaiterThatGivesUpLeavesNoTrace(t *testing.T) {
	enough := errors.New("enough")
	for name, row := range map[string]struct {
		wait  time.Duration
		cause error
	}{
		"because the wait limit is over":   {time.Millisecond, nil},
		"because it may not wait at all":   {0, nil},
		"because its request is cancelled": {tooLong, enough},
	} {
		t.Run(name, func(t *testing.T) {
			q := newLineTest(t, longLease)
			held := q.hold(t)
			impatient := q.Env
			impatient.Lease.Wait = row.wait
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			q.arrive(ctx, t, q.process(t, impatient), 0)
			if row.cause != nil {
				cancel(row.cause)
			}
			if s := <-q.served; !errors.Is(s.err, ErrContended) || row.cause != nil && !errors.Is(s.err, row.cause) {
				t.Errorf("%v, want %v because of %v", s.err, ErrContended, row.cause)
			}
			wantKeys(t, q.Env, "fence:{hot}", "lease:{hot}")
			q.release(t.Context(), held)
			wantKeys(t, q.Env, "fence:{hot}")
		})
	}
}

func TestAWaiterThatWasGrantedTheLeaseAndGivesUpHandsItOn(t *testing.T) {
	q := newLineTest(t, longLease)
	held := q.hold(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q.arrive(ctx, t, q.fairLine, 0)
	q.forgetAll() // so that it does not know
	q.arrive(t.Context(), t, q.fairLine, 1)
	q.release(t.Context(), held)
	cancel()
	for range 2 {
		switch s := <-q.served; {
		case s.n == 0 && !errors.Is(s.err, ErrContended):
			t.Errorf("the one that gave up: %v, want %v", s.err, ErrContended)
		case s.n == 1 && (s.err != nil || s.lease.token != 3):
			t.Errorf("the one behind it: the token %d, %v, want the token 3", s.lease.token, s.err)
		case s.n == 1:
			q.release(t.Context(), s.lease)
		}
	}
	wantKeys(t, q.Env, "fence:{hot}")
}

func TestALeaseThatComesWithTheEndOfTheRequestIsGivenBack(t *testing.T) {
	q := newLineTest(t, longLease)
	ctx, cancel := context.WithCancel(t.Context())
	q.Redis.(*redis.Client).AddHook(afterCommand(func(cmd redis.Cmder, _ error) {
		if stepOf(cmd) == "acquire" {
			cancel()
		}
	}))
	if _, err := q.acquire(ctx, "hot"); !errors.Is(err, ErrContended) {
		t.Errorf("%v, want %v", err, ErrContended)
	}
	wantKeys(t, q.Env, "fence:{hot}")
}

func TestALineWithoutRedisIsUnavailable(t *testing.T) {
	q := newLineTest(t, longLease)
	gone := redis.NewClient(&redis.Options{})
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	q.fairLine.Redis = gone // after the mailbox was opened
	if _, err := q.acquire(t.Context(), "hot"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v, want %v", err, ErrUnavailable)
	}
}
