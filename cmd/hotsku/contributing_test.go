package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hotsku/hotsku/strategies"
)

// TestOneNewFileAddsAStrategy builds hotsku with the strategy of CONTRIBUTING.md laid over the sources as the one new file
// that it is said to need.
func TestOneNewFileAddsAStrategy(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the command")
	}
	compiler, err := exec.LookPath("go")
	if err != nil {
		t.Skipf("it builds the command: %v", err)
	}
	name, source := exampleOf(t, "../../CONTRIBUTING.md")
	command := filepath.Join(t.TempDir(), "hotsku")
	// As make build does it, so that most of it is built already.
	build := exec.CommandContext(t.Context(), compiler, "build", "-trimpath", "-buildvcs=false", "-o", command,
		"-overlay", overlay(t, "strategies/"+strategies.File(name), source), "./cmd/hotsku")
	build.Dir = "../.."
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, said)
	}
	prints := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), command, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("hotsku %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	if list := prints("strategies"); !regexp.MustCompile(`(?m)^ ` + name + ` +safe `).MatchString(list) {
		t.Errorf("hotsku strategies does not list %s as safe:\n%s", name, list)
	}
	if said := prints("strategies", name); !strings.Contains(said, "\nMechanism: the UPDATE takes the units only if enough are left") {
		t.Errorf("hotsku strategies %s says:\n%s", name, said)
	}
	if printed := prints("strategies", name, "--source"); printed != source {
		t.Errorf("--source prints:\n%s", printed)
	}
}

// exampleOf returns the first block of Go in a Markdown file, and the name of the strategy that it registers.
func exampleOf(t *testing.T, file string) (name, source string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)\n```go\n(.*?)```\n").FindSubmatch(text)
	if block == nil {
		t.Fatalf("%s has no block of Go", file)
	}
	registered := regexp.MustCompile(`Name: "([a-z-]+)"`).FindSubmatch(block[1])
	if registered == nil {
		t.Fatalf("the block of Go in %s registers nothing", file)
	}
	return string(registered[1]), string(block[1])
}

// overlay writes a file beside the sources and returns the description of that for the go command: as if it stood at the
// given place below the module's root, which must be free.
func overlay(t *testing.T, place, content string) string {
	t.Helper()
	place, err := filepath.Abs(filepath.Join("../..", place))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(place); err == nil {
		t.Fatalf("%s is no new file", place)
	}
	file := filepath.Join(t.TempDir(), filepath.Base(place))
	description, err := json.Marshal(map[string]map[string]string{"Replace": {place: file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{file: []byte(content), file + ".json": description} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file + ".json"
}
