package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this binary the command hotsku, so that scripts run it, and so that it can start itself as replica and
// warden.
func TestMain(m *testing.M) {
	dots = 36
	// The tests wait for servers more than they compute.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	if slices.Contains(os.Environ(), asCommand) {
		main()
	}
	testscript.Main(m, map[string]func(){"hotsku": main})
}

// TestScripts runs the command line as its users do. Those that begin with [!services] need MariaDB and Redis.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Condition: conditions,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits}})
}

// conditions are what scripts may ask for: [services] holds where the servers are installed, or must be.
func conditions(name string) (bool, error) {
	if name != "services" {
		return false, fmt.Errorf("no such condition: %s", name)
	}
	if os.Getenv("HOTSKU_REQUIRE_SERVICES") == "1" {
		return true, nil
	}
	installed := func(programs ...string) bool {
		for _, program := range programs {
			for _, path := range []string{program, "/usr/sbin/" + program} {
				if _, err := exec.LookPath(path); err == nil {
					return true
				}
			}
		}
		return false
	}
	return installed("mariadbd", "mysqld") && installed("redis-server", "valkey-server"), nil
}

// exits runs a command and checks its exit code: exits 2 hotsku load --plan nonsense.
func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
