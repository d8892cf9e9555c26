package strategies_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotsku/hotsku/strategies"
)

func leasesOf(t *testing.T, e strategies.Env, kind strategies.LeaseKind) *strategies.Leases {
	t.Helper()
	l, err := strategies.NewLeases(e, kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestALeaseIsHeldForWorkOfAnyKind(t *testing.T) {
	for kind, want := range map[strategies.LeaseKind][]int64{
		strategies.PlainLease: {0, 0, 0}, strategies.FencedLease: {1, 2, 3}, strategies.FairLease: {1, 2, 3},
	} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(t, 0)
			l := leasesOf(t, w.Env, kind)
			var tokens []int64
			failed := errors.New("the work failed")
			for range want {
				err := l.Hold(t.Context(), w.sku, func(ctx context.Context, token int64) error {
					tokens = append(tokens, token)
					if n, err := w.Redis.Exists(ctx, w.Prefix+"lease:{"+w.sku+"}").Result(); n != 1 || err != nil {
						t.Errorf("%d leases during the work, error %v", n, err)
					}
					return failed
				})
				if !errors.Is(err, failed) {
					t.Errorf("%v, want the error of the work", err)
				}
			}
			if !slices.Equal(tokens, want) {
				t.Errorf("tokens %d, want %d", tokens, want)
			}
			if n, err := w.Redis.Exists(t.Context(), w.Prefix+"lease:{"+w.sku+"}").Result(); n != 0 || err != nil {
				t.Errorf("%d leases are left, error %v", n, err)
			}
		})
	}
}

func TestNoWorkIsDoneWithoutALease(t *testing.T) {
	for _, kind := range strategies.LeaseKinds() {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(t, 0)
			if err := w.Redis.Set(t.Context(), w.Prefix+"lease:{"+w.sku+"}", "another", time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
			w.Lease.Wait = 20 * time.Millisecond
			err := leasesOf(t, w.Env, kind).Hold(t.Context(), w.sku, func(context.Context, int64) error {
				t.Error("the work was done")
				return nil
			})
			if !errors.Is(err, strategies.ErrContended) {
				t.Errorf("%v, want %v", err, strategies.ErrContended)
			}
		})
	}
}

func TestLeasesThatCannotBeAreRefused(t *testing.T) {
	w := newWorld(t, 0)
	whole := strategies.Env{Redis: w.Redis, Prefix: w.Prefix, Lease: w.Lease}
	for name, row := range map[string]struct {
		spoil func(*strategies.Env)
		kind  strategies.LeaseKind
		want  string
	}{
		"an unknown kind": {func(*strategies.Env) {}, "forever", `"plain" "fenced" "fair"`},
		"no Redis":        {func(e *strategies.Env) { e.Redis = nil }, strategies.PlainLease, "no Redis"},
		"no TTL":          {func(e *strategies.Env) { e.Lease.TTL = 0 }, strategies.PlainLease, "TTL"},
	} {
		e := whole
		row.spoil(&e)
		if _, err := strategies.NewLeases(e, row.kind); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want an error that tells of %s", name, err, row.want)
		}
	}
}
