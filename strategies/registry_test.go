package strategies

import (
	"fmt"
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

func TestGetNamesWhatThereIsAndWhatWasPerhapsMeant(t *testing.T) {
	for wrong, meant := range map[string]string{
		"lock-fense":                     "lock-fence",
		"lock_fence":                     "lock-fence",
		"lockFence":                      "lock-fence",
		"dbconditional":                  "db-conditional",
		"non":                            "none",
		"":                               "",
		"nonsense":                       "",
		"a way that nobody has heard of": "",
	} {
		want := "there are"
		if meant != "" {
			want = "did you mean " + meant + "? There are"
		}
		want = fmt.Sprintf("no strategy is named %q; %s %s", wrong, want, strings.Join(Names(), ", "))
		if _, err := Get(wrong); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestEditsAreCounted(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"none", "none", 0}, {"", "none", 4}, {"none", "", 4},
		{"none", "nine", 1}, {"none", "nones", 1}, {"none", "one", 1},
		{"kitten", "sitting", 3}, {"lock-only", "only-lock", 8},
	} {
		if got := edits(row.a, row.b); got != row.want {
			t.Errorf("from %q to %q: %d edits, want %d", row.a, row.b, got, row.want)
		}
	}
}
