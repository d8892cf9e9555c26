package steps

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"sync/atomic"
	"time"
)

// A Stall holds some orders back before one of their steps, as a garbage collection, a page fault or a slow dependency
// would. Like those, it heeds no deadline. It strikes an order at most once.
type Stall struct {
	SKU         string        // only orders of this SKU are struck; empty means all
	Step        string        // the name of the step that is held back
	Length      time.Duration // for how long
	Probability float64       // the share of orders that are struck, 0 to 1
	Seed        uint64        // with the order's key it decides which

	strikes atomic.Int64
}

var _ Observer = (*Stall)(nil)

// Validate returns an error that names the field that cannot work.
func (s *Stall) Validate() error {
	switch {
	case s.Step == "":
		return errors.New("stall: name the step to hold back, such as \"update inventory\"")
	case s.Length <= 0:
		return fmt.Errorf("stall: its length must be above 0, not %v", s.Length)
	case !(s.Probability > 0 && s.Probability <= 1):
		return fmt.Errorf("stall: its probability must be above 0 and at most 1, not %v", s.Probability)
	}
	return nil
}

// Strikes returns how many orders were struck.
func (s *Stall) Strikes() int64 { return s.strikes.Load() }

// chooses reports whether the order with this key is among those to be struck. Only the part of the key behind its last
// '/' counts, so that order n of every trial with one seed is struck alike.
func (s *Stall) chooses(key string) bool {
	h := fnv.New64a()
	var seed [8]byte
	for i := range seed {
		seed[i] = byte(s.Seed >> (8 * i))
	}
	h.Write(seed[:])
	h.Write([]byte(key[strings.LastIndexByte(key, '/')+1:]))
	return float64(mix(h.Sum64()))/math.MaxUint64 < s.Probability
}

// mix spreads the bits of a hash evenly (the finalizer of SplitMix64): FNV leaves those of similar keys close together.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Before implements [Observer].
func (s *Stall) Before(step *Step) {
	if step.Name != s.Step || s.SKU != "" && s.SKU != step.Order.SKU || !s.chooses(step.Order.Key) {
		return
	}
	if !step.Order.stalled.CompareAndSwap(false, true) {
		return
	}
	s.strikes.Add(1)
	from := time.Now()
	time.Sleep(s.Length)
	step.Stall += time.Since(from)
}

// After implements [Observer].
func (s *Stall) After(*Step) {}
