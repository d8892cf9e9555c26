package stack

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheGateOpensOnlyWhenItIsTold(t *testing.T) {
	for name, test := range map[string]struct {
		told string
		runs bool
	}{
		"told to go": {"go\n", true},
		"its parent died before the child was known": {"", false},
		"its parent died in the middle of the word":  {"g", false},
	} {
		t.Run(name, func(t *testing.T) {
			made := filepath.Join(t.TempDir(), "made")
			cmd := exec.Command("/bin/sh", "-c", gate, "child", "touch", made)
			cmd.Stdin = strings.NewReader(test.told)
			if err := cmd.Run(); (err == nil) != test.runs {
				t.Errorf("the gate ended with %v", err)
			}
			if _, err := os.Stat(made); (err == nil) != test.runs {
				t.Errorf("the program ran: %t, want %t", err == nil, test.runs)
			}
		})
	}
}

func TestOnlyTheEndOfALogIsQuoted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for name, test := range map[string]struct{ text, want string }{
		"a log without a word": {"", "; its log is empty"},
		"a short log":          {"one\ntwo\n", "; the end of its log:\none\ntwo"},
		"many lines": {strings.Repeat("x\n", 50) + "last\n",
			"; the end of its log:\n" + strings.Repeat("x\n", tailLines-1) + "last"},
		"an endless line": {strings.Repeat("y", 3*tailBytes), "; the end of its log:\n" + strings.Repeat("y", tailBytes)},
	} {
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := (&child{log: path}).lastWords(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	gone := &child{log: path + "-gone", err: errors.New("exit status 9")}
	if got := gone.failure().Error(); !strings.HasPrefix(got, "exit status 9; its log could not be read: ") {
		t.Errorf("a log that is gone: %q", got)
	}
}
