package attack

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
)

func TestConstantScheduleIsExact(t *testing.T) {
	for _, test := range []struct {
		name     string
		rate     float64
		duration time.Duration
		want     []time.Duration
	}{
		{"a whole number of hits fits, and the one due at the end is left out", 4, time.Second,
			[]time.Duration{0, 250e6, 500e6, 750e6}},
		{"a period that is no whole number of ns is rounded, without adding up", 3, 2 * time.Second,
			[]time.Duration{0, 333333333, 666666667, 1e9, 1333333333, 1666666667}},
		{"a rate below one hit per duration sends the hit at zero", 0.1, time.Second, []time.Duration{0}},
		{"a fractional rate keeps its fraction", 2.5, time.Second, []time.Duration{0, 400e6, 800e6}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Schedule(results.Constant, test.rate, test.duration, 7)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %d, %v; want %d", got, err, test.want)
			}
		})
	}
	long, err := Schedule(results.Constant, 997, 1000*time.Second, 0)
	if err != nil || len(long) != 997_000 {
		t.Fatalf("got %d hits, %v; want 997000", len(long), err)
	}
	if got, want := long[996_999], time.Duration(math.Round(996_999e9/997)); got != want {
		t.Errorf("the last of 997000 hits is at %d, want %d", got, want)
	}
}

func TestBurstsComeAllAtOnceAndAtTheMeanRate(t *testing.T) {
	for _, test := range []struct {
		name     string
		rate     float64
		duration time.Duration
		want     []time.Duration // of the groups
	}{
		{"five groups a second are 150 hits a second", 150, time.Second, []time.Duration{0, 200e6, 400e6, 600e6, 800e6}},
		{"a distance that is no whole number of ns is rounded, without adding up", 90, 1000000001, []time.Duration{0, 333333333, 666666667, 1e9}},
		{"a group that begins before the end is whole", 150, 200*time.Millisecond + 1, []time.Duration{0, 200e6}},
		{"less time than there is between two groups holds one", 1, time.Second, []time.Duration{0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var want []time.Duration
			for _, at := range test.want {
				want = append(want, slices.Repeat([]time.Duration{at}, 30)...)
			}
			got, err := Schedule(results.Bursts, test.rate, test.duration, 7)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("got %d, %v; want groups of 30 at %d", got, err, test.want)
			}
		})
	}
}

func TestScheduleRefusesWhatCannotBe(t *testing.T) {
	for _, test := range []struct {
		name     string
		law      results.Arrivals
		rate     float64
		duration time.Duration
	}{
		{"the rate is zero", results.Constant, 0, time.Second},
		{"the rate is negative", results.Constant, -1, time.Second},
		{"the rate is not a number", results.Poisson, math.NaN(), time.Second},
		{"the rate is infinite", results.Poisson, math.Inf(1), time.Second},
		{"the rate is beyond nanoseconds", results.Poisson, MaxRate + 1, time.Nanosecond},
		{"the duration is zero", results.Constant, 1, 0},
		{"the duration is negative", results.Poisson, 1, -1},
		{"there would be too many hits", results.Poisson, 1e6, time.Minute},
		{"there would be one hit too many", results.Constant, 1, (MaxHits + 1) * time.Second},
		{"the law is unknown", "bursty", 1, time.Second},
		{"the law is missing", "", 1, time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Schedule(test.law, test.rate, test.duration, 1)
			if !errors.Is(err, ErrConfig) || got != nil {
				t.Errorf("got %d hits, error %v; want an ErrConfig", len(got), err)
			}
		})
	}
}

// The number of hits has mean and variance rate·duration. All seeds together are tested at five standard deviations,
// and being fixed they pass or fail for good.
func TestPoissonScheduleHasTheRightMean(t *testing.T) {
	const rate, seconds, seeds = 1000, 10, 100
	total := 0
	for seed := range uint64(seeds) {
		total += len(poissonSchedule(t, rate, seconds*time.Second, seed))
	}
	const mean = rate * seconds * seeds
	if off := math.Abs(float64(total - mean)); off > 5*math.Sqrt(mean) {
		t.Errorf("%d hits in all, %.0f from the mean %d", total, off, mean)
	}
}

// The gaps are compared with the exponential distribution by Kolmogorov and Smirnov's test. 1.63/√n is its critical
// value at one per cent; the seeds are fixed.
func TestPoissonScheduleHasExponentialGaps(t *testing.T) {
	for _, rate := range []float64{100, 1000, 1e5} {
		offsets := poissonSchedule(t, rate, time.Duration(20_000/rate*1e9), 42)
		gaps := make([]float64, len(offsets)-1)
		for i := range gaps {
			gaps[i] = (offsets[i+1] - offsets[i]).Seconds()
		}
		slices.Sort(gaps)
		n, distance := float64(len(gaps)), 0.0
		for i, gap := range gaps {
			want := -math.Expm1(-gap * rate)
			distance = max(distance, math.Abs(float64(i+1)/n-want), math.Abs(float64(i)/n-want))
		}
		if limit := 1.63 / math.Sqrt(n); distance > limit {
			t.Errorf("rate %v: distance %.5f of %v gaps, more than %.5f", rate, distance, n, limit)
		}
	}
}

// The lag-one correlation of independent gaps is within 4/√n of 0.
func TestPoissonScheduleHasIndependentGaps(t *testing.T) {
	offsets := poissonSchedule(t, 1000, 50*time.Second, 3)
	var products, squares float64
	previous := 0.0
	for i := 1; i < len(offsets); i++ {
		centred := (offsets[i]-offsets[i-1]).Seconds()*1000 - 1
		products += centred * previous
		squares += centred * centred
		previous = centred
	}
	if r := products / squares; math.Abs(r) > 4/math.Sqrt(float64(len(offsets))) {
		t.Errorf("correlation %.4f of neighbouring gaps", r)
	}
}

func TestSeedDecidesPoissonSchedule(t *testing.T) {
	first, second := poissonSchedule(t, 1000, time.Second, 5), poissonSchedule(t, 1000, time.Second, 5)
	if !slices.Equal(first, second) {
		t.Error("one seed gave two schedules")
	}
	if slices.Equal(first, poissonSchedule(t, 1000, time.Second, 6)) {
		t.Error("two seeds gave one schedule")
	}
}

// A recorded run can be repeated only as long as its seed gives the schedule that it gave.
func TestScheduleStaysWhatItWas(t *testing.T) {
	var text []byte
	for _, law := range []results.Arrivals{results.Poisson, results.Constant, results.Bursts} {
		offsets, err := Schedule(law, 1234.5, 30*time.Second, 2026)
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.New()
		if err := binary.Write(hash, binary.LittleEndian, offsets); err != nil {
			t.Fatal(err)
		}
		text = fmt.Appendf(text, "%s hits=%d first=%d last=%d sha256=%x\n",
			law, len(offsets), offsets[0], offsets[len(offsets)-1], hash.Sum(nil))
	}
	golden(t, "schedule.golden", text)
}

func FuzzSchedule(f *testing.F) {
	laws := []results.Arrivals{results.Constant, results.Poisson, results.Bursts}
	f.Add(uint8(1), 1000.0, int64(time.Second), uint64(1))
	f.Add(uint8(0), 3.0, int64(2*time.Second), uint64(0))
	f.Add(uint8(1), 1e-300, int64(math.MaxInt64), uint64(9))
	f.Add(uint8(0), 1e7, int64(1), uint64(0))
	f.Add(uint8(2), math.SmallestNonzeroFloat64, int64(time.Second), uint64(0))
	f.Add(uint8(2), 150.0, int64(time.Second), uint64(0))
	f.Fuzz(func(t *testing.T, which uint8, rate float64, duration int64, seed uint64) {
		law := laws[int(which)%len(laws)]
		if rate*time.Duration(duration).Seconds() > 1e5 {
			t.Skip("too many hits to try in a moment")
		}
		offsets, err := Schedule(law, rate, time.Duration(duration), seed)
		if err != nil {
			if !errors.Is(err, ErrConfig) {
				t.Fatalf("error %v is no ErrConfig", err)
			}
			return
		}
		for i, offset := range offsets {
			if offset < 0 || int64(offset) >= duration || i > 0 && offset < offsets[i-1] {
				t.Fatalf("offset %d of %d is %d, after %d", i, len(offsets), offset, offsets[max(0, i-1)])
			}
			if law == results.Bursts && i%results.BurstSize > 0 && offset != offsets[i-1] {
				t.Fatalf("offset %d is %d, apart from its group's at %d", i, offset, offsets[i-1])
			}
			if law == results.Constant && math.Abs(float64(offset)-float64(i)*1e9/rate) > 0.5 {
				t.Fatalf("offset %d is %d, not %d/%v", i, offset, i, rate)
			}
		}
		if again, _ := Schedule(law, rate, time.Duration(duration), seed); !slices.Equal(offsets, again) {
			t.Fatal("one seed gave two schedules")
		}
	})
}

func BenchmarkSchedule(b *testing.B) {
	for _, law := range []results.Arrivals{results.Poisson, results.Constant, results.Bursts} {
		b.Run("law="+string(law), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Schedule(law, 10_000, 10*time.Second, 1); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/hit")
		})
	}
}

func poissonSchedule(t *testing.T, rate float64, duration time.Duration, seed uint64) []time.Duration {
	t.Helper()
	offsets, err := Schedule(results.Poisson, rate, duration, seed)
	if err != nil {
		t.Fatal(err)
	}
	return offsets
}

// golden compares got with a file of testdata, or writes it there with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("got\n%s\nwant as in %s:\n%s", got, path, want)
	}
}
