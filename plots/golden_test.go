package plots

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotsku/hotsku/results"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run with -update to make it", err)
	}
	if !bytes.Equal(got, want) {
		line := 1 + bytes.Count(common(got, want), []byte("\n"))
		t.Errorf("%s differs from line %d on; look at it and run with -update", path, line)
	}
}

func common(a, b []byte) []byte {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// small is a run of few orders, with a discarded trial.
func small(t *testing.T) *fabricated {
	return fabricate(t, 7, 2, 240, behaviours).withAnomalies().withEvents().discard(func(tr results.Trial) bool {
		return tr.Cell.Scenario == "sustain" && tr.Cell.Strategy == "lock-fence" && tr.Cell.Block == 2
	})
}

func TestFiguresAreAsTheyWere(t *testing.T) {
	scenes, err := gather(t.Context(), small(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figuresOf(scenes) {
		if f.name != "oversold" && !strings.HasSuffix(f.name, "stalled-holder") {
			continue
		}
		svg, err := drawSVG(f.sheet, f.alt())
		if err != nil {
			t.Fatal(err)
		}
		golden(t, f.name+".svg", svg)
	}
}

func TestTheReportIsAsItWas(t *testing.T) {
	r := reportFor(t, small(t))
	page, err := r.html()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.html", page)
	text, err := r.markdown()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "REPORT.md", text)
}

// reportFor is a report with a stand-in for every picture.
func reportFor(t *testing.T, f *fabricated) report {
	t.Helper()
	scenes, err := gather(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	figures := figuresOf(scenes)
	for i := range figures {
		figures[i].inline = []byte(`<svg role="img" aria-label="a stand-in"></svg>`)
	}
	return reportOf(f, scenes, figures)
}

func TestTheVerdictTableIsAsItWas(t *testing.T) {
	f := small(t)
	summary := results.Summarize(f.run, f.trials)
	for name, style := range map[string]TableStyle{
		"verdict.txt": Plain, "verdict-colored.txt": Colored, "verdict.md": Markdown,
	} {
		var out bytes.Buffer
		if err := VerdictTable(&out, summary, style, 0); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.Bytes())
	}
}
