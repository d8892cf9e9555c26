package hotsku_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/hotsku/hotsku/"

// mayImport is the structure of hotsku: what each package may import of the others, tests aside. It is what lets an old
// run be redrawn without a server, any server that speaks the contract be measured, and a strategy be read alone.
// A new arrow is a decision about the structure, not a line to add until the build passes.
var mayImport = map[string][]string{
	"strategies":             {},
	"target/api":             {},
	"target/steps":           {},
	"target/stack":           {},
	"target/stack/stacktest": {"target/stack"},
	"target":                 {"strategies", "target/api", "target/steps"},
	"results":                {"target/api"},
	"bench/attack":           {"results", "target/api"},
	"bench/audit":            {"results", "target/api"},
	"bench":                  {"bench/attack", "bench/audit", "results", "target/api"},
	"plots":                  {"results", "target/api"},
	"cmd/hotsku":             {"bench", "bench/attack", "bench/audit", "plots", "results", "strategies", "target", "target/api", "target/stack", "target/steps"},
}

func TestImportsFollowTheStructure(t *testing.T) {
	listed, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(listed)) {
		fields := strings.Fields(line)
		name, ours := strings.CutPrefix(fields[0], module)
		if !ours {
			continue // the module's root holds this test alone
		}
		seen[name] = true
		allowed, known := mayImport[name]
		if !known {
			t.Errorf("%s has no place in the structure", name)
		}
		for _, path := range fields[1:] {
			if imported, ours := strings.CutPrefix(path, module); ours && !slices.Contains(allowed, imported) {
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
	for name := range mayImport {
		if !seen[name] {
			t.Errorf("%s is in the structure and not in the tree", name)
		}
	}
}
