package results

import (
	"encoding/csv"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotsku/hotsku/target/api"
)

// The lines of the Go benchmark format that a reader of it understands; all others are comments.
var (
	benchKey  = regexp.MustCompile(`^[a-z][^\sA-Z:]*: \S.*$`)
	benchUnit = regexp.MustCompile(`^Unit \S+ better=(lower|higher)( assume=exact)?$`)
	benchRow  = regexp.MustCompile(`^BenchmarkCheckout(/[a-z]+=[a-z0-9-]*[a-z][a-z0-9-]*)+ \d+( [0-9.e+-]+ \S+)+$`)
)

func TestBenchFormat(t *testing.T) {
	trial, _ := fabricate(8, 4000)
	discarded := invalidate(trial)
	unsold := heldTrial(3, Strategy{Name: "lock-only"}, "calm")
	var b strings.Builder
	if err := WriteBench(&b, fabricatedRun(trial), []Trial{trial, discarded, unsold, oversell(trial, 7)}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	var rows []string
	for i, line := range lines {
		switch {
		case i == 0:
			if line != "# hotsku-run: 2026-01-02T030405Z-quick" {
				t.Errorf("the first line is %q", line)
			}
		case benchRow.MatchString(line):
			rows = append(rows, line)
		case !benchKey.MatchString(line) && !benchUnit.MatchString(line):
			t.Errorf("not of the format: %q", line)
		}
	}
	if len(rows) != 3 {
		t.Fatalf("%d rows, want 3: the invalid trial has none\n%s", len(rows), b.String())
	}
	sales, _ := trial.Sales()
	for _, want := range []string{
		"BenchmarkCheckout/scenario=calm/strategy=lock-fence 4000 ",
		" " + strconv.FormatInt(int64(sales.P99.Value), 10) + " p99-ns ",
		" 0 oversold-units 0 broken-invariants",
	} {
		if !strings.Contains(rows[0], want) {
			t.Errorf("%q is not in %q", want, rows[0])
		}
	}
	if strings.Contains(rows[0], "p999") {
		t.Errorf("an unknown percentile is in %q", rows[0])
	}
	const want = "BenchmarkCheckout/scenario=calm/strategy=lock-only 0 0 oversold-units 0 broken-invariants"
	if rows[1] != want {
		t.Errorf("a trial that sent nothing: %q", rows[1])
	}
	if !strings.Contains(rows[2], " 7 oversold-units 1 broken-invariants") {
		t.Errorf("a trial that oversold: %q", rows[2])
	}
}

func TestBenchRefusesAStrategyThatWouldReadAsGOMAXPROCS(t *testing.T) {
	trial := heldTrial(1, Strategy{Name: "retry-3"}, "calm")
	if err := WriteBench(io.Discard, Run{}, []Trial{trial}); !errors.Is(err, ErrName) {
		t.Errorf("got %v, want ErrName", err)
	}
}

func TestSummaryTable(t *testing.T) {
	trial, _ := fabricate(8, 4000)
	trial.Attack.Outcomes[api.Unavailable] = 3
	var b strings.Builder
	if err := WriteSummary(&b, []Trial{trial, invalidate(heldTrial(2, Strategy{Name: "none"}, "calm"))}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, row := range rows[1:] {
		got[row[1]+" "+row[4]+" "+row[6]] = row[5]
	}
	sales, _ := trial.Sales()
	for key, want := range map[string]string{
		"lock-fence valid bool":            "1",
		"lock-fence oversold units":        "0",
		"lock-fence committed units":       "2000",
		"lock-fence hits_sold hits":        "2000",
		"lock-fence hits_unavailable hits": "3",
		"lock-fence p99 ms":                strconv.FormatFloat(float64(sales.P99.Value)/1e6, 'f', -1, 64),
		"lock-fence p999 ms":               "", // unknown, not 0
		"none valid bool":                  "0",
	} {
		if value, ok := got[key]; !ok || value != want {
			t.Errorf("%s is %q, want %q", key, value, want)
		}
	}
	if _, ok := got["none oversold units"]; ok {
		t.Error("an invalid trial has figures")
	}
}

func TestSeriesTable(t *testing.T) {
	hits := []Hit{{Sent: 2, End: 1500 * time.Microsecond, Outcome: api.Sold}, {End: 1 * time.Second, Outcome: api.SoldOut}}
	var b strings.Builder
	if err := WriteSeries(&b, Series(hits)); err != nil {
		t.Fatal(err)
	}
	const want = "t_s,offered,sent," +
		"unknown,sold,replayed,sold-out,contended,fenced,unavailable,invalid,p50_ms,p99_ms,max_ms,in_flight\n" +
		"0,2,2,0,1,0,0,0,0,0,0,1.5,1.5,1.5,1\n" +
		"1,0,0,0,0,0,1,0,0,0,0,,,,0\n"
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

// A failingWriter takes room bytes and then is full.
type failingWriter struct{ room int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if len(p) > w.room {
		n := w.room
		w.room = 0
		return n, io.ErrShortWrite
	}
	w.room -= len(p)
	return len(p), nil
}

func TestAWriteThatFailsIsReportedWhereverItFails(t *testing.T) {
	trial, ev := fabricate(8, 60)
	run := fabricatedRun(trial)
	for name, write := range map[string]func(io.Writer) error{
		"hits":          func(w io.Writer) error { return WriteHits(w, trial, ev.Hits) },
		"hits, zipped":  zipped(func(w io.Writer) error { return WriteHits(w, trial, ev.Hits) }),
		"ledger":        zipped(jsonLines(ev.Ledger)),
		"anomalies":     document(ev.Anomalies),
		"histogram log": func(w io.Writer) error { return WriteHistogramLog(w, zero, ev.Hits) },
		"series":        func(w io.Writer) error { return WriteSeries(w, Series(ev.Hits)) },
		"bench":         func(w io.Writer) error { return WriteBench(w, run, []Trial{trial}) },
		"summary":       func(w io.Writer) error { return WriteSummary(w, []Trial{trial}) },
	} {
		t.Run(name, func(t *testing.T) {
			var whole strings.Builder
			if err := write(&whole); err != nil {
				t.Fatal(err)
			}
			for room := 0; room < whole.Len(); room += 1 + whole.Len()/50 {
				if err := write(&failingWriter{room}); !errors.Is(err, io.ErrShortWrite) {
					t.Fatalf("with room for %d bytes of %d: got %v", room, whole.Len(), err)
				}
			}
		})
	}
}
