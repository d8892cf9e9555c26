package attack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/hotsku/hotsku/results"
)

// MaxHits is the greatest number of hits that one schedule may hold. Its record would take 4.7 GB.
const MaxHits = 50_000_000

// MaxRate is the greatest rate of a schedule, in hits per second: beyond it, nanoseconds are too coarse for the gaps.
const MaxRate = 10_000_000

// arrivalStream keeps the draws of a schedule apart from those of its orders, which share the seed.
const arrivalStream = 0x9e3779b97f4a7c15

// Schedule returns the intended offsets of all hits from time zero, ascending and below duration. They depend on
// nothing but the arguments, and are the same on every architecture.
//
// Constant gives k/rate for k = 0, 1, 2 …, rounded to the nanosecond. Bursts gives the offset of group g, which is
// g·[results.BurstSize]/rate, to BurstSize hits at once; the last group is whole, too, so that there may be up to
// BurstSize − 1 hits more than rate·duration. Poisson gives independent exponential gaps of
// mean 1/rate, by inversion (Devroye, Non-Uniform Random Variate Generation, II.2) from PCG seeded by seed, each
// rounded to the nanosecond; its number of hits is random, with mean and variance rate·duration, and may be 0.
//
// The error is an [ErrConfig] for an unknown law, for a rate that is not above 0 and at most [MaxRate], for a duration
// that is not positive, and where rate·duration exceeds [MaxHits].
func Schedule(law results.Arrivals, rate float64, duration time.Duration, seed uint64) ([]time.Duration, error) {
	if math.IsNaN(rate) || rate <= 0 || rate > MaxRate {
		return nil, fmt.Errorf("%w: rate %v: must be above 0 and at most %d hits per second", ErrConfig, rate, MaxRate)
	}
	if duration <= 0 {
		return nil, fmt.Errorf("%w: duration %v: must be positive", ErrConfig, duration)
	}
	expected := rate * duration.Seconds()
	if expected > MaxHits {
		return nil, fmt.Errorf("%w: %v/s for %v is %.0f hits, more than the %d that one attack can record: "+
			"lower the rate or shorten the duration", ErrConfig, rate, duration, expected, MaxHits)
	}
	switch law {
	case results.Constant:
		return groups(rate, 1, duration, int(expected)), nil
	case results.Poisson:
		return poisson(rate, duration, int(expected), seed), nil
	case results.Bursts:
		return groups(rate, results.BurstSize, duration, int(expected)), nil
	}
	return nil, fmt.Errorf("%w: arrivals %q: must be %q, %q or %q", ErrConfig, law, results.Poisson, results.Constant, results.Bursts)
}

// groups returns the offsets of groups of size hits each, the groups at a constant distance.
func groups(rate float64, size int, duration time.Duration, expected int) []time.Duration {
	offsets := make([]time.Duration, 0, expected+size)
	for k := 0; ; k += size {
		// k·1e9 is exact up to 2^53, so that the quotient is rounded once and no error adds up.
		at := math.Round(float64(k) * 1e9 / rate)
		if at >= float64(duration) {
			return offsets
		}
		for range size {
			offsets = append(offsets, time.Duration(at))
		}
	}
}

func poisson(rate float64, duration time.Duration, expected int, seed uint64) []time.Duration {
	// Five standard deviations of room make a second allocation a rarity.
	offsets := make([]time.Duration, 0, expected+5*int(math.Sqrt(float64(expected)))+5)
	source := rand.NewPCG(seed, arrivalStream)
	var at time.Duration
	for {
		uniform := float64(source.Uint64()>>11) / (1 << 53) // in [0, 1)
		// Gaps are rounded one by one: a sum of floats would carry an architecture's last bits into every later hit.
		gap := math.Round(-math.Log1p(-uniform) * 1e9 / rate)
		if gap >= float64(duration-at) {
			return offsets
		}
		at += time.Duration(gap)
		offsets = append(offsets, at)
	}
}
