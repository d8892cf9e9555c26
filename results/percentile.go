package results

import (
	"encoding/json"
	"fmt"
)

// MinBeyond is the least number of samples that must lie beyond a percentile for it to be published: the p99 of 1,000
// samples rests on the 10 slowest, the p99.9 needs 10,000. With fewer it would be the tale of a few single orders.
const MinBeyond = 10

// A Percentile is a duration below which a share of all samples lies, or unknown where too few samples support it.
// The zero value is unknown. In JSON it is a string such as "1.5ms", or null.
type Percentile struct {
	Value Duration // 0 when unknown
	Known bool
}

// Known returns a Percentile of known value d.
func Known(d Duration) Percentile { return Percentile{Value: d, Known: true} }

// String returns the duration, or "unknown".
func (p Percentile) String() string {
	if !p.Known {
		return "unknown"
	}
	return p.Value.String()
}

// Milliseconds returns the value in ms, and false when it is unknown.
func (p Percentile) Milliseconds() (float64, bool) { return milliseconds(p.Value), p.Known }

// MarshalJSON implements [json.Marshaler].
func (p Percentile) MarshalJSON() ([]byte, error) {
	if !p.Known {
		return []byte("null"), nil
	}
	return json.Marshal(p.Value)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *Percentile) UnmarshalJSON(text []byte) error {
	*p = Percentile{}
	if string(text) == "null" {
		return nil
	}
	if err := json.Unmarshal(text, &p.Value); err != nil {
		return fmt.Errorf("a percentile is a duration or null: %w", err)
	}
	p.Known = true
	return nil
}

// supported reports whether MinBeyond of n samples lie beyond the percentile that is given in tenths of a percent.
// It counts in integers: 100 samples support a p90, which 100·(1−0.9) in floating point denies.
func supported(n, perMille int64) bool { return n*(1000-perMille) >= MinBeyond*1000 }

func milliseconds(d Duration) float64 { return float64(d) / 1e6 }
