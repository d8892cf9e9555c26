package peers

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// section is the length of a critical section. It is slept, not computed: what a lease guards is a wait for the database,
// and waiters that computed would measure how two cores are shared out.
const section = time.Millisecond

// A tally is what became of a crowd.
type tally struct {
	elapsed  time.Duration
	grants   []int           // by waiter
	waits    []time.Duration // sorted; a wait that the end cut short counts as long as it was
	held     time.Duration   // all critical sections together
	overlaps int64           // sections that began while another had not ended
	errors   []error         // of waits that nothing had cut short
}

// crowd lets so many waiters want one lease until ctx ends. Each holds it for a section, gives it back and wants it again at once.
func crowd(ctx context.Context, hold holder, key string, waiters int) tally {
	var inside, overlaps atomic.Int64
	all := make([]tally, waiters)
	began := time.Now()
	var done sync.WaitGroup
	for i := range all {
		done.Go(func() {
			mine := &all[i]
			for !over(ctx) {
				asked, granted := time.Now(), time.Time{}
				err := hold(ctx, key, func() {
					granted = time.Now()
					if inside.Add(1) > 1 {
						overlaps.Add(1)
					}
					time.Sleep(section)
					inside.Add(-1)
					mine.held += time.Since(granted)
				})
				mine.add(asked, granted, err, over(ctx))
			}
		})
	}
	done.Wait()
	sum := tally{elapsed: time.Since(began), overlaps: overlaps.Load()}
	for _, one := range all {
		sum.grants = append(sum.grants, len(one.grants))
		sum.waits = append(sum.waits, one.waits...)
		sum.held += one.held
		sum.errors = append(sum.errors, one.errors...)
	}
	slices.Sort(sum.waits)
	return sum
}

// over reports whether ctx has ended. Its deadline ends commands to Redis, by their connections, a moment before it ends ctx.
func over(ctx context.Context) bool {
	deadline, bounded := ctx.Deadline()
	return ctx.Err() != nil || bounded && !time.Now().Before(deadline)
}

// add counts one wait, at whose end the lease was granted or not.
func (t *tally) add(asked, granted time.Time, err error, cut bool) {
	switch {
	case !granted.IsZero():
		t.grants = append(t.grants, 1)
		t.waits = append(t.waits, granted.Sub(asked))
	case cut:
		t.waits = append(t.waits, time.Since(asked))
	}
	if err != nil && (!cut || !granted.IsZero()) {
		t.errors = append(t.errors, err)
	}
}

func (t tally) total() int {
	n := 0
	for _, x := range t.grants {
		n += x
	}
	return n
}

// jain is the fairness index of Jain, Chiu and Hawe ("A quantitative measure of fairness and discrimination for resource
// allocation in shared computer systems", DEC-TR-301, 1984): (Σx)² / (n·Σx²). It is 1 where all of n got as much, 1/n where
// one got all, and k/n where k got as much and the others nothing.
func jain(shares []int) float64 {
	var sum, squares float64
	for _, x := range shares {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// percentile returns the p-th percentile of sorted times by nearest rank, 0 if there are none.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(p*len(sorted)+99)/100-1]
}
