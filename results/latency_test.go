package results

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/hotsku/hotsku/target/api"
)

// ramp returns n sold hits with the response times 1, 2 … n times step, shuffled, all intended at time zero.
func ramp(n int, step time.Duration) []Hit {
	hits := make([]Hit, n)
	for i := range hits {
		hits[i] = Hit{Seq: uint64(i), End: time.Duration(i+1) * step, Outcome: api.Sold, Quantity: 1}
	}
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(n, func(i, j int) { hits[i], hits[j] = hits[j], hits[i] })
	return hits
}

func latencyOf(t *testing.T, hits []Hit, phases []Phase, kind Kind, phase PhaseName) Latency {
	t.Helper()
	latencies, _, err := Latencies(hits, phases)
	if err != nil {
		t.Fatal(err)
	}
	l, ok := (Trial{Latencies: latencies}).Latency(kind, api.Sold, phase)
	if !ok {
		t.Fatalf("no %s of sales in %s among %+v", kind, phase, latencies)
	}
	return l
}

// within reports whether a percentile is known and stands for want: at most 0.1 % above it, and never below.
func within(p Percentile, want time.Duration) bool {
	return p.Known && p.Value.D() >= want && float64(p.Value) <= float64(want)*1.001
}

func TestPercentilesOfKnownTimes(t *testing.T) {
	const us = time.Microsecond
	l := latencyOf(t, ramp(10_000, 10*us), nil, Response, Whole)
	if l.Count != 10_000 || l.Min.D() != 10*us || l.Max.D() != 100_000*us || l.Mean.D() != 50_005*us {
		t.Errorf("count %d, min %v, mean %v, max %v", l.Count, l.Min, l.Mean, l.Max)
	}
	for name, row := range map[string]struct {
		got  Percentile
		want time.Duration
	}{
		"p50": {l.P50, 50_000 * us}, "p90": {l.P90, 90_000 * us}, "p99": {l.P99, 99_000 * us}, "p999": {l.P999, 99_900 * us},
	} {
		if !within(row.got, row.want) {
			t.Errorf("%s is %v, want %v", name, row.got, row.want)
		}
	}
}

func TestPercentilesArePublishedOnlyWhereTenSamplesLieBeyond(t *testing.T) {
	for _, row := range []struct {
		n    int
		want [4]bool // p50, p90, p99, p99.9
	}{
		{19, [4]bool{}},
		{20, [4]bool{true}},
		{99, [4]bool{true}},
		{100, [4]bool{true, true}},
		{999, [4]bool{true, true}},
		{1000, [4]bool{true, true, true}},
		{9_999, [4]bool{true, true, true}},
		{10_000, [4]bool{true, true, true, true}},
	} {
		l := latencyOf(t, ramp(row.n, time.Microsecond), nil, Response, Whole)
		if got := [4]bool{l.P50.Known, l.P90.Known, l.P99.Known, l.P999.Known}; got != row.want {
			t.Errorf("%d samples: got %v, want %v", row.n, got, row.want)
		}
	}
}

func TestNoPercentileLiesAboveTheMaximum(t *testing.T) {
	hits := make([]Hit, 1000)
	for i := range hits {
		hits[i] = Hit{End: time.Millisecond, Outcome: api.Sold}
	}
	l := latencyOf(t, hits, nil, Response, Whole)
	if want := Known(Duration(time.Millisecond)); l.P50 != want || l.P99 != want {
		t.Errorf("p50 %v, p99 %v of times that are all 1ms", l.P50, l.P99)
	}
}

func TestLatenciesByKindOutcomeAndPhase(t *testing.T) {
	s, ms := time.Second, time.Millisecond
	phases := []Phase{{Name: Selling, To: Duration(2 * s)}, {Name: Edge, From: Duration(2 * s), To: Duration(3 * s)}}
	hits := []Hit{
		{Intended: 1 * s, Sent: 1*s + ms, End: 1*s + 5*ms, Outcome: api.Sold},
		{Intended: 2*s - 1, Sent: 2 * s, End: 4 * s, Outcome: api.Sold}, // belongs where it was wanted
		{Intended: 2 * s, Sent: 2 * s, End: 2*s + ms, Outcome: api.SoldOut},
		{Intended: 9 * s, Sent: 9 * s, End: 9*s + ms, Outcome: api.SoldOut}, // behind the last phase
	}
	latencies, clamped, err := Latencies(hits, phases)
	if err != nil || clamped != 0 {
		t.Fatal(clamped, err)
	}
	type key struct {
		kind    Kind
		outcome api.Outcome
		phase   PhaseName
	}
	got := map[key]int64{}
	for _, l := range latencies {
		got[key{l.Kind, l.Outcome, l.Phase}] = l.Count
	}
	want := map[key]int64{}
	for _, kind := range Kinds() {
		want[key{kind, api.Sold, Selling}] = 2
		want[key{kind, api.Sold, Whole}] = 2
		want[key{kind, api.SoldOut, Edge}] = 2
		want[key{kind, api.SoldOut, Whole}] = 2
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	for kind, want := range map[Kind]time.Duration{Response: 2*s + 1, Service: 2 * s, Lag: ms} {
		if l := latencyOf(t, hits, phases, kind, Selling); l.Max.D() != want {
			t.Errorf("max %s: %v, want %v", kind, l.Max, want)
		}
	}
}

func TestTimesOutOfRangeAreClampedAndCounted(t *testing.T) {
	hits := []Hit{
		{End: 120 * time.Second, Outcome: api.Sold},
		{End: 120*time.Second + 1, Outcome: api.Sold},                        // response and service
		{Intended: 5, Sent: 4, End: 4, Outcome: api.Sold},                    // a response of −1 ns
		{Sent: 200 * time.Second, End: 200 * time.Second, Outcome: api.Sold}, // response and lag
	}
	for name, phases := range map[string][]Phase{"without phases": nil, "with phases": {{Name: Sustained, To: 1}}} {
		_, clamped, err := Latencies(hits, phases)
		if err != nil || clamped != 5 {
			t.Errorf("%s: %d clamped, want 5; %v", name, clamped, err)
		}
	}
	if l := latencyOf(t, hits, nil, Response, Whole); l.Max.D() != 200*time.Second || l.Min != -1 {
		t.Errorf("min %v, max %v: those of the samples are wanted", l.Min, l.Max)
	}
}

func TestLatenciesOfAnUnknownOutcome(t *testing.T) {
	if _, _, err := Latencies([]Hit{{Outcome: 77}}, nil); err == nil {
		t.Error("no error")
	}
}

func TestPercentileInJSON(t *testing.T) {
	for _, row := range []struct {
		p    Percentile
		text string
	}{
		{Percentile{}, "null"},
		{Known(0), `"0s"`},
		{Known(Duration(1500 * time.Microsecond)), `"1.5ms"`},
	} {
		text, err := json.Marshal(row.p)
		if err != nil || string(text) != row.text {
			t.Errorf("%v is %s, %v", row.p, text, err)
		}
		got := Known(9)
		if err := json.Unmarshal(text, &got); err != nil || got != row.p {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{`1`, `"5"`, `{}`} {
		if err := json.Unmarshal([]byte(bad), new(Percentile)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	if got := (Percentile{}).String(); got != "unknown" {
		t.Errorf("an unknown percentile prints as %q", got)
	}
}

// FuzzDuration holds that a duration that can be read is written in a form that reads back equal.
func FuzzDuration(f *testing.F) {
	for _, text := range []string{
		"250ms", "1.5s", "-3h2m", "0", "5", "", "1e3s", "9223372036854775807ns", "-2562047h47m16.854775808s",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var d, again Duration
		if d.UnmarshalText([]byte(text)) != nil {
			return
		}
		written, err := d.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalText(written); err != nil || again != d {
			t.Errorf("%q is %d, written as %s, read as %d, %v", text, d, written, again, err)
		}
	})
}
