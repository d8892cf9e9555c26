package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/hotsku/hotsku/target/api"
)

func written(t testing.TB, trial Trial, hits []Hit) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteHits(&b, trial, hits); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHitsRoundTripExactly(t *testing.T) {
	trial, ev := fabricate(3, 1000)
	ms := time.Millisecond
	for _, row := range []struct {
		name string
		hits []Hit
	}{
		{"a fabricated trial", ev.Hits},
		{"no hits", nil},
		{"a hit of zeros", []Hit{{}}},
		{"a hit that was sent early", []Hit{{Intended: 10 * ms, Sent: 10*ms - 7, End: 11 * ms}}},
		{"the first hit, sent before time zero", []Hit{{Sent: -3, End: 1}}},
		{"times of odd nanoseconds", []Hit{{Intended: 1, Sent: 1_000_000_001, End: 59_999_999_999}}},
		{"the greatest numbers", []Hit{{
			Seq: math.MaxUint64, Order: math.MaxInt64, Position: math.MaxInt64, Fence: math.MaxInt64,
			Quantity: math.MaxInt32, Code: math.MaxUint16, Outcome: api.Invalid, Replica: 255, End: longest,
		}}},
		{"negative numbers", []Hit{{Order: -1, Position: math.MinInt64, Fence: -3, Quantity: -4}}},
		{"an error of quotes, lines and other letters", []Hit{{Error: "\"<\\>\n\x00\u2028é界"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := ReadHits(bytes.NewReader(written(t, trial, row.hits)), trial)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, row.hits) {
				t.Errorf("\n got %+v\nwant %+v", got, row.hits)
			}
		})
	}
}

func TestTheQuickParserUnderstandsEveryLineWritten(t *testing.T) {
	trial, ev := fabricate(3, 1000)
	d := newHitDecoder(trial)
	for line := range bytes.Lines(written(t, trial, ev.Hits)) {
		if _, ok := d.quick.parse(bytes.TrimSuffix(line, []byte("\n"))); !ok {
			t.Fatalf("not understood: %s", line)
		}
	}
}

func TestHitsOfAnotherWriterAreRead(t *testing.T) {
	trial, ev := fabricate(3, 100)
	var other bytes.Buffer
	for line := range bytes.Lines(written(t, trial, ev.Hits)) {
		var fields map[string]any // which encoding/json writes in another order
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&fields); err != nil {
			t.Fatal(err)
		}
		fields["more"] = 1
		if err := json.NewEncoder(&other).Encode(fields); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadHits(&other, trial)
	if err != nil || !slices.Equal(got, ev.Hits) {
		t.Errorf("differs, %v", err)
	}
}

func TestHitsRoundTripInAnyTimeZone(t *testing.T) {
	trial, ev := fabricate(3, 100)
	trial.Zero = trial.Zero.In(time.FixedZone("somewhere", -5*3600-1800))
	got, err := ReadHits(bytes.NewReader(written(t, trial, ev.Hits)), trial)
	if err != nil || !slices.Equal(got, ev.Hits) {
		t.Errorf("differs, %v", err)
	}
}

func TestInvalidUTF8InAnErrorIsReplaced(t *testing.T) {
	got, err := ReadHits(bytes.NewReader(written(t, Trial{}, []Hit{{Error: "a\xffb"}})), Trial{})
	if err != nil || got[0].Error != "a\ufffdb" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestHitsThatCannotBeWritten(t *testing.T) {
	for name, h := range map[string]Hit{
		"an outcome that is none":           {Seq: 5, Outcome: 200},
		"an end more than a day after zero": {Seq: 5, End: longest + 1},
	} {
		if err := WriteHits(io.Discard, Trial{}, []Hit{h}); err == nil || !strings.Contains(err.Error(), "hit 5") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestVegetaReadsHits(t *testing.T) {
	trial, ev := fabricate(4, 5000)
	decode := vegeta.NewJSONDecoder(bytes.NewReader(written(t, trial, ev.Hits)))
	var metrics vegeta.Metrics
	for _, h := range ev.Hits {
		var r vegeta.Result
		if err := decode(&r); err != nil {
			t.Fatalf("hit %d: %v", h.Seq, err)
		}
		want := vegeta.Result{
			Attack: trial.ID, Seq: h.Seq, Code: h.Code, Timestamp: trial.Zero.Add(h.Intended), Latency: h.Response(),
			Error: h.Error, Method: "POST", URL: trial.Addresses[h.Replica] + api.PathCheckouts,
		}
		if !r.Equal(want) {
			t.Fatalf("hit %d:\n got %+v\nwant %+v", h.Seq, r, want)
		}
		metrics.Add(&r)
	}
	if err := decode(&vegeta.Result{}); err != io.EOF {
		t.Errorf("after the last hit: got %v, want EOF", err)
	}
	metrics.Close()
	if metrics.Requests != uint64(len(ev.Hits)) || metrics.StatusCodes["201"] != trial.Attack.Outcomes[api.Sold] {
		t.Errorf("vegeta counts %d requests and %v", metrics.Requests, metrics.StatusCodes)
	}
	var all []time.Duration
	for _, h := range ev.Hits {
		all = append(all, h.Response())
	}
	slices.Sort(all)
	// vegeta estimates its percentiles by a t-digest.
	for name, pair := range map[string][2]time.Duration{
		"p50": {metrics.Latencies.P50, all[len(all)/2]},
		"p99": {metrics.Latencies.P99, all[len(all)*99/100]},
		"max": {metrics.Latencies.Max, all[len(all)-1]},
	} {
		if ratio := float64(pair[0]) / float64(pair[1]); math.Abs(ratio-1) > 0.02 {
			t.Errorf("%s: vegeta says %v, the hits say %v", name, pair[0], pair[1])
		}
	}
}

func TestLinesThatReadHitsRefuses(t *testing.T) {
	trial, ev := fabricate(3, 3)
	ev.Hits[1].Outcome = api.Unknown
	good := string(written(t, trial, ev.Hits))
	for _, row := range []struct {
		name, old, new string
		want           error // nil: any
	}{
		{"a key of another trial", `"key":"run-1-1"`, `"key":"run-2-1"`, ErrHit},
		{"a key of another hit", `"key":"run-1-1"`, `"key":"run-1-2"`, ErrHit},
		{"times that contradict each other", `"lag_ns":`, `"lag_ns":1`, ErrHit},
		{"an unknown outcome", `"outcome":"unknown"`, `"outcome":"bought"`, nil},
		{"no outcome", `"outcome":"unknown",`, ``, nil},
		{"half a line", `"key":"run-1-1"}`, `"key":"run`, nil},
		{"a time of another year", `"2026-`, `"2027-`, ErrHit},
		{"a replica beyond 255", `"replica":1`, `"replica":256`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			lines := strings.SplitAfter(good, "\n")
			changed := strings.Replace(lines[1], row.old, row.new, 1)
			if changed == lines[1] {
				t.Fatalf("no %s in %s", row.old, lines[1])
			}
			lines[1] = changed
			_, err := ReadHits(strings.NewReader(strings.Join(lines, "")), trial)
			if err == nil || !strings.Contains(err.Error(), "line 2") || (row.want != nil && !errors.Is(err, row.want)) {
				t.Errorf("got %v, want one that matches %v and names line 2", err, row.want)
			}
		})
	}
}

// FuzzReadHits holds that what is read can be written and reads back equal, and that the quick parser agrees with
// encoding/json wherever it understands a line.
func FuzzReadHits(f *testing.F) {
	trial, ev := fabricate(3, 20)
	for line := range bytes.Lines(written(f, trial, ev.Hits)) {
		f.Add(line)
	}
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d := newHitDecoder(trial)
		for line := range bytes.Lines(text) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			quick, ok := d.quick.parse(line)
			if !ok {
				continue
			}
			got, err := d.check(quick)
			want, wantErr := d.slowHit(line)
			if got != want || (err == nil) != (wantErr == nil) {
				t.Errorf("%s\nquickly: %+v, %v\n slowly: %+v, %v", line, got, err, want, wantErr)
			}
		}
		hits, err := ReadHits(bytes.NewReader(text), trial)
		if err != nil {
			return
		}
		again, err := ReadHits(bytes.NewReader(written(t, trial, hits)), trial)
		if err != nil || !reflect.DeepEqual(again, hits) {
			t.Errorf("%+v reads back as %+v, %v", hits, again, err)
		}
	})
}
