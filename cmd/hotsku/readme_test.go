package main

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the commands print into the README")

// printed is a part of the README that a command prints: a table in Markdown as it is, anything else as a block of text.
var printed = regexp.MustCompile(`(?s)<!-- printed by: hotsku ([^\n]*) -->\n\n.*?\n<!-- end -->`)

func TestTheReadmeShowsWhatTheCommandsPrint(t *testing.T) {
	const file = "../../README.md"
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	is := printed.ReplaceAllFunc(was, func(part []byte) []byte {
		command := string(printed.FindSubmatch(part)[1])
		commands = append(commands, command)
		return []byte("<!-- printed by: hotsku " + command + " -->\n\n" + printedBy(t, command) + "\n<!-- end -->")
	})
	if got, want := strings.Join(commands, "; "), "strategies --markdown; --help"; got != want {
		t.Errorf("the README marks the output of %q, want %q", got, want)
	}
	switch {
	case bytes.Equal(was, is):
	case !*update:
		t.Error("a command prints something else than the README says; run go test ./cmd/hotsku -update")
	default:
		if err := os.WriteFile(file, is, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// printedBy returns what a command prints, fit for Markdown.
func printedBy(t *testing.T, command string) string {
	t.Helper()
	var out, said strings.Builder
	if code := run(t.Context(), strings.Fields(command), &out, &said); code != 0 || said.String() != "" {
		t.Fatalf("hotsku %s: exit code %d: %s", command, code, said.String())
	}
	if strings.Contains(command, "--markdown") {
		return out.String()
	}
	return "```\n" + strings.TrimSpace(out.String()) + "\n```\n"
}
