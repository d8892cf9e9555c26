package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/hotsku/hotsku/results"
)

// onTerminal runs a command line on a terminal of so many columns and returns what it shows there. The command must end
// with the exit code.
func onTerminal(t *testing.T, columns, code int, args ...string) string {
	t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	defer outer.Close()
	number, err := unix.IoctlGetUint32(int(outer.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(outer.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(outer.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	inner, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan string)
	go func() {
		all, _ := io.ReadAll(outer) // ends in an error once nobody holds the inner side
		shown <- strings.ReplaceAll(string(all), "\r\n", "\n")
	}()
	var said strings.Builder
	if got := run(t.Context(), args, inner, &said); got != code {
		t.Errorf("exit code %d, want %d: %s", got, code, said.String())
	}
	if err := inner.Close(); err != nil {
		t.Fatal(err)
	}
	return <-shown
}

func TestATerminalGetsLinesThatFit(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	for _, row := range []struct{ columns, most int }{{60, 60}, {80, 80}, {100, 100}, {250, widest}} {
		longest := 0
		shown := onTerminal(t, row.columns, 0, "strategies", "lock-fence")
		for line := range strings.Lines(shown) {
			longest = max(longest, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
		}
		if longest > row.most || longest < row.most-15 {
			t.Errorf("%d columns: the longest line has %d, want %d or a word less:\n%s", row.columns, longest, row.most, shown)
		}
	}
	for line := range strings.Lines(onTerminal(t, 100, 0, "strategies")) {
		if n := utf8.RuneCountInString(line) - 1; n > 100 {
			t.Errorf("the table of strategies has a line of %d columns on a terminal of 100: %s", n, line)
		}
	}
}

func TestTheVerdictFitsItsTerminal(t *testing.T) {
	const run = "../../results/testdata/golden/2026-01-02T030405Z-quick" // not borne out by its files, which are made up
	const left = "Not shown here for want of room: refused, stalls, valid and goodput."
	if shown := onTerminal(t, 80, results.ExitInvalid, "audit", run); !strings.Contains(shown, "\n"+left+"\n") {
		t.Errorf("it does not say %q:\n%s", left, shown)
	}
	if shown := onTerminal(t, 120, results.ExitInvalid, "audit", run); strings.Contains(shown, "Not shown") {
		t.Errorf("on 120 columns it leaves something out:\n%s", shown)
	}
}

func TestLabelsAreBoldOnATerminalUnlessColorIsRefused(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	bold := regexp.MustCompile("(?m)^\x1b\\[1m([^\x1b]*)\x1b\\[0m")
	var labels []string
	for _, found := range bold.FindAllStringSubmatch(onTerminal(t, 80, 0, "strategies", "none"), -1) {
		labels = append(labels, found[1])
	}
	const want = "none: Mechanism: Guarantee: What breaks it: Cost: Pick it when Known users: Code:"
	if got := strings.Join(labels, " "); got != want {
		t.Errorf("bold are %q, want %q", got, want)
	}
	t.Setenv("NO_COLOR", "1")
	if shown := onTerminal(t, 80, 0, "strategies", "none"); strings.Contains(shown, "\x1b") || !strings.Contains(shown, "\nMechanism: ") {
		t.Errorf("with NO_COLOR: %q", shown)
	}
}
