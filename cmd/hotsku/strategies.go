package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/hotsku/hotsku/strategies"
)

type strategiesCommand struct {
	Name     string `arg:"" optional:"" help:"The strategy to explain: how it works, what it guarantees, what breaks it, what it costs, when to pick it and who uses it."`
	Source   bool   `help:"Print the strategy's file, which shows its SQL and its Redis commands."`
	Markdown bool   `help:"Print the table as Markdown, as it stands in the README."`
}

// Help is what kong prints below the summary.
func (strategiesCommand) Help() string {
	return "A strategy that claims to be safe must never oversell, whatever fault strikes. A control is there to be caught: it must " +
		"break in the scenarios that the table names."
}

// Run prints the table, or what one strategy says of itself.
func (c strategiesCommand) Run(to stream) error {
	switch {
	case c.Name == "" && c.Source:
		return usage(errors.New("--source needs the NAME of a strategy; see hotsku strategies"))
	case c.Name != "" && c.Markdown:
		return usage(errors.New("--markdown prints the table of all strategies; leave the name out"))
	case c.Name == "":
		return c.list(to)
	}
	info, err := strategies.Get(c.Name)
	if err != nil {
		return usage(err)
	}
	d, err := strategies.Describe(c.Name)
	if err != nil {
		return err
	}
	if c.Source {
		_, err = io.WriteString(to.out, d.Source)
		return err
	}
	_, err = io.WriteString(to.out, explained(info, d, columns(to.out), to.colored()))
	return err
}

// list prints the table of all strategies.
func (c strategiesCommand) list(to stream) error {
	t := newTable(to.out, "strategy", "claims", "needs", "mechanism", "known to break in")
	for _, i := range strategies.All() {
		row := table.Row{i.Name, claim(i), needs(i), i.Doc, strings.Join(i.Breaks, ", ")}
		if c.Markdown {
			row[0] = fmt.Sprintf("[`%s`](strategies/%s)", i.Name, strategies.File(i.Name))
			row[3] = markdown.Replace(i.Doc)
		}
		t.AppendRow(row)
	}
	switch {
	case c.Markdown:
		t.RenderMarkdown()
		return nil
	case to.room() > 0:
		t.SetColumnConfigs(fitted(to.room()))
	}
	t.Render()
	return nil
}

// markdown makes plain text mean itself in Markdown; bars are the table's business.
var markdown = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "&", "&amp;", "[", `\[`)

// fitted keeps the table of the strategies within a terminal's width, by breaking its two columns of prose into lines.
func fitted(columns int) []table.ColumnConfig {
	name, scenario := 0, 0 // the longest ones; a scenario may have a comma behind it
	for _, i := range strategies.All() {
		name = max(name, len(i.Name))
		for _, s := range i.Breaks {
			scenario = max(scenario, len(s)+1)
		}
	}
	const claims, needs, paddings, narrowest = 7, 9, 5 * 2, 20
	mechanism := max(columns-name-claims-needs-scenario-paddings, narrowest)
	return []table.ColumnConfig{
		{Name: "mechanism", WidthMax: mechanism, WidthMaxEnforcer: text.WrapSoft},
		{Name: "known to break in", WidthMax: scenario, WidthMaxEnforcer: text.WrapSoft},
	}
}

func claim(i strategies.Info) string {
	if i.Safe {
		return "safe"
	}
	return "control"
}

// needs is what a strategy cannot sell without, besides the database.
func needs(i strategies.Info) string {
	switch {
	case i.Nodes > 0:
		return fmt.Sprintf("%d × Redis", i.Nodes)
	case i.Redis:
		return "Redis"
	}
	return ""
}

// widest is where lines of prose end even if the terminal goes on: longer ones are hard to read.
const widest = 100

// explained is what a strategy says of itself, in lines no longer than columns.
func explained(i strategies.Info, d strategies.Description, columns int, colored bool) string {
	claims := claim(i)
	if n := needs(i); n != "" {
		claims += ", needs " + n
	}
	if len(i.Breaks) > 0 {
		claims += ", known to break in " + strings.Join(i.Breaks, ", ")
	}
	parts := []struct{ label, content string }{
		{i.Name + ":", claims}, {"", d.Summary},
		{"Mechanism:", d.Mechanism}, {"Guarantee:", d.Guarantee}, {"What breaks it:", d.Breaks}, {"Cost:", d.Cost},
		{"Pick it when", d.PickWhen}, {"Known users:", d.KnownUsers}, {"Code:", "strategies/" + d.File},
	}
	var out strings.Builder
	for _, p := range parts {
		out.WriteString(hanging(p.label, p.content, min(columns, widest), colored) + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n") + "  printed by: hotsku strategies " + i.Name + " --source\n"
}

// hanging breaks a labelled text into lines of at most so many columns. All but the first are indented; the label is bold
// if it may be.
func hanging(label, content string, columns int, colored bool) string {
	const indent = "  "
	wrapped := text.WrapSoft(strings.TrimSpace(label+" "+content), max(columns-len(indent), 1))
	var out strings.Builder
	for n, line := range strings.Split(wrapped, "\n") {
		if n > 0 && label != "" {
			line = indent + line
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if rest, whole := strings.CutPrefix(out.String(), label); whole && label != "" && colored {
		return text.Bold.EscapeSeq() + label + text.Reset.EscapeSeq() + rest
	}
	return out.String()
}
