package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/hotsku/hotsku/bench"
	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// progress says on a terminal by a bar, elsewhere by a line a trial, how far a run is. A nil progress is silent.
type progress struct {
	w    io.Writer
	plan results.Plan
	bar  *progressbar.ProgressBar // nil: no terminal
}

func newProgress(w io.Writer, quiet bool, plan results.Plan) *progress {
	if quiet {
		return nil
	}
	p := &progress{w: w, plan: plan}
	if terminal(w) {
		p.bar = progressbar.NewOptions(max(1, len(plan.Order)),
			progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(barWidth),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false), progressbar.OptionShowCount())
	}
	return p
}

// barWidth is the width of the bar itself; besideBar what the counts around it take.
const barWidth, besideBar = 12, 34

// describe puts a text beside the bar, cut so that the line fits the terminal: one that wraps could not be taken back.
func (p *progress) describe(text string) {
	shown := []rune(text)
	p.bar.Describe(string(shown[:min(len(shown), max(0, columns(p.w)-barWidth-besideBar))]))
}

// say prints what is going on outside the trials.
func (p *progress) say(format string, args ...any) {
	if p == nil {
		return
	}
	text := fmt.Sprintf(format, args...)
	if p.bar != nil {
		p.describe(text)
		return
	}
	fmt.Fprintln(p.w, text)
}

// event takes the events of a run.
func (p *progress) event(e bench.Event) {
	switch {
	case p == nil:
	case e.Trial != nil:
		p.finished(e)
	case p.bar != nil:
		p.describe(p.now(e))
	}
}

// now is what a bar says of the trial under way.
func (p *progress) now(e bench.Event) string {
	left := bench.TimeLeft(p.plan, e.Done).Round(time.Second)
	text := fmt.Sprintf("%v left · %s · %s", left, e.Cell.Strategy, e.Cell.Scenario)
	if e.Attempt > 1 {
		text += fmt.Sprintf(" · try %d", e.Attempt)
	}
	if l := e.Live; l != nil {
		text += fmt.Sprintf(" · sold %d of %d", l.Outcomes[api.Sold], l.Sent)
	}
	return text
}

// finished prints a line for a trial: its outcome is worth keeping on the screen.
func (p *progress) finished(e bench.Event) {
	t := e.Trial
	line := fmt.Sprintf("%3d/%d  %-15s %-16s %s", e.Done, e.Total, t.Cell.Scenario, t.Cell.Strategy, outcome(*t))
	if p.bar == nil {
		fmt.Fprintln(p.w, line)
		return
	}
	_ = p.bar.Clear() // the terminal is at fault if it cannot
	fmt.Fprintln(p.w, line)
	_ = p.bar.Set(e.Done)
}

// outcome says in a few words what a trial showed.
func outcome(t results.Trial) string {
	switch {
	case t.Verdict.State == results.Suspect:
		return "invalid: " + strings.Join(t.Verdict.Reasons, "; ")
	case t.Audit.Oversold > 0:
		return fmt.Sprintf("sold %d of %d: %d oversold", t.Audit.Sold, t.Stock, t.Audit.Oversold)
	case t.Verdict.State == results.Broken:
		return fmt.Sprintf("sold %d of %d, broken: %s", t.Audit.Sold, t.Stock, strings.Join(t.Verdict.Reasons, "; "))
	}
	return fmt.Sprintf("sold %d of %d: held", t.Audit.Sold, t.Stock)
}

// end takes the bar away.
func (p *progress) end() {
	if p != nil && p.bar != nil {
		_ = p.bar.Finish()
	}
}
