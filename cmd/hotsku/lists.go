package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/hotsku/hotsku/bench"
	"github.com/hotsku/hotsku/results"
)

// newTable returns a plain table that is printed to w by its Render.
func newTable(w io.Writer, header ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.Style().Options.DrawBorder = false
	t.Style().Options.SeparateColumns = false
	t.AppendHeader(header)
	return t
}

type scenariosCommand struct{}

// Run prints the built-in scenarios.
func (scenariosCommand) Run(to stream) error {
	t := newTable(to.out, "scenario", "shape", "load", "stock", "lease", "fault", "what it shows")
	for _, s := range bench.Scenarios() {
		stock := "never binds"
		if s.Stock > 0 {
			stock = fmt.Sprint(s.Stock)
		}
		t.AppendRow(table.Row{s.Name, s.Shape, fmt.Sprintf("%g/s for %v, %s", s.Rate, s.Duration, s.Arrivals), stock,
			s.Lease.TTL, fault(s), s.Doc})
	}
	t.Render()
	return nil
}

func fault(s results.Scenario) string {
	if s.Stall == nil {
		return "none"
	}
	length := s.Stall.For.String()
	if s.Stall.Least > 0 {
		length = fmt.Sprintf("%v to %v", s.Stall.Least, s.Stall.For)
	}
	does := map[results.StallKind]string{
		results.StallReplica: "freeze their replica for " + length,
		results.StallMemory:  "make Redis lose its memory, and stall " + length + ",",
	}[s.Stall.Kind]
	return fmt.Sprintf("%g %% of orders %s before %s", 100*s.Stall.Probability, cmp.Or(does, "stall "+length), s.Stall.Before)
}

type plansCommand struct {
	Name string `arg:"" optional:"" help:"The plan to print as YAML. Redirect it to a file, edit it, and give the file to load --plan."`
}

// Run prints one plan, or a line for each.
func (c plansCommand) Run(to stream) error {
	if c.Name != "" {
		text, err := bench.WholePlan(c.Name)
		if err != nil {
			return usage(err)
		}
		_, err = to.out.Write(text)
		return err
	}
	t := newTable(to.out, "plan", "trials", "takes about", "what for")
	for _, name := range bench.PlanNames() {
		p, err := bench.LoadPlan(name)
		if err != nil {
			return err
		}
		p.Strategies = expand(p.Strategies)
		t.AppendRow(table.Row{name, p.Blocks * len(p.Strategies) * len(p.Scenarios), bench.TimeOf(p), p.Doc})
	}
	t.Render()
	return nil
}

// version and revision are set by the linker; see the Makefile.
var version, revision = "devel", ""

type versionCommand struct{}

// Run prints the version, the revision if it is known, and what it was built with.
func (versionCommand) Run(to stream) error {
	b := build()
	line := "hotsku " + b.Version
	if b.Revision != "" {
		line += " (" + b.Revision + ")"
	}
	_, err := fmt.Fprintf(to.out, "%s %s %s/%s\n", line, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// build returns what is known of this binary: from the linker, else from what the go command recorded.
func build() results.Build {
	b := results.Build{Version: version, Revision: strings.TrimSuffix(revision, "+"), Modified: strings.HasSuffix(revision, "+")}
	info, ok := debug.ReadBuildInfo()
	if !ok || revision != "" {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
