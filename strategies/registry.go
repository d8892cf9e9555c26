package strategies

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// registry is filled by the init functions of this package's files and read-only afterwards.
var registry = map[string]Info{}

// A trailing number would be read as GOMAXPROCS by every reader of the Go benchmark format.
var validName = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

// Register makes a strategy known by its name. It panics if the name is taken or malformed, if a part is missing, or if
// the claims contradict each other: a safe strategy names no scenario that breaks it, an unsafe one at least one.
func Register(i Info) {
	switch {
	case !validName.MatchString(i.Name):
		panic(fmt.Sprintf("strategies: Register: the name %q is not lower-case words joined by '-'", i.Name))
	case i.Doc == "" || strings.Contains(i.Doc, "\n"):
		panic(fmt.Sprintf("strategies: Register %s: Doc must be one line", i.Name))
	case i.New == nil:
		panic(fmt.Sprintf("strategies: Register %s: New is nil", i.Name))
	case i.Safe != (len(i.Breaks) == 0):
		panic(fmt.Sprintf("strategies: Register %s: either it is safe or it names the scenarios that break it", i.Name))
	}
	if _, taken := registry[i.Name]; taken {
		panic(fmt.Sprintf("strategies: Register: %s is registered already", i.Name))
	}
	registry[i.Name] = i
}

// All returns every strategy: the controls first, then those that claim to be safe, each group by name.
func All() []Info {
	return slices.SortedFunc(maps.Values(registry), func(a, b Info) int {
		if a.Safe != b.Safe {
			if b.Safe {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// Names returns the names of all strategies, in the order of [All].
func Names() []string {
	var names []string
	for _, i := range All() {
		names = append(names, i.Name)
	}
	return names
}

// Get returns the strategy with the given name. Its error lists the names that exist, and suggests one that is spelled
// almost like it.
func Get(name string) (Info, error) {
	i, ok := registry[name]
	if !ok {
		return Info{}, fmt.Errorf("no strategy is named %q; %s %s", name, suggestion(name), strings.Join(Names(), ", "))
	}
	return i, nil
}

// suggestion introduces the list of names, after the one that is nearest to a wrong name, if one is near.
func suggestion(wrong string) string {
	best, fewest := "", len(wrong)/3+1
	for _, name := range Names() {
		if n := edits(wrong, name); n < fewest {
			best, fewest = name, n
		}
	}
	if best == "" {
		return "there are"
	}
	return "did you mean " + best + "? There are"
}

// edits is how many letters must be put in, taken out or changed to make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1) // the edits from the part of a that was seen to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
