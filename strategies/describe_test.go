package strategies

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEveryStrategyDescribesItself(t *testing.T) {
	for _, i := range All() {
		t.Run(i.Name, func(t *testing.T) {
			d, err := Describe(i.Name)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(d.Summary, i.Name+" ") {
				t.Errorf("the summary begins with %.30q, want the name", d.Summary)
			}
			for _, p := range docParts {
				if text := *p.of(&d); !strings.HasSuffix(text, ".") {
					t.Errorf("%q does not end with a full stop: %q", p.label, text)
				}
			}
			if want := "\ntype " + typeOf(i.Name) + " "; !strings.Contains(d.Source, want) {
				t.Errorf("the source in %s has no %q", d.File, want)
			}
		})
	}
}

// described is a strategy's file, with a comment that has all its parts.
const described = `package strategies

// myWay sells. Carefully: see
// [ErrSoldOut].
//
// Mechanism: it looks
// first.
//
// Guarantee: none.
//
// It has a second paragraph.
//
// What breaks it: a look.
//
// Cost: a look
//
// Pick it when nobody looks.
//
// Known users: none known.
type myWay struct{ Env }
`

func TestADescriptionIsTheDocCommentPartByPart(t *testing.T) {
	want := Description{
		Summary: "my-way sells. Carefully: see ErrSoldOut.", Mechanism: "it looks first.",
		Guarantee: "none.\n\nIt has a second paragraph.", Breaks: "a look.", Cost: "a look", PickWhen: "nobody looks.",
		KnownUsers: "none known.", File: "my_way.go", Source: described,
	}
	if got, err := describe("my-way", []byte(described)); err != nil || got != want {
		t.Errorf("%v\n%+v, want\n%+v", err, got, want)
	}
	grouped := strings.NewReplacer("// myWay sells", "type (\nother int\n// myWay sells", "type myWay struct{ Env }", "myWay struct{ Env }\n)").
		Replace(described)
	if got, err := describe("my-way", []byte(grouped)); err != nil || got.Cost != "a look" {
		t.Errorf("in a group: %+v, %v", got, err)
	}
}

func TestWhatADocCommentLacksIsNamedWithItsFile(t *testing.T) {
	for name, row := range map[string]struct{ old, new, want string }{
		"a part that is missing":              {"// Cost: a look\n//\n", "", `my_way.go: the doc comment of myWay lacks a paragraph that begins with "Cost:" before the one with "Pick it when"`},
		"the last part is missing":            {"//\n// Known users: none known.\n", "", `my_way.go: the doc comment of myWay lacks a paragraph that begins with "Known users:"`},
		"a part that stands twice":            {"// Cost: a look", "// Guarantee: a look", `my_way.go: the doc comment of myWay has "Guarantee:" twice or too late`},
		"a part in the middle of a paragraph": {"//\n// Cost:", "// Cost:", `my_way.go: the doc comment of myWay lacks a paragraph that begins with "Cost:" before the one with "Pick it when"`},
		"a part that says nothing":            {"Cost: a look", "Cost:", `my_way.go: the doc comment of myWay says nothing after "Cost:"`},
		"a label that goes on":                {"Pick it when nobody", "Pick it whenever somebody", `my_way.go: the doc comment of myWay lacks a paragraph that begins with "Pick it when" before the one with "Known users:"`},
		"a comment that begins with a label":  {"// myWay sells. Carefully: see\n// [ErrSoldOut].\n//\n", "", `my_way.go: the doc comment of myWay does not begin with "myWay "`},
		"a list":                              {"// Cost: a look\n", "// Cost:\n//   - a look\n", `my_way.go: the doc comment of myWay holds a list or an indented block; write plain paragraphs`},
		"an indented block":                   {"// Cost: a look\n", "// Cost: this:\n//\n//\ta look\n", `my_way.go: the doc comment of myWay holds a list or an indented block; write plain paragraphs`},
		"no comment at all":                   {described, "package strategies\n\ntype myWay struct{}\n", `my_way.go: the doc comment of myWay is empty`},
		"a type of another name":              {"type myWay struct", "type ourWay struct", `my_way.go: it declares no type myWay`},
		"a variable of that name":             {"type myWay struct{ Env }", "var myWay int", `my_way.go: it declares no type myWay`},
		"a file that is no Go":                {"package", "baggage", `my_way.go: 1:1: expected 'package', found baggage`},
		"a comment that is not at the type":   {"type myWay", "\ntype myWay", `my_way.go: the doc comment of myWay is empty`},
	} {
		source := strings.Replace(described, row.old, row.new, 1)
		if source == described {
			t.Errorf("%s: nothing was changed", name)
		}
		if _, err := describe("my-way", []byte(source)); err == nil || err.Error() != row.want {
			t.Errorf("%s:\n%v, want\n%s", name, err, row.want)
		}
	}
}

func TestDescribeKnowsOnlyStrategiesThatAreRegisteredAndHaveAFile(t *testing.T) {
	if _, err := Describe("lock-fense"); err == nil || !strings.Contains(err.Error(), "did you mean lock-fence? There are ") {
		t.Errorf("%v, want the names", err)
	}
	Register(Info{Name: "some-name", Doc: "does nothing", Safe: true, New: func(Env) (Strategy, error) { return nil, nil }})
	defer delete(registry, "some-name")
	const want = "strategy some-name has no file of its own: open some_name.go: file does not exist"
	if _, err := Describe("some-name"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Whatever stands in a comment, either it is refused with a reason, or every part of it says something, in paragraphs of one
// line none of which begins with a label.
func FuzzDescription(f *testing.F) {
	add := func(name string, source []byte) {
		if text, err := docOf(source, typeOf(name)); err == nil {
			f.Add(strings.TrimPrefix(text, typeOf(name)))
		}
	}
	add("my-way", []byte(described))
	for _, name := range Names() {
		source, err := sources.ReadFile(File(name))
		if err != nil {
			f.Fatal(err)
		}
		add(name, source)
	}
	f.Add(" is.\n\nMechanism:\n\nCost:")
	f.Add(" is.\n\n# Mechanism: a\n\nGuarantee: [a]\n\n[a]: b\n\nCost:\n  - x\n\nPick it when\n\n\tKnown users:")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDescription("myWay"+text, "myWay")
		if err != nil {
			if err.Error() == "" {
				t.Error("it was refused without a reason")
			}
			return
		}
		for _, p := range docParts {
			content := *p.of(&d)
			if content == "" || content != strings.TrimSpace(content) || (utf8.ValidString(text) && !utf8.ValidString(content)) {
				t.Errorf("%q: %q", p.label, content)
			}
			for i, paragraph := range strings.Split(content, "\n\n") {
				if strings.Contains(paragraph, "\n") {
					t.Errorf("%q has a paragraph of several lines: %q", p.label, paragraph)
				}
				if i > 0 && labelled(paragraph) > 0 {
					t.Errorf("%q has a paragraph that begins with a label: %q", p.label, paragraph)
				}
			}
		}
	})
}
