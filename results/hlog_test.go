package results

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/hotsku/hotsku/target/api"
)

func logOf(t testing.TB, zero time.Time, hits []Hit) string {
	t.Helper()
	var b strings.Builder
	if err := WriteHistogramLog(&b, zero, hits); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// logForm is version 1.3 of the format, written down from its description and not from this package's reader:
// comments, a legend, and lines of tag, start and length in s, greatest value, and payload in base64.
var logForm = regexp.MustCompile(`\A(#[^\n]*\n)*` +
	`#\[Histogram log format version 1\.3\]\n` +
	`#\[StartTime: \d+\.\d{3} \(seconds since epoch\), [^\n]+\]\n` +
	`#\[BaseTime: \d+ \(seconds since epoch\)\]\n` +
	`"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n` +
	`(Tag=(response|service|lag)\.[a-z-]+,\d+\.\d{6},1\.000000,\d+\.\d{6},HISTFAAAA[A-Za-z0-9+/]+=*\n)+\z`)

func TestTheHistogramLogHasTheFormOfVersion13(t *testing.T) {
	_, ev := fabricate(6, 2000)
	log := logOf(t, zero, ev.Hits)
	if !logForm.MatchString(log) {
		t.Errorf("not of the form:\n%.1500s", log)
	}
	if !strings.Contains(log, "recorded in ns") || !strings.Contains(log, "Interval_Max is in ms") {
		t.Error("the units are not stated")
	}
}

func TestTheLibraryReadsTheHistogramLog(t *testing.T) {
	_, ev := fabricate(6, 2000)
	reader := hdrhistogram.NewHistogramLogReader(strings.NewReader(logOf(t, zero, ev.Hits)))
	counts := map[string]int64{}
	for {
		h, err := reader.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		counts[h.Tag()] += h.TotalCount()
		// The library cuts its floating-point seconds to ms, so it may be one short.
		fraction := h.StartTimeMs() % 1000
		if fraction != 678 && fraction != 677 {
			t.Errorf("%s starts at %d ms since 1970, %d ms into a second; time zero is 678 ms into one", h.Tag(),
				h.StartTimeMs(), fraction)
		}
	}
	want := map[string]int64{}
	for _, h := range ev.Hits {
		for _, kind := range Kinds() {
			want[fmt.Sprintf("%s.%s", kind, h.Outcome)]++
		}
	}
	if !maps.Equal(counts, want) {
		t.Errorf("got %v, want %v", counts, want)
	}
}

func TestHistogramLogRoundTrip(t *testing.T) {
	_, ev := fabricate(6, 3000)
	intervals, err := ReadHistogramLog(strings.NewReader(logOf(t, zero, ev.Hits)))
	if err != nil {
		t.Fatal(err)
	}
	type key struct {
		tag    string
		second time.Duration
	}
	want := map[key]*hdrhistogram.Histogram{}
	for _, h := range ev.Hits {
		for _, kind := range Kinds() {
			k := key{fmt.Sprintf("%s.%s", kind, h.Outcome), h.End.Truncate(time.Second)}
			if want[k] == nil {
				want[k] = newHistogram()
			}
			if err := want[k].RecordValue(int64(kind.Of(h))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(intervals) != len(want) {
		t.Errorf("%d intervals, want %d", len(intervals), len(want))
	}
	for _, i := range intervals {
		w := want[key{i.Tag, i.Start}]
		if w == nil || !w.Equals(i.Histogram) {
			t.Errorf("%s at %v is not what was recorded", i.Tag, i.Start)
		}
		if i.End != i.Start+time.Second || i.Histogram.Tag() != i.Tag {
			t.Errorf("%s from %v to %v, tagged %s", i.Tag, i.Start, i.End, i.Histogram.Tag())
		}
	}
	if !slices.IsSortedFunc(intervals, func(a, b Interval) int { return int(a.Start - b.Start) }) {
		t.Error("not in the order of time")
	}
}

func TestHistogramLogOfTimesOutOfRange(t *testing.T) {
	hits := []Hit{{End: 200 * time.Second}, {Intended: 5, Sent: 0, End: 1}} // a response of 200 s, and one of −4 ns
	intervals, err := ReadHistogramLog(strings.NewReader(logOf(t, zero, hits)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[time.Duration]int64{200 * time.Second: histogramHigh, 0: 0}
	for _, i := range intervals {
		if i.Tag != "response.unknown" {
			continue
		}
		edge, ok := want[i.Start]
		if !ok || !i.Histogram.ValuesAreEquivalent(i.Histogram.Max(), edge) {
			t.Errorf("at %v: %d, want %d", i.Start, i.Histogram.Max(), edge)
		}
		delete(want, i.Start)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestHistogramLogOfNoHits(t *testing.T) {
	intervals, err := ReadHistogramLog(strings.NewReader(logOf(t, zero, nil)))
	if err != nil || len(intervals) != 0 {
		t.Errorf("got %v, %v", intervals, err)
	}
}

func TestEveryOutcomeAndKindMakesATagThatReadersTake(t *testing.T) {
	safe := regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	for _, kind := range Kinds() {
		for _, o := range api.Outcomes() {
			if tag := string(kind) + "." + o.String(); !safe.MatchString(tag) {
				t.Errorf("%q", tag)
			}
		}
	}
}

func TestHistogramLogsThatAreRefused(t *testing.T) {
	_, ev := fabricate(6, 10)
	good := logOf(t, zero, ev.Hits)
	wide := hdrhistogram.New(1, math.MaxInt64, 2)
	if err := wide.RecordValue(5); err != nil {
		t.Fatal(err)
	}
	payload, err := wide.EncodeV2()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, log string
		want      error // nil: any
		text      string
	}{
		{"an empty file", "", ErrHistogramLog, "StartTime"},
		{"an interval without a tag", strings.Replace(good, "Tag=response.sold,", "", 1), ErrHistogramLog, "line 6"},
		{"a tag with a comma at its end", strings.Replace(good, "Tag=response.sold,", "Tag=response.sold,,", 1),
			ErrHistogramLog, "line 6"},
		{"a log without a base time", strings.Replace(good, "#[BaseTime", "#[Base", 1), ErrHistogramLog, "line 6"},
		{"a payload that was cut", strings.Replace(good, "HISTFAAA", "HIST", 1), nil, "line 6"},
		{"a last line that was cut", good[:len(good)-40], nil, "line"},
		{"a start that is no number", strings.Replace(good, ",0.678000,", ",NaN,", 1), ErrHistogramLog, "line 6"},
		{"a histogram of another range",
			good + "Tag=a,0.678000,1.000000,1.000000," + string(payload) + "\n", ErrHistogramLog, "digits"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := ReadHistogramLog(strings.NewReader(row.log))
			if err == nil || (row.want != nil && !errors.Is(err, row.want)) || !strings.Contains(err.Error(), row.text) {
				t.Errorf("got %v, want one that matches %v and says %q", err, row.want, row.text)
			}
		})
	}
}

// FuzzReadHistogramLog holds that a log of any bytes is read or refused, and that what is read makes sense.
func FuzzReadHistogramLog(f *testing.F) {
	_, ev := fabricate(6, 10)
	log := logOf(f, zero, ev.Hits)
	f.Add([]byte(log))
	f.Add([]byte(log[:len(log)/2]))
	f.Add([]byte("#[StartTime: 1.5 (seconds since epoch)\n#[BaseTime: 1 (seconds since epoch)\nTag=a,0.1,1.0,1.0,HIST\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		intervals, err := ReadHistogramLog(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, i := range intervals {
			if i.Tag == "" || i.End < i.Start || i.Histogram.TotalCount() < 0 {
				t.Errorf("%+v", i)
			}
		}
	})
}
