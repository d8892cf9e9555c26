package strategies

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// A fairLine is where orders wait for the lease of a SKU, to be served in the order of their arrival. Whoever gives the
// lease back hands it to the longest waiter in the same script, and a message tells that one: nobody polls, and no
// newcomer takes a lease that somebody waits for.
//
// Messages can be lost, and holders die. So a waiter knows when the lease that it waits for will have ended, and asks
// again then. A place in line is worth nothing once its owner must have given up, or when nobody hears the owner's
// channel; so the dead hold up the others for one lease where they were granted one, and else not at all.
type fairLine struct {
	Env
	mail *mailbox
}

func newFairLine(e Env) fairLine { return fairLine{e, e.newMailbox()} }

//go:embed fair_line.lua
var fairLineSource string

//go:embed fair_line_acquire.lua
var fairLineAcquireSource string

//go:embed fair_line_release.lua
var fairLineReleaseSource string

var (
	fairLineAcquireScript = script("acquire", fairLineSource+fairLineAcquireSource)
	fairLineReleaseScript = script("release", fairLineSource+fairLineReleaseSource)
)

// fairLineKey is the key of the places in line. What the scripts do with it is in fair_line.lua.
func (e Env) fairLineKey(sku string) string { return e.Prefix + "line:{" + sku + "}" }

// acquire takes the SKU's lease and a fencing token, waiting in line for them up to the wait limit.
func (l fairLine) acquire(ctx context.Context, sku string) (lease, error) {
	if err := l.mail.open(ctx); err != nil {
		return lease{}, fmt.Errorf("acquire the lease of %s: %w", sku, err)
	}
	mine := lease{redis: l.Redis, key: l.leaseKey(sku), owner: rand.Text(), sku: sku}
	told, forget := l.mail.expect(mine.owner)
	defer forget()
	var err error
	if mine.token, err = l.wait(ctx, mine, told); err == nil {
		return mine, nil
	}
	if !errors.Is(err, ErrUnavailable) {
		l.release(ctx, mine) // the place, or the lease if it was granted just now
	}
	return lease{}, fmt.Errorf("waiting for the lease of %s: %w", sku, err)
}

// wait asks for the lease, and again whenever it may have missed something, until it has the token.
func (l fairLine) wait(ctx context.Context, mine lease, told <-chan string) (token int64, err error) {
	limit := time.After(l.Lease.Wait)
	for {
		missed := l.mail.missed()
		answer, err := l.run(ctx, fairLineAcquireScript, mine)
		switch {
		case ctx.Err() != nil:
			return 0, fmt.Errorf("%w: %w", ErrContended, context.Cause(ctx))
		case err != nil:
			return 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
		case answer > 0:
			return answer, nil
		}
		select {
		case text := <-told:
			return l.take(ctx, mine, text)
		case <-time.After(time.Duration(-answer) * time.Millisecond): // the lease is over, and nobody handed it on
		case <-missed:
		case <-limit:
			return 0, fmt.Errorf("%w: the wait limit is over", ErrContended)
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: %w", ErrContended, context.Cause(ctx))
		}
	}
}

// take reads the token from the message by which the lease was handed over.
func (l fairLine) take(ctx context.Context, mine lease, message string) (token int64, err error) {
	if token, err = strconv.ParseInt(message, 10, 64); err != nil {
		return 0, fmt.Errorf("%w: a message that is no token: %w", ErrUnavailable, err)
	}
	if l.Tell != nil {
		l.Tell(ctx, Event{Kind: Granted, SKU: mine.sku, Token: token})
	}
	return token, nil
}

// release hands the lease to the longest waiter, or gives up the place in line of an order that was not granted it. As
// [Env.release] does, it outlives the request.
func (l fairLine) release(ctx context.Context, mine lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if _, err := l.run(ctx, fairLineReleaseScript, mine); err != nil {
		l.Log.WarnContext(ctx, "the lease was not handed on; it ends when it expires", "key", mine.key, "error", err)
	}
}

// run runs a script of the line for the owner of a lease, or for the one who wants to be.
func (l fairLine) run(ctx context.Context, s *redis.Script, mine lease) (int64, error) {
	place := fmt.Sprintf("%s %d %s", mine.owner, l.Lease.Wait.Milliseconds(), l.mail.channel)
	return s.Run(ctx, l.Redis, []string{mine.key, l.fenceKey(mine.sku), l.fairLineKey(mine.sku)},
		mine.owner, place, l.Lease.TTL.Milliseconds(), fenceLife.Milliseconds()).Int64()
}

// Close ends the subscription by which waiters are told.
func (l fairLine) Close() error { return l.mail.Close() }
