package plots

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"regexp"
	"strings"
	texttemplate "text/template"

	"github.com/hotsku/hotsku/results"
)

//go:embed templates
var templates embed.FS

// A report is a run in words and pictures, ready for both templates. All its texts are plain: each template escapes
// them in its own way.
type report struct {
	Run               results.Run
	Verdict           string // one sentence
	Gist              string // what was run, in a line
	Tone              string // "good", "bad" or "doubt"
	Notices           []string
	Groups            []verdictGroup
	Summary           results.Summary
	Figures           []reportFigure
	Anomalies         []trialAnomalies
	Terms, Invariants []term
	Facts             []factGroup
	Servers           []serverFacts
	Scenarios         []scenarioFacts
	Strategies,
	Events,
	Trials, Discarded [][]string
	EventNames []term
	Deviations []string
	Limits     []string
}

// A reportFigure is a drawn figure in the report.
type reportFigure struct {
	Name, Title, Sentence, Lead string
	Notes                       []string
	SVG                         template.HTML // made here, with every text from a file escaped
}

func reportOf(from source, scenes []scene, figures []figure) report {
	run, trials := from.Run(), from.Trials()
	summary := results.Summarize(run, trials)
	r := report{
		Run: run, Summary: summary, Gist: gistOf(run, trials), Groups: verdictGroups(summary),
		Terms: terms(), Invariants: invariants(),
		Anomalies: anomaliesOf(scenes), Facts: factsOf(run), Servers: serversOf(run), Scenarios: scenarioFactsOf(scenes),
		Events: eventRows(summary), EventNames: eventNames(),
		Strategies: strategyRows(scenes), Trials: trialRows(trials), Discarded: discardedRows(summary.Discarded),
		Deviations: deviationsOf(run, trials, summary), Limits: limitsOf(run, summary),
	}
	r.judge()
	for _, f := range figures {
		r.Figures = append(r.Figures, reportFigure{
			Name: f.name, Title: f.title, Sentence: f.sentence, Lead: f.sheet.lead, Notes: f.sheet.notes,
			SVG: template.HTML(f.inline),
		})
	}
	return r
}

// judge takes the verdict that was recorded, judges the records anew, and says where the two differ.
func (r *report) judge() {
	code, sentence := r.Summary.Exit()
	r.Verdict = cmp.Or(r.Run.Verdict, sentence)
	complete := r.Run.State == results.Complete
	switch {
	case code == results.ExitBroken:
		r.Tone = "bad"
	case code == results.ExitHeld && complete:
		r.Tone = "good"
	default:
		r.Tone = "doubt"
	}
	if !complete {
		reason := strings.TrimSuffix(cmp.Or(r.Run.Reason, "no reason is recorded"), ".")
		r.Notices = append(r.Notices, "This run is partial: "+reason+". What is missing was not measured.")
	}
	if r.Run.Exploratory {
		r.Notices = append(r.Notices, "This run is exploratory: it has too few trials for a decision.")
	}
	if complete && r.Run.Verdict != "" && r.Run.Exit != code {
		r.Notices = append(r.Notices, fmt.Sprintf("The run ended with exit code %d; judged anew from its records it "+
			"comes to %d: %s", r.Run.Exit, code, sentence))
	}
}

// html renders the page that needs no other file.
func (r report) html() ([]byte, error) {
	functions := template.FuncMap{"prose": prose}
	t, err := template.New("report.html").Funcs(functions).ParseFS(templates, "templates/report.html")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, r); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// What a line of prose should not be broken in: a quoted name, a number and its unit.
var whole = regexp.MustCompile(`“[^”]{1,40}”|[0-9.,]+ (?:%|[nµm]?s\b)`)

// prose escapes a sentence and keeps together what belongs together.
func prose(s string) template.HTML {
	return template.HTML(whole.ReplaceAllStringFunc(template.HTMLEscapeString(s), func(part string) string {
		return `<span class="whole">` + part + `</span>`
	}))
}

// markdown renders the same in plain text, with links to the pictures.
func (r report) markdown() ([]byte, error) {
	t, err := texttemplate.New("REPORT.md").Funcs(texttemplate.FuncMap{
		"md":    escapeMarkdown,
		"row":   markdownRow,
		"table": r.verdictMarkdown,
	}).ParseFS(templates, "templates/REPORT.md")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, r); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (r report) verdictMarkdown() (string, error) {
	var out strings.Builder
	err := VerdictTable(&out, r.Summary, Markdown, 0)
	return strings.TrimRight(out.String(), "\n"), err
}

// markdownRow joins cells into a line of a Markdown table.
func markdownRow(cells []string) string {
	escaped := make([]string, len(cells))
	for i, c := range cells {
		escaped[i] = strings.ReplaceAll(escapeMarkdown(c), "|", `\|`)
	}
	return "| " + strings.Join(escaped, " | ") + " |"
}
