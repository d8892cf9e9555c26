package plots

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/hotsku/hotsku/results"
)

// A TableStyle says what a verdict table is for.
type TableStyle int

// The styles. Plain and Colored are for a terminal and show the median trial alone; Markdown has the ranges between
// trials, too.
const (
	Plain TableStyle = iota // no escape sequence, as NO_COLOR and a pipe want it
	Colored
	Markdown
)

// VerdictTable writes what each strategy came to in each scenario. An unknown figure is "–". On a terminal of so many
// columns, 0 for any number, what has no room is left out and named below. It returns the first error of w.
func VerdictTable(w io.Writer, s results.Summary, style TableStyle, columns int) error {
	text := "The run has no trial.\n"
	switch groups := verdictGroups(s); {
	case len(groups) == 0:
	case style == Markdown:
		text = markdownTables(groups)
	default:
		text = terminalTable(groups, style == Colored, columns)
	}
	_, err := io.WriteString(w, text)
	return err
}

// A verdictGroup is the part of the verdict that is about one scenario.
type verdictGroup struct {
	Scenario string
	Rows     []verdictRow
}

// A verdictRow is a cell of the summary in words.
type verdictRow struct {
	Strategy, Role, Fate string
	Tone                 string // "bad", "doubt", or "" where all is as it should be
	Oversold             string
	Broke, Bound         string // the bound is "" where all trials broke, or none is valid
	Invariants           string // those that broke
	P50, P99, Goodput    spreadText
	Strikes, Refusals    string
	Valid, Invalid       string // valid of planned trials; discarded ones
}

// A spreadText is a figure over the trials of a cell: the median, and from the lowest to the highest.
type spreadText struct{ Median, Range string }

func (s spreadText) String() string {
	if s.Range == "" {
		return s.Median
	}
	return s.Median + " (" + s.Range + ")"
}

func verdictGroups(s results.Summary) []verdictGroup {
	var groups []verdictGroup
	for _, c := range s.Cells {
		if n := len(groups); n == 0 || groups[n-1].Scenario != c.Scenario {
			groups = append(groups, verdictGroup{Scenario: c.Scenario})
		}
		last := &groups[len(groups)-1]
		last.Rows = append(last.Rows, rowOf(c))
	}
	return groups
}

func rowOf(c results.CellSummary) verdictRow {
	r := verdictRow{
		Strategy: c.Strategy.Name, Role: roleOf(c.Strategy, c.Trials > 0 || c.Strategy.Doc != ""), Fate: string(c.Claim),
		Oversold: "–", Broke: "–", Strikes: "–", Refusals: "–",
		P50:     spreadOf(c.P50, c.Valid, durationText),
		P99:     spreadOf(c.P99, c.Valid, durationText),
		Goodput: spreadOf(c.Goodput, c.Valid, rateText),
		Valid:   fmt.Sprintf("%d/%d", c.Valid, c.Blocks), Invalid: count(c.Invalid),
	}
	if c.Valid > 0 || c.WorstOversold > 0 {
		r.Oversold = count(c.WorstOversold)
	}
	if c.Valid > 0 {
		r.Broke = fmt.Sprintf("%d of %d", c.Broken, c.Valid)
		r.Strikes, r.Refusals = count(c.Strikes), count(c.Refusals)
		if c.Broken < c.Valid {
			r.Bound = "≤ " + percent(results.UpperBound(c.Broken, c.Valid))
		}
	}
	r.Invariants, r.Broke = brokenText(c.Broke, r.Broke)
	switch c.Claim {
	case results.ClaimBroken:
		r.Tone = "bad"
	case results.ClaimNotCaught, results.ClaimNoResult:
		r.Tone = "doubt"
	}
	return r
}

// brokenText lists the invariants that broke, and adds to the count of valid trials those that broke though discarded.
func brokenText(all []results.BrokenInvariant, broke string) (invariants, counted string) {
	var parts []string
	discarded := 0
	for _, b := range all {
		parts = append(parts, fmt.Sprintf("%s in %d, worst %s", b.Invariant, b.Trials, count(b.Worst)))
		discarded = max(discarded, b.Invalid)
	}
	if discarded > 0 {
		broke += fmt.Sprintf(" + %d discarded", discarded)
	}
	return strings.Join(parts, "; "), broke
}

// roleOf says what a strategy claims. Nothing is known of one that never ran.
func roleOf(s results.Strategy, known bool) string {
	switch {
	case !known:
		return "unknown"
	case s.Safe:
		return "safe"
	}
	return "control"
}

// spreadOf puts a spread in words. n is the number of valid trials: fewer with the figure is worth a word.
func spreadOf(s results.Spread, n int, format func(float64) string) spreadText {
	if s.N == 0 {
		return spreadText{Median: "–"}
	}
	out := spreadText{Median: format(s.Median)}
	if s.N > 1 {
		out.Range = between(format(s.Low), format(s.High))
	}
	if s.N < n {
		out.Range = strings.TrimSpace(out.Range + fmt.Sprintf(" in %d/%d", s.N, n))
	}
	return out
}

// between writes a range, and a unit that both ends share but once: "2.2–2.3 ms".
func between(low, high string) string {
	number, unit, _ := strings.Cut(low, " ")
	if unit != "" && strings.HasSuffix(high, " "+unit) {
		low = number
	}
	return low + "–" + high
}

func durationText(ms float64) string {
	return formatDuration(time.Duration(ms * float64(time.Millisecond)))
}

func rateText(perSecond float64) string { return decimal(perSecond, 3) + " /s" }

// A figureColumn is a column of a terminal's table.
type figureColumn struct {
	name  string
	leave int // its turn to be left out where there is no room; 0 for never
	of    func(verdictRow) string
}

var figureColumns = []figureColumn{
	{"oversold", 0, func(r verdictRow) string { return r.Oversold }},
	{"broke", 0, func(r verdictRow) string { return r.Broke }},
	{"bound", 5, func(r verdictRow) string { return cmp.Or(r.Bound, "–") }},
	{"p50", 0, func(r verdictRow) string { return r.P50.Median }},
	{"p99", 0, func(r verdictRow) string { return r.P99.Median }},
	{"goodput", 4, func(r verdictRow) string { return r.Goodput.Median }},
	{"stalls", 2, func(r verdictRow) string { return r.Strikes }},
	{"refused", 1, func(r verdictRow) string { return r.Refusals }},
	{"valid", 3, func(r verdictRow) string { return r.Valid }},
}

// terminalTable is the verdict without the columns that room, unless it is 0, is too narrow for.
func terminalTable(groups []verdictGroup, colored bool, room int) string {
	var left []string
	for turn := 1; ; turn++ {
		shown := slices.DeleteFunc(slices.Clone(figureColumns), func(c figureColumn) bool { return c.leave > 0 && c.leave < turn })
		out := figuresTable(groups, colored, shown)
		next := slices.IndexFunc(shown, func(c figureColumn) bool { return c.leave == turn })
		if next < 0 || room <= 0 || widest(out) <= room {
			if len(left) > 0 {
				out += "\nNot shown here for want of room: " + list(left) + ".\n"
			}
			return out
		}
		left = append(left, shown[next].name)
	}
}

// widest is the length of the longest line as a terminal shows it.
func widest(lines string) (columns int) {
	for line := range strings.Lines(lines) {
		columns = max(columns, text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n")))
	}
	return columns
}

// figuresTable is the verdict with a head of its own for each scenario: a long table has scrolled its first one away.
func figuresTable(groups []verdictGroup, colored bool, columns []figureColumn) string {
	t := table.NewWriter()
	style := table.StyleLight
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Options = table.Options{}
	t.SetStyle(style)
	for i, g := range groups {
		if i > 0 {
			t.AppendRow(table.Row{""})
		}
		head := table.Row{clean(g.Scenario), "claim"}
		for _, c := range columns {
			head = append(head, c.name)
		}
		t.AppendRow(head)
		t.AppendSeparator()
		for _, r := range g.Rows {
			t.AppendRow(r.cells(colored, columns))
		}
	}
	t.SetColumnConfigs(figuresToTheRight())
	var out strings.Builder
	for line := range strings.Lines(t.Render() + "\n") {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}

func (r verdictRow) cells(colored bool, columns []figureColumn) table.Row {
	fate := r.Role + ": " + r.Fate
	if colored {
		fate = paint(fate, r.Tone, r.Fate)
	}
	row := table.Row{"  " + clean(r.Strategy), fate}
	for _, c := range columns {
		row = append(row, c.of(r))
	}
	return row
}

// figuresToTheRight aligns the columns of a verdict table.
func figuresToTheRight() []table.ColumnConfig {
	var columns []table.ColumnConfig
	for n := 3; n <= 11; n++ {
		columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	return columns
}

// paint colours a fate for a terminal: red and yellow for trouble, green for a claim that held.
func paint(s, tone, fate string) string {
	code := ""
	switch {
	case tone == "bad":
		code = "1;31"
	case tone == "doubt":
		code = "33"
	case fate == string(results.ClaimHeld):
		code = "32"
	default:
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func markdownTables(groups []verdictGroup) string {
	var out strings.Builder
	for i, g := range groups {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "**%s**\n\n%s\n", escapeMarkdown(g.Scenario), g.markdown())
	}
	return out.String()
}

func (g verdictGroup) markdown() string {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"strategy", "claim", "oversold, worst", "broke", "95 % bound", "p50 of sales", "p99 of sales",
		"goodput", "stalls", "refused", "valid trials"})
	for _, r := range g.Rows {
		fate := r.Role + ": " + r.Fate
		if r.Tone == "bad" {
			fate = "**" + fate + "**"
		}
		t.AppendRow(table.Row{escapeMarkdown(r.Strategy), fate, r.Oversold, r.Broke, cmp.Or(r.Bound, "–"),
			r.P50.String(), r.P99.String(), r.Goodput.String(), r.Strikes, r.Refusals, r.Valid})
	}
	t.SetColumnConfigs(figuresToTheRight())
	return t.RenderMarkdown()
}

// escapeMarkdown makes text from a file harmless in Markdown, but for '|', which the writers of tables escape.
func escapeMarkdown(s string) string {
	var out strings.Builder
	for _, r := range clean(s) {
		switch {
		case r == '<':
			out.WriteString("&lt;")
		case r == '>':
			out.WriteString("&gt;")
		case r == '&':
			out.WriteString("&amp;")
		case strings.ContainsRune("\\`*_{}[]#~", r):
			out.WriteByte('\\')
			fallthrough
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
