package results

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// ErrHistogramLog marks a histogram log that [WriteHistogramLog] cannot have written.
var ErrHistogramLog = errors.New("results: not a histogram log of hotsku")

// An Interval is one histogram of a log.
type Interval struct {
	Tag        string                  // "<kind>.<outcome>", such as "response.sold"
	Start, End time.Duration           // offsets from the trial's time zero
	Histogram  *hdrhistogram.Histogram // of nanoseconds
}

var (
	logTime     = regexp.MustCompile(`^#\[(StartTime|BaseTime): ([0-9]{1,12}(?:\.[0-9]{1,9})?) \(seconds since epoch\)`)
	logInterval = regexp.MustCompile(`^Tag=([A-Za-z0-9_.-]+),` +
		`(-?[0-9]{1,12}\.[0-9]{1,9}),([0-9]{1,9}\.[0-9]{1,9}),([0-9]{1,9}\.[0-9]{1,9}),([A-Za-z0-9+/=]+)$`)
)

// ReadHistogramLog reads what [WriteHistogramLog] wrote, in its order. Unlike the library's own reader it passes no
// line over in silence, and it refuses a histogram of another range or precision. Errors name the line.
func ReadHistogramLog(r io.Reader) ([]Interval, error) {
	l := logReader{start: math.NaN(), base: math.NaN()}
	err := eachLine(r, func(line []byte) error { return l.line(string(line)) })
	if err == nil && l.open() {
		err = fmt.Errorf("%w: it tells no StartTime and BaseTime", ErrHistogramLog)
	}
	return l.intervals, err
}

type logReader struct {
	start, base float64 // seconds since 1970, NaN until told
	intervals   []Interval
}

// open reports whether the times that the intervals are relative to are still missing.
func (l *logReader) open() bool { return math.IsNaN(l.start) || math.IsNaN(l.base) }

func (l *logReader) line(line string) error {
	if m := logTime.FindStringSubmatch(line); m != nil {
		seconds, err := strconv.ParseFloat(m[2], 64)
		if m[1] == "StartTime" {
			l.start = seconds
		} else {
			l.base = seconds
		}
		return err
	}
	if strings.HasPrefix(line, "#") || strings.HasPrefix(line, `"`) {
		return nil
	}
	m := logInterval.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("%w: neither a comment nor a tagged interval: %.60q", ErrHistogramLog, line)
	}
	if l.open() {
		return fmt.Errorf("%w: an interval before StartTime and BaseTime", ErrHistogramLog)
	}
	return l.interval(m[1], m[2], m[3], m[5])
}

func (l *logReader) interval(tag, start, length, payload string) error {
	from, err := strconv.ParseFloat(start, 64)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseFloat(length, 64)
	if err != nil {
		return err
	}
	histogram, err := hdrhistogram.Decode([]byte(payload))
	if err != nil {
		return err
	}
	if histogram.LowestTrackableValue() != histogramLow || histogram.HighestTrackableValue() != histogramHigh ||
		histogram.SignificantFigures() != histogramDigits {
		return fmt.Errorf("%w: a histogram from %d to %d ns with %d digits", ErrHistogramLog,
			histogram.LowestTrackableValue(), histogram.HighestTrackableValue(), histogram.SignificantFigures())
	}
	histogram.SetTag(tag)
	offset := microseconds(l.base - l.start + from)
	l.intervals = append(l.intervals, Interval{
		Tag: tag, Start: offset, End: offset + microseconds(seconds), Histogram: histogram,
	})
	return nil
}

// microseconds returns s seconds, rounded to the microsecond: that much of a time since 1970 survives in a float64.
func microseconds(s float64) time.Duration {
	return time.Duration(math.Round(s*1e6)) * time.Microsecond
}
