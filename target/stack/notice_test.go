package stack

import (
	"strings"
	"testing"
)

func TestParseNotice(t *testing.T) {
	f := folder{"/tmp/hotsku-a b\n", "ABC234"}
	good := map[string]notice{
		"child 123 8839201":                  {verb: verbChild, process: process{123, "8839201"}},
		"child 123 Mon Nov 30 02:00:41 2026": {verb: verbChild, process: process{123, "Mon Nov 30 02:00:41 2026"}},
		"ended 2 1":                          {verb: verbEnded, process: process{2, "1"}},
		`folder ABC234 "/tmp/hotsku-a b\n"`:  {verb: verbFolder, folder: f},
		`forget ABC234 "/tmp/hotsku-a b\n"`:  {verb: verbForget, folder: f},
		"done":                               {verb: verbDone},
	}
	for line, want := range good {
		got, err := parseNotice(line)
		if err != nil || got != want {
			t.Errorf("parseNotice(%q) = %+v, %v; want %+v", line, got, err, want)
		}
		if again := got.String(); again != line {
			t.Errorf("%q is written as %q", line, again)
		}
	}
	bad := map[string]string{
		"an empty line":               "",
		"an unknown word":             "kill 123 4",
		"the whole system":            "child 1 4",
		"our own group":               "child 0 4",
		"a process, not a group":      "child -123 4",
		"a number with a sign":        "child +123 4",
		"a number that is too large":  "child 99999999999999999999 4",
		"no birth":                    "child 123",
		"an empty birth":              "child 123 ",
		"no folder":                   "folder",
		"no token":                    `folder  "/tmp/hotsku"`,
		"a token that is a path":      `folder ../X "/tmp/hotsku"`,
		"an unquoted path":            "folder ABC /tmp/hotsku",
		"a path that was cut off":     `folder ABC "/tmp/hotsk`,
		"a relative path":             `folder ABC "tmp/hotsku"`,
		"the root":                    `folder ABC "/"`,
		"a folder of the root":        `folder ABC "/home"`,
		"a path that climbs":          `folder ABC "/tmp/../home/x"`,
		"a path that is not clean":    `folder ABC "/tmp/hotsku/"`,
		"something after the goodbye": "done now",
	}
	for name, line := range bad {
		if n, err := parseNotice(line); err == nil {
			t.Errorf("%s: parseNotice(%q) = %+v, want an error", name, line, n)
		}
	}
}

// Whatever the line, what is read from it is safe to act on, and writes the same line.
func FuzzParseNotice(f *testing.F) {
	for _, line := range []string{
		"child 123 8839201", "ended 2 Mon Nov 30", `folder ABC "/tmp/x"`, `forget A "/a/b\u00e9"`, "done",
		"child 1 1", `folder A "/"`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		n, err := parseNotice(line)
		if err != nil {
			return
		}
		if n.String() != line {
			t.Errorf("%q is written as %q", line, n.String())
		}
		switch n.verb {
		case verbChild, verbEnded:
			if n.process.pid <= 1 || n.process.birth == "" {
				t.Errorf("%q names %+v", line, n.process)
			}
		case verbFolder, verbForget:
			if n.folder.check() != nil || strings.Contains(n.folder.marker(), "/") {
				t.Errorf("%q names %+v", line, n.folder)
			}
		}
	})
}
