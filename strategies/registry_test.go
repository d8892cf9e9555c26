package strategies

import (
	"slices"
	"strings"
	"testing"
)

func TestRegisterRefuses(t *testing.T) {
	valid := Info{Name: "some-name", Doc: "does nothing", Safe: true, New: func(Env) (Strategy, error) { return nil, nil }}
	change := func(do func(*Info)) Info { i := valid; do(&i); return i }
	for name, row := range map[string]struct {
		info Info
		want string
	}{
		"a name that ends in a number, which would be read as GOMAXPROCS": {change(func(i *Info) { i.Name = "retry-3" }), "retry-3"},
		"a name in upper case":                          {change(func(i *Info) { i.Name = "Retry" }), "lower-case"},
		"no name":                                       {change(func(i *Info) { i.Name = "" }), "lower-case"},
		"a doc of two lines":                            {change(func(i *Info) { i.Doc = "a\nb" }), "one line"},
		"a strategy that cannot be made":                {change(func(i *Info) { i.New = nil }), "New"},
		"an unsafe one that names nothing it breaks in": {change(func(i *Info) { i.Safe = false }), "names the scenarios"},
		"a safe one that names what breaks it":          {change(func(i *Info) { i.Breaks = []string{"calm"} }), "names the scenarios"},
		"a name that is taken":                          {change(func(i *Info) { i.Name = "none" }), "none is registered already"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				said, _ := recover().(string)
				if !strings.Contains(said, row.want) {
					t.Errorf("it said %q, want it to say %q", said, row.want)
				}
				delete(registry, "some-name")
			}()
			Register(row.info)
		})
	}
}

func TestAllListsControlsFirstEachGroupByName(t *testing.T) {
	all := All()
	if !slices.IsSortedFunc(all, func(a, b Info) int {
		if a.Safe != b.Safe {
			return map[bool]int{false: -1, true: 1}[a.Safe]
		}
		return strings.Compare(a.Name, b.Name)
	}) {
		t.Errorf("not in order: %v", Names())
	}
}

func TestGetNamesWhatThereIs(t *testing.T) {
	if _, err := Get("nonsense"); err == nil || !strings.Contains(err.Error(), "db-conditional") {
		t.Errorf("%v, want it to list the names", err)
	}
}
