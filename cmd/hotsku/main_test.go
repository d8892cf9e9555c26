package main

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/steps"
)

func TestAnErrorIsPrintedWithAllThatWasJoinedToIt(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		code int
		said string
	}{
		"nothing":                       {nil, results.ExitHeld, ""},
		"a code that was explained":     {exit{code: results.ExitBroken}, results.ExitBroken, ""},
		"a mistake in the command line": {usage(errors.New("no such plan")), results.ExitUsage, "hotsku: no such plan\n"},
		"a code, and servers that did not end": {
			errors.Join(exit{code: results.ExitBroken}, errors.New("redis is left")), results.ExitBroken, "hotsku: redis is left\n"},
		"two errors": {
			errors.Join(usage(errors.New("one")), environment(errors.New("two"))), results.ExitUsage, "hotsku: one\ntwo\n"},
		"an error without a code": {errors.New("broken pipe"), results.ExitEnvironment, "hotsku: broken pipe\n"},
	} {
		var said strings.Builder
		if code := report(row.err, &said); code != row.code || said.String() != row.said {
			t.Errorf("%s: %d, %q, want %d, %q", name, code, said.String(), row.code, row.said)
		}
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out, said strings.Builder
	code := run(t.Context(), []string{"serve", "--strategy", "db-conditional", "--listen", l.Addr().String(),
		"--mysql-dsn", "me:secret@tcp(127.0.0.1:1)/shop"}, &out, &said)
	if code != results.ExitEnvironment || !strings.Contains(said.String(), "address already in use; give another address by --listen") {
		t.Errorf("%d: %s", code, said.String())
	}
}

// The bench does not know the target's packages, so that each has its own names of the kinds.
func TestTheKindsOfStallAreThoseOfTheTarget(t *testing.T) {
	for kind, want := range map[results.StallKind]steps.Kind{
		results.StallOrder: steps.HoldOrder, results.StallReplica: steps.FreezeReplica, results.StallMemory: steps.LoseMemory,
	} {
		if string(kind) != string(want) {
			t.Errorf("a plan says %q and the target %q", kind, want)
		}
	}
}
