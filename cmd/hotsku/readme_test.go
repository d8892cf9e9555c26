package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
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

// printedBy returns what a command prints, fit for Markdown. It runs in a process of its own, in which no other test has
// registered anything.
func printedBy(t *testing.T, command string) string {
	t.Helper()
	process := exec.CommandContext(t.Context(), program(t), strings.Fields(command)...)
	process.Env = append(os.Environ(), asCommand)
	out, err := process.Output()
	if err != nil {
		t.Fatalf("hotsku %s: %v", command, err)
	}
	if strings.Contains(command, "--markdown") {
		return string(out)
	}
	return "```\n" + strings.TrimSpace(string(out)) + "\n```\n"
}
