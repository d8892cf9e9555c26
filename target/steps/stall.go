package steps

import (
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Kind says what a [Stall] does when it strikes.
type Kind string

// The kinds of stall.
const (
	// HoldOrder holds the order back alone, as a page fault or a slow dependency would. The process goes on.
	HoldOrder Kind = "order"
	// FreezeReplica lets the whole process stand still, as the pause of a garbage collection or of a virtual machine would:
	// meanwhile nothing in it renews a lease. There is one freeze at a time.
	FreezeReplica Kind = "replica"
	// LoseMemory deletes all keys of the run from Redis, as a restart without persistence would, and holds the order back.
	LoseMemory Kind = "redis-memory"
)

// Kinds lists the kinds of stall.
func Kinds() []Kind { return []Kind{HoldOrder, FreezeReplica, LoseMemory} }

// A Stall strikes some orders before one of their steps. Like a real one, it heeds no deadline. It strikes an order at
// most once, however many goroutines work for it and however often the order is tried; for that it remembers the orders
// that it chose. A strike that failed, because Redis did not answer or the process went on, is logged and does not count.
type Stall struct {
	Kind        Kind          // empty means HoldOrder
	SKU         string        // only orders of this SKU are struck; empty means all
	Steps       []string      // the names of the steps before which it strikes: whichever an order comes to first
	Length      time.Duration // for how long; with Least, at most
	Least       time.Duration // unless 0, each order's length is drawn evenly between Least and Length
	Probability float64       // the share of orders that are struck, 0 to 1
	Seed        uint64        // with the order's key it decides which, and for how long
	Memory      Memory        // what LoseMemory deletes
	Log         *slog.Logger  // where a strike that failed is told; may be nil

	freezing sync.Mutex // held by the one strike that may freeze the process

	mu      sync.Mutex // guards what follows
	chosen  map[orderID]bool
	tallies map[string]Tally
}

type orderID struct{ sku, key string }

// A Tally is what a [Stall] did to the orders of one SKU.
type Tally struct {
	Strikes int64         // orders struck
	Frozen  time.Duration // the time for which the process stood still, measured by itself
	Lost    int64         // keys deleted in Redis
}

var _ Observer = (*Stall)(nil)

// Validate returns an error that names the field that cannot work.
func (s *Stall) Validate() error {
	switch {
	case s.Kind != "" && !slices.Contains(Kinds(), s.Kind):
		return fmt.Errorf("stall: no kind is named %q; there are %q", s.Kind, Kinds())
	case len(s.Steps) == 0 || slices.Contains(s.Steps, ""):
		return errors.New("stall: name the steps before which it strikes, such as \"update inventory\"")
	case s.Length <= 0:
		return fmt.Errorf("stall: its length must be above 0, not %v", s.Length)
	case s.Least < 0 || s.Least > s.Length:
		return fmt.Errorf("stall: its least length must be 0 to %v, not %v", s.Length, s.Least)
	case !(s.Probability > 0 && s.Probability <= 1):
		return fmt.Errorf("stall: its probability must be above 0 and at most 1, not %v", s.Probability)
	}
	return nil
}

// Tally returns what was done to the orders of a SKU so far. A nil Stall has done nothing.
func (s *Stall) Tally(sku string) Tally {
	if s == nil {
		return Tally{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tallies[sku]
}

// Before implements [Observer].
func (s *Stall) Before(step *Step) {
	if !slices.Contains(s.Steps, step.Name) || s.SKU != "" && s.SKU != step.Order.SKU ||
		!s.Chooses(step.Order.Key) || !s.first(step.Order) {
		return
	}
	from := time.Now()
	struck, err := s.strike(step.Order)
	if err != nil && s.Log != nil {
		s.Log.Warn("a stall did not strike", "kind", s.Kind, "order", step.Order.Key, "error", err)
	}
	if struck {
		step.Stall += time.Since(from)
	}
}

// After implements [Observer].
func (s *Stall) After(*Step) {}

// strike does what the kind says, and counts it. It reports whether it did.
func (s *Stall) strike(o *Order) (bool, error) {
	length := s.lengthFor(o.Key)
	switch s.Kind {
	case FreezeReplica:
		return s.freeze(o, length)
	case LoseMemory:
		lost, err := s.Memory.lose()
		if err != nil {
			return false, err
		}
		s.count(o, Tally{Strikes: 1, Lost: lost})
	default:
		s.count(o, Tally{Strikes: 1})
	}
	time.Sleep(length)
	return true, nil
}

// freeze lets the process stand still, unless it is about to already: then what reaches its step meanwhile stands still
// with it, and is no strike of its own. If each came to one, a few at once would add up to minutes.
func (s *Stall) freeze(o *Order, length time.Duration) (bool, error) {
	if !s.freezing.TryLock() {
		return false, nil
	}
	defer s.freezing.Unlock()
	stood, err := freeze(length)
	if err != nil {
		return false, err
	}
	s.count(o, Tally{Strikes: 1, Frozen: stood})
	return true, nil
}

func (s *Stall) count(o *Order, t Tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tallies == nil {
		s.tallies = map[string]Tally{}
	}
	sum := s.tallies[o.SKU]
	s.tallies[o.SKU] = Tally{sum.Strikes + t.Strikes, sum.Frozen + t.Frozen, sum.Lost + t.Lost}
}

// Chooses reports whether the order with this key is among those to be struck. Only the part of the key behind its last
// '/' counts, so that order n of every trial with one seed is struck alike.
func (s *Stall) Chooses(key string) bool {
	first, _ := s.draw(key)
	return first < s.Probability
}

// first reports whether an order was not struck before, and remembers it.
func (s *Stall) first(o *Order) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := orderID{o.SKU, o.Key}
	if s.chosen[id] {
		return false
	}
	if s.chosen == nil {
		s.chosen = map[orderID]bool{}
	}
	s.chosen[id] = true
	return true
}

// lengthFor returns for how long the order with this key stalls.
func (s *Stall) lengthFor(key string) time.Duration {
	if s.Least == 0 {
		return s.Length
	}
	_, second := s.draw(key)
	return s.Least + time.Duration(second*float64(s.Length-s.Least))
}

// draw returns two numbers from 0 to 1, drawn from the seed and the order's key. Only the part of the key behind its
// last '/' counts, so that order n of every trial with one seed is struck alike.
func (s *Stall) draw(key string) (first, second float64) {
	h := fnv.New64a()
	var seed [8]byte
	for i := range seed {
		seed[i] = byte(s.Seed >> (8 * i))
	}
	h.Write(seed[:])
	h.Write([]byte(key[strings.LastIndexByte(key, '/')+1:]))
	const next = 0x9e3779b97f4a7c15 // SplitMix64's step from one number to the next
	return float64(mix(h.Sum64())) / math.MaxUint64, float64(mix(h.Sum64()+next)) / math.MaxUint64
}

// mix spreads the bits of a hash evenly (the finalizer of SplitMix64): FNV leaves those of similar keys close together.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
