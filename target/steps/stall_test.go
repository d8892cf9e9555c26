package steps

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestAStallStrikesTheSameOrdersWhateverTheTrial(t *testing.T) {
	a, b, other := &Stall{Seed: 7, Probability: 0.1}, &Stall{Seed: 7, Probability: 0.1}, &Stall{Seed: 8, Probability: 0.1}
	hits, differs := 0, 0
	for n := range 10_000 {
		key := fmt.Sprint("trial-1/", n)
		if a.Chooses(key) != b.Chooses(fmt.Sprint("trial-2/", n)) {
			t.Fatalf("order %d is struck in one trial and not in another with the same seed", n)
		}
		if a.Chooses(key) {
			hits++
		}
		if a.Chooses(key) != other.Chooses(key) {
			differs++
		}
	}
	if hits != 1015 { // exact, for it is drawn from the seed
		t.Errorf("%d of 10000 orders are struck at a probability of 0.1", hits)
	}
	if differs == 0 {
		t.Error("another seed strikes the same orders")
	}
}

func TestTheLengthsOfAStallAreEvenAndTheSameWhateverTheTrial(t *testing.T) {
	s := &Stall{Seed: 7, Least: 60 * time.Millisecond, Length: 160 * time.Millisecond, Probability: 0.9}
	var lengths []time.Duration
	for n := range 10_000 {
		if !s.Chooses(fmt.Sprint("trial-1/", n)) {
			continue
		}
		length := s.lengthFor(fmt.Sprint("trial-1/", n))
		if again := s.lengthFor(fmt.Sprint("trial-2/", n)); again != length {
			t.Fatalf("order %d stalls for %v in one trial and for %v in another with the same seed", n, length, again)
		}
		lengths = append(lengths, length)
	}
	slices.Sort(lengths)
	n := len(lengths)
	// Of n lengths the standard error of a decile is at most 0.5 ms; the seed is fixed.
	for decile := range 11 {
		at := lengths[min(n-1, decile*n/10)]
		want := 60*time.Millisecond + time.Duration(decile)*10*time.Millisecond
		if off := (at - want).Abs(); off > 2*time.Millisecond || at < s.Least || at > s.Length {
			t.Errorf("%d of %d lengths are below %v, want them below %v or so", decile*n/10, n, at, want)
		}
	}
	s.Least = 0
	if got := s.lengthFor("k/1"); got != s.Length {
		t.Errorf("without a least length an order stalls for %v, not %v", got, s.Length)
	}
}

func TestAStallStrikesAnOrderOnceAndOnlyWhereItIsAskedTo(t *testing.T) {
	s := &Stall{SKU: "hot", Steps: []string{"update inventory", "delete units"}, Length: time.Nanosecond, Probability: 1}
	for _, row := range []struct {
		name, key, sku, step string
		hot, cold            int64 // strikes so far
	}{
		{"another step", "a", "hot", "begin", 0, 0},
		{"another SKU", "a", "cold", "update inventory", 0, 0},
		{"the step", "a", "hot", "update inventory", 1, 0},
		{"the step again, of an order that tries again", "a", "hot", "update inventory", 1, 0},
		{"the other step, of an order that was struck", "a", "hot", "delete units", 1, 0},
		{"the other step of another order", "b", "hot", "delete units", 2, 0},
	} {
		// Each step has an Order of its own, as when one goroutine works for another's order.
		_, order := Begin(t.Context(), row.key, row.sku)
		step := &Step{Order: order, Name: row.step}
		before := s.Tally("hot").Strikes
		s.Before(step)
		if hot, cold := s.Tally("hot").Strikes, s.Tally("cold").Strikes; hot != row.hot || cold != row.cold {
			t.Errorf("%s: %d strikes, and %d of the other SKU; want %d and %d", row.name, hot, cold, row.hot, row.cold)
		}
		if s.Tally("hot").Strikes > before != (step.Stall > 0) {
			t.Errorf("%s: the step says that it was held back for %v", row.name, step.Stall)
		}
	}
	if got := (*Stall)(nil).Tally("hot"); got != (Tally{}) {
		t.Errorf("no stall has struck: %+v", got)
	}
}

func TestManyGoroutinesThatWorkForOneOrderAreStruckOnce(t *testing.T) {
	s := &Stall{Steps: []string{"commit"}, Length: time.Nanosecond, Probability: 1}
	var done sync.WaitGroup
	for n := range 64 {
		done.Go(func() {
			_, order := Begin(t.Context(), fmt.Sprint("k/", n/2%4), fmt.Sprint("sku-", n%2))
			s.Before(&Step{Order: order, Name: "commit"})
		})
	}
	done.Wait()
	if even, odd := s.Tally("sku-0").Strikes, s.Tally("sku-1").Strikes; even != 4 || odd != 4 {
		t.Errorf("%d and %d strikes, want 4 of each SKU", even, odd)
	}
}

func TestAStrikeThatFailedIsLoggedAndDoesNotCount(t *testing.T) {
	gone := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Second})
	defer gone.Close()
	for name, memory := range map[string]Memory{
		"Redis is gone":           {gone, "run:"},
		"no Redis was named":      {nil, "run:"},
		"no prefix was named":     {gone, ""},
		"nothing at all was told": {},
	} {
		var logged bytes.Buffer
		s := &Stall{Kind: LoseMemory, Steps: []string{"commit"}, Length: time.Hour, Probability: 1, Memory: memory,
			Log: slog.New(slog.NewTextHandler(&logged, nil))}
		step := &Step{Order: &Order{Key: "k/1", SKU: "hot"}, Name: "commit"}
		s.Before(step)
		if got := s.Tally("hot"); got != (Tally{}) || step.Stall != 0 {
			t.Errorf("%s: counted %+v, and the step was held back for %v", name, got, step.Stall)
		}
		if !strings.Contains(logged.String(), "a stall did not strike") || !strings.Contains(logged.String(), "order=k/1") {
			t.Errorf("%s: the log says %q", name, logged.String())
		}
	}
}

func TestAStallMustBeWhole(t *testing.T) {
	whole := func() *Stall { return &Stall{Steps: []string{"commit"}, Length: time.Second, Probability: 1} }
	for _, kind := range append(Kinds(), "") {
		s := whole()
		s.Kind, s.Least = kind, s.Length
		if err := s.Validate(); err != nil {
			t.Errorf("kind %q: %v", kind, err)
		}
	}
	for name, row := range map[string]struct {
		spoil func(*Stall)
		want  string
	}{
		"a kind that is not there":          {func(s *Stall) { s.Kind = "everything" }, `no kind is named "everything"`},
		"no step":                           {func(s *Stall) { s.Steps = nil }, "name the steps"},
		"a step without a name":             {func(s *Stall) { s.Steps = []string{"commit", ""} }, "name the steps"},
		"no length":                         {func(s *Stall) { s.Length = 0 }, "its length"},
		"a least length below 0":            {func(s *Stall) { s.Least = -1 }, "its least length"},
		"a least length beyond the longest": {func(s *Stall) { s.Least = 2 * s.Length }, "its least length"},
		"no probability":                    {func(s *Stall) { s.Probability = 0 }, "its probability"},
		"a probability of 2":                {func(s *Stall) { s.Probability = 2 }, "its probability"},
	} {
		s := whole()
		row.spoil(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want it to say %q", name, err, row.want)
		}
	}
}
