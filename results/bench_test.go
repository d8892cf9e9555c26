package results

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
)

// benchHits is the size of the trials that are timed. They last 500 s, at 200 hits a second.
const benchHits = 100_000

func BenchmarkWriteHits(b *testing.B) {
	trial, ev := fabricate(5, benchHits)
	for name, zip := range map[string]func(func(io.Writer) error) func(io.Writer) error{
		"form=plain": func(content func(io.Writer) error) func(io.Writer) error { return content },
		"form=gzip":  zipped,
	} {
		b.Run(name, func(b *testing.B) {
			content := zip(func(w io.Writer) error { return WriteHits(w, trial, ev.Hits) })
			for b.Loop() {
				if err := content(io.Discard); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchHits, "ns/hit")
		})
	}
}

func BenchmarkReadHits(b *testing.B) {
	trial, ev := fabricate(5, benchHits)
	plain := written(b, trial, ev.Hits)
	var packed bytes.Buffer
	if err := zipped(func(w io.Writer) error { _, err := w.Write(plain); return err })(&packed); err != nil {
		b.Fatal(err)
	}
	unzip := func() io.Reader {
		z, err := gzip.NewReader(bytes.NewReader(packed.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		return z
	}
	foreign := bytes.ReplaceAll(plain, []byte(`{"attack"`), []byte(`{ "attack"`)) // what only encoding/json understands
	for name, open := range map[string]func() io.Reader{
		"form=foreign": func() io.Reader { return bytes.NewReader(foreign) },
		"form=plain":   func() io.Reader { return bytes.NewReader(plain) },
		"form=gzip":    unzip,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := ReadHits(open(), trial); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchHits, "ns/hit")
			b.ReportMetric(float64(packed.Len())/benchHits, "gzip-bytes/hit")
		})
	}
}

func BenchmarkLatencies(b *testing.B) {
	trial, ev := fabricate(5, benchHits)
	for b.Loop() {
		if _, _, err := Latencies(ev.Hits, trial.Phases); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchHits, "ns/hit")
}

func BenchmarkRecordIntoHistogram(b *testing.B) {
	_, ev := fabricate(5, 1000)
	h := newHistogram()
	i := 0
	for b.Loop() {
		v, _ := clamp(ev.Hits[i].Response())
		if err := h.RecordValue(v); err != nil {
			b.Fatal(err)
		}
		if i++; i == len(ev.Hits) {
			i = 0
		}
	}
}

func BenchmarkWriteHistogramLog(b *testing.B) {
	trial, ev := fabricate(5, benchHits)
	for b.Loop() {
		if err := WriteHistogramLog(io.Discard, trial.Zero, ev.Hits); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSeries(b *testing.B) {
	_, ev := fabricate(5, benchHits)
	for b.Loop() {
		if err := WriteSeries(io.Discard, Series(ev.Hits)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAdd times all files of a trial, onto stable storage.
func BenchmarkAdd(b *testing.B) {
	trial, ev := fabricate(5, benchHits)
	w, err := Create(b.TempDir(), fabricatedRun(trial))
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		trial.ID = TrialID(n, trial.Cell, 1)
		if err := w.Add(trial, ev); err != nil {
			b.Fatal(err)
		}
	}
}
