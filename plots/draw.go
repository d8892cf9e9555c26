// Package plots is what is seen of a run: its figures, its report and its verdict in a table, all from stored records
// alone.
//
// The same records give the same bytes. An invalid trial is never drawn as a result: where a strategy has
// no valid trial, the figure says so in words.
package plots

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/hotsku/hotsku/results"
)

// A Drawing is what [Draw] wrote: paths below the run's folder.
type Drawing struct {
	Figures  []Figure
	HTML     string // report.html, self-contained
	Markdown string // REPORT.md, which shows the PNG files
}

// A Figure is a picture with what it says.
type Figure struct {
	Name     string // of its files
	Title    string
	Sentence string // what to see in it, computed from the data
	PNG, SVG string
}

// A figure is a picture before it is drawn.
type figure struct {
	name, title, sentence string
	sheet                 *sheet
	inline                []byte // SVG without its texts, for the report, once it was drawn
}

// alt describes the picture to those who can't see it.
func (f figure) alt() string { return f.title + ". " + f.sentence }

// The names in a run's folder.
const (
	plotsDir     = "plots"
	fileHTML     = "report.html"
	fileMarkdown = "REPORT.md"
)

// Density is the usual resolution of the PNG files in dots per inch: twice the 96 of a plain screen.
const Density = 192

// Draw draws the figures and the report of a run into its folder: plots/*.png with so many dots per inch, plots/*.svg,
// report.html and REPORT.md. Each file is replaced whole or not at all. progress, if not nil, is called after each
// figure and report, never concurrently.
//
// It fails when the evidence of a valid trial cannot be read, or a file not written.
func Draw(ctx context.Context, f *results.Folder, dots int, progress func(done, total int, name string)) (Drawing, error) {
	return drawInto(ctx, f.Dir(), f, dots, progress)
}

func drawInto(ctx context.Context, dir string, from source, dots int, progress func(int, int, string)) (Drawing, error) {
	scenes, err := gather(ctx, from)
	if err != nil {
		return Drawing{}, err
	}
	if err := os.MkdirAll(filepath.Join(dir, plotsDir), 0o755); err != nil {
		return Drawing{}, fmt.Errorf("plots: %w", err)
	}
	figures := figuresOf(scenes)
	steps := counter{total: len(figures) + 2, tell: progress}
	if err := drawAll(ctx, dir, figures, dots, &steps); err != nil {
		return Drawing{}, err
	}
	page := reportOf(from, scenes, figures)
	if err := writeReport(filepath.Join(dir, fileHTML), page.html, &steps); err != nil {
		return Drawing{}, err
	}
	if err := writeReport(filepath.Join(dir, fileMarkdown), page.markdown, &steps); err != nil {
		return Drawing{}, err
	}
	drawing := Drawing{HTML: filepath.Join(dir, fileHTML), Markdown: filepath.Join(dir, fileMarkdown)}
	for _, f := range figures {
		drawing.Figures = append(drawing.Figures, Figure{
			Name: f.name, Title: f.title, Sentence: f.sentence, PNG: f.path(dir, "png"), SVG: f.path(dir, "svg"),
		})
	}
	return drawing, nil
}

func writeReport(path string, render func() ([]byte, error), steps *counter) error {
	content, err := render()
	if err != nil {
		return fmt.Errorf("plots: %s: %w", path, err)
	}
	if err := replace(path, content); err != nil {
		return fmt.Errorf("plots: %w", err)
	}
	steps.done(filepath.Base(path))
	return nil
}

// figuresOf lists the figures of a run: first what the run is about, then each question scenario by scenario.
func figuresOf(scenes []scene) []figure {
	figures := []figure{oversoldUnits(scenes)}
	for _, s := range scenes {
		if s.drains() {
			figures = append(figures, stockTimeline(s))
		}
	}
	for _, draw := range []func(scene) figure{percentileSpectrum, latencyTimeline, outcomeTimeline} {
		for _, s := range scenes {
			figures = append(figures, draw(s))
		}
	}
	return figures
}

func (f figure) path(dir, extension string) string {
	return filepath.Join(dir, plotsDir, f.name+"."+extension)
}

// drawAll renders and writes the figures, as many at a time as there are processors.
func drawAll(ctx context.Context, dir string, figures []figure, dots int, steps *counter) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(figures)) {
		workers.Go(func() {
			for i := range next {
				if err := figures[i].write(dir, dots); err != nil {
					cancel(fmt.Errorf("plots: figure %s: %w", figures[i].name, err))
					return
				}
				steps.done(figures[i].name)
			}
		})
	}
	for i := range figures {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// write renders f, keeps an SVG for the report and writes both files.
func (f *figure) write(dir string, dots int) error {
	bare := *f.sheet
	bare.bare = true
	var err error
	if f.inline, err = drawSVG(&bare, f.alt()); err != nil {
		return err
	}
	svg, err := drawSVG(f.sheet, f.alt())
	if err != nil {
		return err
	}
	picture, err := drawPNG(f.sheet, dots)
	if err != nil {
		return err
	}
	const prolog = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
	if err := replace(f.path(dir, "svg"), append([]byte(prolog), svg...)); err != nil {
		return err
	}
	return replace(f.path(dir, "png"), picture)
}

// A counter tells how many of a known number of files are done.
type counter struct {
	total int
	tell  func(done, total int, name string)
	mu    sync.Mutex // guards n, and keeps calls of tell apart
	n     int
}

func (c *counter) done(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	if c.tell != nil {
		c.tell(c.n, c.total, name)
	}
}

// replace writes a file under another name first, so that a reader finds the old one or the new one, never half a file.
func replace(path string, content []byte) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(temporary.Name()))
		}
	}()
	_, err = temporary.Write(content)
	if err := errors.Join(err, temporary.Chmod(0o644), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
