package results

import (
	"fmt"
	"time"
)

// Duration is a [time.Duration] that records and plans write as people do: "250ms", "1.5s".
type Duration time.Duration

// D returns d as the standard library's type.
func (d Duration) D() time.Duration { return time.Duration(d) }

// String returns the duration as [time.Duration.String] does.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. It wants a unit: "5" is refused.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("not a duration such as 250ms or 1.5s: %q", text)
	}
	*d = Duration(parsed)
	return nil
}
