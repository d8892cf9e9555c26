package steps

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/target/stack/stacktest"
)

// Whatever a prefix is made of, the keys below it go, and no other.
func TestRedisLosesTheKeysBelowThePrefixAndNoOther(t *testing.T) {
	s := stacktest.Start(t)
	o, err := redis.ParseURL(s.Redis().URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	for n, prefix := range []string{"run:", "run*:", "r?n:", "r[a-z]n:", `r\n:`, "r^-n:", "лот:"} {
		home := fmt.Sprintf("%s%d:", s.KeyPrefix(), n)
		mine := []string{home + prefix, home + prefix + "lease:{a}", home + prefix + "fence:{a}"}
		for k := range 2500 { // several rounds of SCAN
			mine = append(mine, fmt.Sprint(home, prefix, "key-", k))
		}
		theirs := []string{home + "other", home + "run", home + "ran:lease", home + "running", home + "rxxx:", "x" + home + prefix + "a"}
		theirs = slices.DeleteFunc(theirs, func(key string) bool { return slices.Contains(mine, key) })
		for _, key := range append(slices.Clone(mine), theirs...) {
			if err := client.Set(t.Context(), key, "1", time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
		}
		stall := &Stall{Kind: LoseMemory, Steps: []string{"commit"}, Length: time.Nanosecond, Probability: 1,
			Memory: Memory{client, home + prefix}}
		for k, want := range []int64{int64(len(mine)), int64(len(mine))} { // the second strike finds nothing more
			stall.Before(&Step{Order: &Order{Key: fmt.Sprint("k/", k), SKU: "hot"}, Name: "commit"})
			if got := stall.Tally("hot"); got.Lost != want || got.Strikes != int64(k+1) {
				t.Errorf("%s: after strike %d %+v, want %d keys lost", prefix, k+1, got, want)
			}
		}
		if left, err := client.Exists(t.Context(), theirs...).Result(); err != nil || left != int64(len(theirs)) {
			t.Errorf("%s: %d keys of others are left (%v), want %d", prefix, left, err, len(theirs))
		}
		if left, err := client.Exists(t.Context(), mine...).Result(); err != nil || left != 0 {
			t.Errorf("%s: %d keys are left (%v), want none", prefix, left, err)
		}
	}
}
