package plots

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotsku/hotsku/results"
)

// store writes a fabricated run as the bench does, and opens it.
func store(tb testing.TB, f *fabricated) *results.Folder {
	tb.Helper()
	w, err := results.Create(tb.TempDir(), f.run)
	if err != nil {
		tb.Fatal(err)
	}
	for _, t := range f.trials {
		if err := w.Add(t, f.evidence[t.ID]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Finish(f.run); err != nil {
		tb.Fatal(err)
	}
	folder, err := results.Open(w.Dir())
	if err != nil {
		tb.Fatal(err)
	}
	return folder
}

// filesOf returns the content of all files below dir that drawing made.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, root := range []string{"plots", "report.html", "REPORT.md"} {
		err := filepath.WalkDir(filepath.Join(dir, root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			name, _ := filepath.Rel(dir, path)
			files[name] = string(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestAStoredRunIsDrawn(t *testing.T) {
	folder := store(t, small(t))
	var told []string
	drawing, err := Draw(t.Context(), folder, rough, func(done, total int, name string) {
		if told = append(told, name); done != len(told) || total != 14 {
			t.Errorf("%s is file %d of %d, want %d of 14", name, done, total, len(told))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != 14 || len(drawing.Figures) != 12 {
		t.Errorf("%d files were told of and %d figures drawn", len(told), len(drawing.Figures))
	}
	files := filesOf(t, folder.Dir())
	if len(files) != 26 {
		t.Errorf("%d files are there, want 12 PNG, 12 SVG and 2 reports", len(files))
	}
	for _, f := range drawing.Figures {
		for _, path := range []string{f.PNG, f.SVG} {
			if name, _ := filepath.Rel(folder.Dir(), path); files[name] == "" {
				t.Errorf("%s is not there", path)
			}
		}
		if !strings.Contains(files["REPORT.md"], "(plots/"+f.Name+".png)") {
			t.Errorf("REPORT.md does not show %s", f.Name)
		}
	}
	for _, fault := range faultsOf([]byte(files["report.html"])) {
		t.Errorf("report.html: %s", fault)
	}
	if n := len(files["report.html"]); n > 2<<20 {
		t.Errorf("report.html has %d bytes", n)
	}
}

func TestDrawingAgainGivesTheSameBytes(t *testing.T) {
	folder := store(t, fabricate(t, 7, 2, 300, behaviours))
	if _, err := Draw(t.Context(), folder, rough, nil); err != nil {
		t.Fatal(err)
	}
	first := filesOf(t, folder.Dir())
	if _, err := Draw(t.Context(), folder, rough, nil); err != nil {
		t.Fatal(err)
	}
	for name, content := range filesOf(t, folder.Dir()) {
		if first[name] != content {
			t.Errorf("%s is another", name)
		}
	}
}

func TestPicturesHaveTheDensityThatIsAskedFor(t *testing.T) {
	f := fabricate(t, 3, 1, 100, behaviours[:1])
	f.run.Plan.Scenarios, f.trials = f.run.Plan.Scenarios[:1], f.trials[:1]
	const dots = 96
	drawing, err := Draw(t.Context(), store(t, f), dots, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, figure := range drawing.Figures {
		content, err := os.ReadFile(figure.PNG)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(content))
		if err != nil {
			t.Fatalf("%s: %v", figure.Name, err)
		}
		if got, want := picture.Bounds().Dx(), int(pageWidth*dots/72); got != want {
			t.Errorf("%s: %d pixels wide, want %d", figure.Name, got, want)
		}
	}
}

func TestDrawingStopsWhenItIsTold(t *testing.T) {
	folder := store(t, fabricate(t, 3, 1, 100, behaviours[:1]))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Draw(ctx, folder, rough, func(int, int, string) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestMissingEvidenceIsAnErrorThatNamesTheTrial(t *testing.T) {
	f := fabricate(t, 3, 1, 100, behaviours[:1])
	lost := f.trials[1].ID
	delete(f.evidence, lost)
	_, err := drawInto(t.Context(), t.TempDir(), f, rough, nil)
	if err == nil || !strings.Contains(err.Error(), lost) {
		t.Errorf("got %v, want one that names %s", err, lost)
	}
}

func TestAFolderThatCannotBeWrittenIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plots"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := drawInto(t.Context(), dir, fabricate(t, 3, 1, 100, behaviours[:1]), rough, nil); err == nil {
		t.Error("no error, though plots is a file")
	}
}

func TestAFileIsReplacedWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for _, content := range []string{"long, then", "short"} {
		if err := replace(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%d entries are left, %v", len(entries), err)
	}
}

func BenchmarkDraw(b *testing.B) {
	folder := store(b, fabricate(b, 7, 3, 1500, behaviours).withAnomalies())
	b.Run("run=default", func(b *testing.B) {
		for b.Loop() {
			if _, err := Draw(b.Context(), folder, Density, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
