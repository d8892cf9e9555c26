package plots

import (
	"bytes"
	"encoding/xml"
	"image"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// cases are runs that a figure may trip over. Each is made anew, since it is changed.
var cases = []struct {
	name string
	make func(testing.TB) *fabricated
}{
	{"a usual run", func(tb testing.TB) *fabricated { return fabricate(tb, 7, 3, 900, behaviours).withAnomalies() }},
	{"no trial at all", func(tb testing.TB) *fabricated {
		f := fabricate(tb, 1, 1, 10, behaviours)
		f.trials = nil
		return f
	}},
	{"no plan and no trial", func(testing.TB) *fabricated { return &fabricated{} }},
	{"trials without orders", func(tb testing.TB) *fabricated {
		return fabricate(tb, 2, 1, 40, behaviours).keep(tb, func(results.Hit) bool { return false })
	}},
	{"one order in each trial", func(tb testing.TB) *fabricated {
		return fabricate(tb, 3, 1, 40, behaviours).keep(tb, func(h results.Hit) bool { return h.Seq == 0 })
	}},
	{"one trial", func(tb testing.TB) *fabricated {
		f := fabricate(tb, 4, 1, 600, behaviours[:1])
		f.trials = f.trials[:1]
		return f
	}},
	{"one strategy", func(tb testing.TB) *fabricated { return fabricate(tb, 5, 2, 600, behaviours[2:3]) }},
	{"the whole catalogue in five scenarios", func(tb testing.TB) *fabricated { return catalogueRun(tb, 3, 200) }},
	{"all sold at once", func(tb testing.TB) *fabricated {
		return fabricate(tb, 7, 1, 300, behaviours).each(tb, func(h *results.Hit) {
			h.Outcome, h.Intended, h.Sent, h.End = api.Sold, 0, 0, 0
		})
	}},
	{"nothing sold", func(tb testing.TB) *fabricated {
		return fabricate(tb, 8, 1, 300, behaviours).each(tb, func(h *results.Hit) { h.Outcome = api.Unavailable })
	}},
	{"all trials discarded", func(tb testing.TB) *fabricated {
		return fabricate(tb, 9, 2, 300, behaviours).discard(func(results.Trial) bool { return true })
	}},
	{"all trials of one strategy discarded", func(tb testing.TB) *fabricated {
		return fabricate(tb, 10, 2, 600, behaviours).discard(func(t results.Trial) bool {
			return t.Cell.Strategy == "lock-only"
		})
	}},
	{"half of the orders never sent", func(tb testing.TB) *fabricated {
		f := fabricate(tb, 11, 1, 600, behaviours).keep(tb, func(h results.Hit) bool { return h.Seq%2 == 0 || h.Seq > 500 })
		for i := range f.trials {
			f.trials[i].Attack.Planned = 600
		}
		return f
	}},
	{"times of hours and of nothing", func(tb testing.TB) *fabricated {
		return fabricate(tb, 12, 1, 300, behaviours).each(tb, func(h *results.Hit) {
			h.End = h.Sent + time.Duration(h.Seq%3)*time.Hour
			h.Sent = h.Intended
		})
	}},
	{"a stock of billions", func(tb testing.TB) *fabricated {
		f := fabricate(tb, 13, 1, 300, behaviours)
		for i := range f.trials {
			f.trials[i].Stock, f.trials[i].Audit.Oversold = 1e9, 987_654_321
		}
		return f
	}},
	{"hostile names", hostile},
}

// hostile is a run whose names try to break out of every format.
func hostile(tb testing.TB) *fabricated {
	bad := "<script>alert(1)</script>|*_`[x](http://evil.example/) \x00\n\"'&\u202e" + strings.Repeat("W", 60)
	f := fabricate(tb, 14, 1, 300, behaviours[:2]).withAnomalies()
	f.discard(func(t results.Trial) bool { return t.Number == 2 })
	f.run.ID, f.run.Label, f.run.Verdict, f.run.Machine.CPU = bad, bad, bad, bad
	f.run.Servers[0].Brand, f.run.Servers[0].Settings[bad] = bad, bad
	f.run.Plan.Scenarios[0].Name, f.run.Plan.Scenarios[0].Doc, f.run.Plan.Strategies[0] = bad, bad, bad
	f.run.State, f.run.Reason = results.Partial, bad
	for i := range f.trials {
		t := &f.trials[i]
		ev := f.evidence[t.ID]
		t.ID += bad
		if t.Cell.Scenario == "calm" {
			t.Cell.Scenario = bad
		}
		if t.Cell.Strategy == "none" {
			t.Cell.Strategy, t.Strategy.Name, t.Strategy.Doc = bad, bad, bad
		}
		t.Verdict.Reasons = append(t.Verdict.Reasons, bad)
		for a := range ev.Anomalies {
			ev.Anomalies[a].Detail = bad
			ev.Anomalies[a].Orders[0].Key = bad
		}
		f.evidence[t.ID] = ev
	}
	return f
}

func TestEveryFigureOfEveryRunIsLegible(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			scenes, err := gather(t.Context(), c.make(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range figuresOf(scenes) {
				checkFigure(t, c.name, f)
			}
		})
	}
}

// rough is a density in dots per inch at which a figure is drawn in a moment, also under the race detector.
const rough = 36

func checkFigure(t *testing.T, run string, f figure) {
	t.Helper()
	if !strings.HasSuffix(f.sentence, ".") || strings.Contains(f.sentence, "NaN") {
		t.Errorf("%s: the sentence says %q", f.name, f.sentence)
	}
	svg, err := drawSVG(f.sheet, f.alt())
	if err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	checkPicture(t, f, render(f.sheet, rough))
	keepForTheEye(t, run, f)
	if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
		t.Errorf("%s: the SVG has an impossible number", f.name)
	}
	if n := len(svg); n > 400_000 {
		t.Errorf("%s: the SVG has %d bytes", f.name, n)
	}
	for _, fault := range illegible(t, svg) {
		t.Errorf("%s: %s", f.name, fault)
	}
}

// keepForTheEye writes the picture into the folder that HOTSKU_LOOK names, for what no test sees.
func keepForTheEye(t *testing.T, run string, f figure) {
	t.Helper()
	dir := os.Getenv("HOTSKU_LOOK")
	if dir == "" {
		return
	}
	dir = filepath.Join(dir, slug(run, map[string]bool{}))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	picture, err := drawPNG(f.sheet, Density)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, f.name+".png"), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}

func checkPicture(t *testing.T, f figure, picture image.Image) {
	t.Helper()
	w, h := f.sheet.size()
	pixels := func(points vg.Length) int { return int(float64(points)*rough/72 + .5) }
	if got, want := picture.Bounds().Dx(), pixels(w); got != want {
		t.Errorf("%s: %d pixels wide, want %d", f.name, got, want)
	}
	if got, want := picture.Bounds().Dy(), pixels(h); got != want {
		t.Errorf("%s: %d pixels high, want %d", f.name, got, want)
	}
	if n := inked(picture); n < 400 {
		t.Errorf("%s: %d pixels are drawn, which is an empty picture", f.name, n)
	}
}

// inked counts the pixels that are not nearly white.
func inked(m image.Image) int {
	n := 0
	for p := range slices.Chunk(m.(*image.RGBA).Pix, 4) {
		if luma := 299*int(p[0]) + 587*int(p[1]) + 114*int(p[2]); luma < 1000*0xE0 {
			n++
		}
	}
	return n
}

func TestTheSVGOfEveryRunIsXML(t *testing.T) {
	scenes, err := gather(t.Context(), hostile(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figuresOf(scenes) {
		svg, err := drawSVG(f.sheet, f.alt())
		if err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", f.name, err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "script" {
				t.Errorf("%s: a name became an element", f.name)
			}
		}
	}
}
