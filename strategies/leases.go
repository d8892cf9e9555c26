package strategies

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// LeaseKind is a way to take the lease of a SKU.
type LeaseKind string

// The kinds of leases, as the strategies take them.
const (
	PlainLease  LeaseKind = "plain"  // of lock-only: by SET NX PX, without a fencing token
	FencedLease LeaseKind = "fenced" // of lock-fence: a script grants the lease and draws a token
	FairLease   LeaseKind = "fair"   // of fair-lock-fence: fenced, and handed to the longest waiter, who is woken
)

// LeaseKinds returns all kinds.
func LeaseKinds() []LeaseKind { return []LeaseKind{PlainLease, FencedLease, FairLease} }

// Leases lend the leases of SKUs to work that is no checkout: a job that only one process should do at a time, or a
// measurement of the lease alone. Its methods may be called from many goroutines.
type Leases struct {
	take  func(ctx context.Context, sku string) (lease, error)
	give  func(ctx context.Context, l lease)
	close func() error
}

// NewLeases returns leases of one kind. Of e it needs Redis, Prefix, Lease and, unless nobody shall be told of a lease that
// could not be released, Log. Strategies that run with the same Redis and Prefix use the same leases.
func NewLeases(e Env, kind LeaseKind) (*Leases, error) {
	if err := e.Lease.Validate(); err != nil {
		return nil, err
	}
	if e.Redis == nil {
		return nil, errors.New("lease: there is no Redis to keep it")
	}
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	nothing := func() error { return nil }
	switch kind {
	case PlainLease:
		return &Leases{e.acquire, e.release, nothing}, nil
	case FencedLease:
		return &Leases{e.acquireFenced, e.release, nothing}, nil
	case FairLease:
		line := newFairLine(e)
		return &Leases{line.acquire, line.release, line.Close}, nil
	}
	return nil, fmt.Errorf("lease: no kind is named %q; there are %q", kind, LeaseKinds())
}

// Hold waits for the lease of sku, does work under it, and gives it back. It returns the error of work, or one that matches
// [ErrContended] or [ErrUnavailable] when there was no lease and no work was done.
//
// A lease can end before the work does, and the next holder begin. So whatever work writes must be right without the
// lease, or carry the token, which grows with every grant, to where a smaller one than the last is refused. The token of
// a [PlainLease] is 0.
func (l *Leases) Hold(ctx context.Context, sku string, work func(ctx context.Context, token int64) error) error {
	held, err := l.take(ctx, sku)
	if err != nil {
		return err
	}
	defer l.give(ctx, held)
	return work(ctx, held.token)
}

// Close ends what goes on in the background. No lease may be held or waited for.
func (l *Leases) Close() error { return l.close() }
