package hotsku_test

import (
	"errors"
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

// The peers that the leases are compared with are in a module of their own, so that nobody who builds hotsku gets them.
func TestPeersStayInTheirModule(t *testing.T) {
	for _, path := range strings.Fields(goList(t, "-test", "-deps", "-f", "{{.ImportPath}}", "./...")) {
		if strings.HasPrefix(path, "github.com/go-redsync/") || strings.HasPrefix(path, "github.com/bsm/") {
			t.Errorf("hotsku depends on %s", path)
		}
	}
	allowed := []string{"strategies", "target/stack/stacktest"}
	imports := strings.Fields(goList(t, "-C", "bench/peers", "-f", `{{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "./..."))
	for _, path := range imports {
		if imported, ours := strings.CutPrefix(path, module); ours && !slices.Contains(allowed, imported) {
			t.Errorf("bench/peers imports %s", imported)
		}
	}
	if !slices.Contains(imports, module+"strategies") {
		t.Errorf("bench/peers does not measure hotsku: it imports %q", imports)
	}
}

// goList returns what go list prints.
func goList(t *testing.T, args ...string) string {
	t.Helper()
	listed, err := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("go list: %v: %s", err, failed.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	return string(listed)
}

func TestImportsFollowTheStructure(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(goList(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")) {
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
