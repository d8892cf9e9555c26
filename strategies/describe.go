package strategies

import (
	"embed"
	"errors"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"strings"
)

// A Description is what the doc comment of a strategy's type says, part by part. Each part is plain text, its paragraphs
// separated by an empty line and not broken into lines.
type Description struct {
	Summary   string // begins with the strategy's name
	Mechanism string
	Guarantee string
	Breaks    string // what breaks it, or what it does not protect from
	Cost      string
	PickWhen  string // completes the words "Pick it when"
	// KnownUsers says who does it so, and where to read about it.
	KnownUsers string

	File   string // the name of the strategy's file
	Source string // what is in it
}

// A docPart begins a paragraph of a doc comment with its label, but for the summary, which has none.
type docPart struct {
	label string
	of    func(*Description) *string
}

// docParts are what a strategy's doc comment consists of, in this order.
var docParts = []docPart{
	{"", func(d *Description) *string { return &d.Summary }},
	{"Mechanism:", func(d *Description) *string { return &d.Mechanism }},
	{"Guarantee:", func(d *Description) *string { return &d.Guarantee }},
	{"What breaks it:", func(d *Description) *string { return &d.Breaks }},
	{"Cost:", func(d *Description) *string { return &d.Cost }},
	{"Pick it when", func(d *Description) *string { return &d.PickWhen }},
	{"Known users:", func(d *Description) *string { return &d.KnownUsers }},
}

// sources are this package's files, so that a strategy's own text is what is shown of it. A pattern can leave nothing
// out: the tests come along.
//
//go:embed *.go
var sources embed.FS

// Describe returns what the strategy with the given name says of itself. Its error lists the names that exist, or names the
// strategy's file and what is missing there. Every call parses the file anew.
func Describe(name string) (Description, error) {
	if _, err := Get(name); err != nil {
		return Description{}, err
	}
	source, err := sources.ReadFile(File(name))
	if err != nil {
		return Description{}, fmt.Errorf("strategy %s has no file of its own: %w", name, err)
	}
	return describe(name, source)
}

// describe is [Describe] for a strategy whose file holds source.
func describe(name string, source []byte) (Description, error) {
	file, typeName := File(name), typeOf(name)
	text, err := docOf(source, typeName)
	if err != nil {
		return Description{}, fmt.Errorf("%s: %w", file, err)
	}
	d, err := parseDescription(text, typeName)
	if err != nil {
		return Description{}, fmt.Errorf("%s: the doc comment of %s %w", file, typeName, err)
	}
	d.Summary = name + strings.TrimPrefix(d.Summary, typeName)
	d.File, d.Source = file, string(source)
	return d, nil
}

// File returns the name of the file of the strategy with the given name: lock_fence.go for lock-fence.
func File(name string) string { return strings.ReplaceAll(name, "-", "_") + ".go" }

// typeOf returns the name of a strategy's type: lockFence for lock-fence.
func typeOf(name string) string {
	words := strings.Split(name, "-")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

// docOf returns the text of the doc comment of a type, without the comment's own signs.
func docOf(source []byte, typeName string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	for _, d := range file.Decls {
		general, ok := d.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		for _, spec := range general.Specs {
			declared := spec.(*ast.TypeSpec)
			switch {
			case declared.Name.Name != typeName:
			case declared.Doc != nil:
				return declared.Doc.Text(), nil
			default:
				return general.Doc.Text(), nil
			}
		}
	}
	return "", fmt.Errorf("it declares no type %s", typeName)
}

// parseDescription sorts the paragraphs of a doc comment into parts. A paragraph without a label goes on with the part
// before it. The error completes a sentence about the comment.
func parseDescription(text, typeName string) (d Description, err error) {
	paragraphs, err := paragraphsOf(text)
	if err != nil {
		return Description{}, err
	}
	if len(paragraphs) == 0 {
		return Description{}, errors.New("is empty")
	}
	if !strings.HasPrefix(paragraphs[0], typeName+" ") {
		return Description{}, fmt.Errorf("does not begin with %q", typeName+" ")
	}
	at := 0
	for _, paragraph := range paragraphs {
		if next := labelled(paragraph); next > 0 {
			if next != at+1 {
				return Description{}, misplaced(at, next)
			}
			at, paragraph = next, strings.TrimSpace(strings.TrimPrefix(paragraph, docParts[next].label))
		}
		content := docParts[at].of(&d)
		*content = strings.TrimSpace(*content + "\n\n" + paragraph)
	}
	if at+1 < len(docParts) {
		return Description{}, fmt.Errorf("lacks a paragraph that begins with %q", docParts[at+1].label)
	}
	for _, p := range docParts {
		if *p.of(&d) == "" {
			return Description{}, fmt.Errorf("says nothing after %q", p.label)
		}
	}
	return d, nil
}

// labelled returns the number of the part that a paragraph begins, or 0.
func labelled(paragraph string) int {
	for i, p := range docParts[1:] {
		rest, found := strings.CutPrefix(paragraph, p.label)
		if found && (rest == "" || rest[0] == ' ') {
			return i + 1
		}
	}
	return 0
}

// misplaced says why part number next cannot follow part number at.
func misplaced(at, next int) error {
	if next <= at {
		return fmt.Errorf("has %q twice or too late", docParts[next].label)
	}
	return fmt.Errorf("lacks a paragraph that begins with %q before the one with %q", docParts[at+1].label, docParts[next].label)
}

// paragraphsOf returns the paragraphs of a doc comment, each in one line.
func paragraphsOf(text string) ([]string, error) {
	// A name in brackets is a link to a symbol of this package or of one that it imports.
	of := comment.Parser{LookupSym: func(string, string) bool { return true }}
	unwrapped := comment.Printer{TextWidth: -1}
	var paragraphs []string
	for _, block := range of.Parse(text).Content {
		switch b := block.(type) {
		case *comment.Paragraph:
		case *comment.Heading: // what a short paragraph without a full stop is taken for
			block = &comment.Paragraph{Text: b.Text}
		default:
			return nil, errors.New("holds a list or an indented block; write plain paragraphs")
		}
		line := unwrapped.Text(&comment.Doc{Content: []comment.Block{block}})
		paragraphs = append(paragraphs, strings.TrimSpace(string(line)))
	}
	return paragraphs, nil
}
