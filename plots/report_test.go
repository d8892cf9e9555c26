package plots

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
)

func TestEveryReportIsWellFormedAndFetchesNothing(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			page, err := reportFor(t, c.make(t)).html()
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range faultsOf(page) {
				t.Error(fault)
			}
		})
	}
}

// What a page may not hold when it is to be opened without a network.
var (
	fetching = map[string]bool{"src": true, "srcset": true, "href": true, "action": true, "poster": true, "data": true}
	banned   = map[string]bool{
		"script": true, "link": true, "iframe": true, "object": true, "embed": true, "base": true, "img": true,
	}
	styling = regexp.MustCompile(`(?i)url\(|@import`)
)

// faultsOf lists what is wrong with a page: it is read as XML, which forgives nothing.
func faultsOf(page []byte) []string {
	var faults []string
	d := xml.NewDecoder(bytes.NewReader(page))
	d.Entity = xml.HTMLEntity
	ids, heading, captions, tables := map[string]bool{}, 0, 0, 0
	style := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return append(faults, "not well-formed: "+err.Error())
		}
		if text, ok := token.(xml.CharData); ok && style && styling.Match(text) {
			faults = append(faults, "the style fetches something")
		}
		e, ok := token.(xml.StartElement)
		style = ok && e.Name.Local == "style"
		if !ok {
			continue
		}
		name := e.Name.Local
		if banned[name] {
			faults = append(faults, "an element <"+name+">")
		}
		if len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6' {
			level := int(name[1] - '0')
			if level > heading+1 {
				faults = append(faults, "a heading <"+name+"> follows one that is more than a level above")
			}
			heading = level
		}
		switch name {
		case "table":
			tables++
		case "caption":
			captions++
		}
		faults = append(faults, faultsOfAttributes(e, ids)...)
	}
	if tables != captions {
		faults = append(faults, "a table without a caption")
	}
	return faults
}

func faultsOfAttributes(e xml.StartElement, ids map[string]bool) []string {
	var faults []string
	labelled := false
	for _, a := range e.Attr {
		switch {
		case fetching[a.Name.Local] && !strings.HasPrefix(a.Value, "#"):
			faults = append(faults, "<"+e.Name.Local+"> fetches "+a.Value)
		case strings.HasPrefix(a.Name.Local, "on"):
			faults = append(faults, "<"+e.Name.Local+"> has a handler "+a.Name.Local)
		case a.Name.Local == "style" && styling.MatchString(a.Value):
			faults = append(faults, "the style of <"+e.Name.Local+"> fetches something")
		case a.Name.Local == "id" && ids[a.Value]:
			faults = append(faults, "two elements have the id "+a.Value)
		case a.Name.Local == "id":
			ids[a.Value] = true
		case a.Name.Local == "aria-label" && a.Value != "":
			labelled = true
		}
	}
	if e.Name.Local == "svg" && !labelled {
		faults = append(faults, "a picture without a description")
	}
	return faults
}

func TestTheCheckOfPagesFindsWhatIsPlanted(t *testing.T) {
	for _, c := range []struct{ name, page string }{
		{"a script", `<p><script></script></p>`},
		{"an image from elsewhere", `<p><video src="https://example.org/a.mp4"></video></p>`},
		{"a link that leaves the page", `<a href="http://example.org">x</a>`},
		{"a style that fetches", `<style>p { background: url(http://example.org/a.png) }</style>`},
		{"an attribute that fetches", `<p style="background: url(//example.org)"></p>`},
		{"a handler", `<p onclick="x()"></p>`},
		{"a tag that is never closed", `<p><b></p>`},
		{"a heading that skips a level", `<div><h1>a</h1><h3>b</h3></div>`},
		{"a table without a caption", `<table></table>`},
		{"a picture without a description", `<svg></svg>`},
		{"an id twice", `<div><p id="a"></p><p id="a"></p></div>`},
	} {
		if len(faultsOf([]byte(c.page))) == 0 {
			t.Errorf("%s: nothing was found", c.name)
		}
	}
	if faults := faultsOf([]byte(`<div><h1 id="a">x</h1><a href="#a">y</a></div>`)); len(faults) > 0 {
		t.Errorf("a good page: %q", faults)
	}
}

func TestAPartialOrExploratoryRunSaysSoAtTheTop(t *testing.T) {
	f := small(t)
	f.run.State, f.run.Reason, f.run.Exploratory = results.Partial, "interrupted", true
	page, err := reportFor(t, f).html()
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(page), "</header>")
	for _, want := range []string{"This run is partial: interrupted.", "This run is exploratory"} {
		if !strings.Contains(head, want) {
			t.Errorf("the header lacks %q", want)
		}
	}
	if strings.Contains(head, `class="verdict good"`) {
		t.Error("a partial run has a good verdict")
	}
}

func TestARunIsJudgedAnew(t *testing.T) {
	f := small(t)
	f.run.Exit, f.run.Verdict = 0, "All is well."
	f.discard(func(results.Trial) bool { return true })
	f.run.Exit, f.run.Verdict = 0, "All is well."
	r := reportFor(t, f)
	const want = "judged anew from its records it comes to 30"
	if r.Tone != "doubt" || len(r.Notices) != 1 || !strings.Contains(r.Notices[0], want) {
		t.Errorf("tone %q, notices %q", r.Tone, r.Notices)
	}
}

func TestDiscardedTrialsAreNoResults(t *testing.T) {
	f := small(t).discard(func(results.Trial) bool { return true })
	r := reportFor(t, f)
	for _, g := range r.Groups {
		for _, row := range g.Rows {
			if row.P50.Median != "–" || row.Goodput.Median != "–" || !strings.HasPrefix(row.Valid, "0/") {
				t.Errorf("%s in %s shows %+v", row.Strategy, g.Scenario, row)
			}
		}
	}
	for _, figure := range r.Figures {
		if !strings.Contains(strings.ToLower(figure.Sentence), "no ") {
			t.Errorf("%s says %q", figure.Name, figure.Sentence)
		}
	}
	if len(r.Discarded) != len(f.trials) {
		t.Errorf("%d of %d discarded trials are listed", len(r.Discarded), len(f.trials))
	}
}

func TestNamesCannotBreakOutOfMarkdown(t *testing.T) {
	text, err := reportFor(t, hostile(t)).markdown()
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(`\]`), nil) // escaped, and so no link
	for _, bad := range []string{"<script", "](http", "\x00", "\u202e"} {
		if bytes.Contains(text, []byte(bad)) {
			t.Errorf("REPORT.md holds %q", bad)
		}
	}
	columns := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if columns > 0 && n != columns {
			t.Errorf("a table's line has %d bars, the one before it %d: %s", n, columns, line)
		}
		columns = n
	}
}

func TestTheTableOfATerminalHasNoEscapesUnlessAsked(t *testing.T) {
	f := small(t)
	f.trials[0].Strategy.Name = "\x1b[31mred"
	summary := results.Summarize(f.run, f.trials)
	for style, want := range map[TableStyle]bool{Plain: false, Colored: true, Markdown: false} {
		var out bytes.Buffer
		if err := VerdictTable(&out, summary, style, 0); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "\x1b"); got != want {
			t.Errorf("style %d: escape sequences: %v, want %v", style, got, want)
		}
	}
}

func TestATerminalsTableKeepsToItsColumns(t *testing.T) {
	f := catalogueRun(t, 1, 120)
	summary := results.Summarize(f.run, f.trials)
	for _, row := range []struct {
		columns, most int
		head, left    string
	}{
		{0, 120, "claim oversold broke bound p50 p99 goodput stalls refused valid", ""},
		{120, 120, "claim oversold broke bound p50 p99 goodput stalls refused valid", ""},
		{100, 100, "claim oversold broke bound p50 p99 goodput valid", "refused and stalls"},
		{80, 80, "claim oversold broke p50 p99", "refused, stalls, valid, goodput and bound"},
		{20, 80, "claim oversold broke p50 p99", "refused, stalls, valid, goodput and bound"},
	} {
		var out strings.Builder
		if err := VerdictTable(&out, summary, Colored, row.columns); err != nil {
			t.Fatal(err)
		}
		heads := 0
		for line := range strings.Lines(out.String()) {
			if n := widest(line); n > row.most {
				t.Errorf("%d columns: a line has %d: %s", row.columns, n, line)
			}
			if fields := strings.Fields(line); len(fields) > 2 && fields[1] == "claim" {
				if heads++; strings.Join(fields[1:], " ") != row.head {
					t.Errorf("%d columns: the head is %q, want %q", row.columns, fields[1:], row.head)
				}
			}
		}
		if heads != 5 {
			t.Errorf("%d columns: %d heads for 5 scenarios", row.columns, heads)
		}
		_, left, _ := strings.Cut(out.String(), "Not shown here for want of room: ")
		if strings.TrimSpace(strings.TrimSuffix(left, ".\n")) != row.left {
			t.Errorf("%d columns: it says that it leaves out %q, want %q", row.columns, left, row.left)
		}
	}
}

func TestOfManyOffendersOnlyThoseThatClaimToBeSafeGetAStory(t *testing.T) {
	var all []offender
	for _, name := range strings.Fields("a b c d e f g") {
		all = append(all, offender{name, name == "c", int64(1000 + len(all)), "the story of " + name})
	}
	if got, want := strings.Join(told(all, "oversold"), "; "), "the story of a; the story of b; the story of c; the story of d; "+
		"the story of e; the story of f; the story of g"; got != want {
		t.Errorf("seven: %s, want %s", got, want)
	}
	all = append(all, offender{"h", false, 1, "the story of h"})
	if got, want := strings.Join(told(all, "oversold"), "; "), "the story of c; 7 controls oversold, at worst “a” by 1,000 units, "+
		"“b” by 1,001, “d” by 1,003, “e” by 1,004, “f” by 1,005, “g” by 1,006 and “h” by 1"; got != want {
		t.Errorf("eight: %s, want %s", got, want)
	}
}

// broken fails every write.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAnErrorOfTheWriterIsReturned(t *testing.T) {
	if err := VerdictTable(broken{}, results.Summary{}, Plain, 0); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

func TestServersThatAreAlikeAreDescribedOnce(t *testing.T) {
	node := results.Server{Store: "redis node", Brand: "Redis", Version: "7.0.15", Private: true, Settings: map[string]string{"save": ""}}
	other := node
	other.Version = "7.2.0"
	run := results.Run{Servers: []results.Server{{Store: "redis", Brand: "Redis", Version: "7.0.15"}, node, node, node, other}}
	var names []string
	for _, s := range serversOf(run) {
		names = append(names, s.Name+" | "+s.Short)
	}
	want := []string{
		"redis: Redis 7.0.15, given by the user | Redis 7.0.15",
		"3 × redis node: Redis 7.0.15, started for this run | 3 × Redis 7.0.15",
		"redis node: Redis 7.2.0, started for this run | Redis 7.2.0",
	}
	if strings.Join(names, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
}

func TestStallsAreDisclosedByTheirKind(t *testing.T) {
	stall := func(kind results.StallKind, before string, least time.Duration) *results.Stall {
		return &results.Stall{Kind: kind, Before: before, Least: results.Duration(least), For: results.Duration(600 * time.Millisecond), Probability: .03}
	}
	for want, s := range map[string]*results.Stall{
		"none": nil,
		`600 ms before "update inventory", for 3 % of the orders`:                                  stall("", "update inventory", 0),
		`60 ms to 600 ms before "update inventory" or "delete units", for 3 % of the orders`:       stall(results.StallOrder, "update inventory, delete units", 60*time.Millisecond),
		`the whole replica, for 600 ms before "commit", at 3 % of the orders`:                      stall(results.StallReplica, "commit", 0),
		`Redis loses its memory and the order stalls 600 ms before "commit", at 3 % of the orders`: stall(results.StallMemory, "commit", 0),
	} {
		if got := stallText(s); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
