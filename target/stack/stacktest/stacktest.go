// Package stacktest gives the tests of other packages a stack of real servers, one for each test binary.
//
//	func TestMain(m *testing.M) { stacktest.Main(m) }
//
//	func TestSale(t *testing.T) {
//		s := stacktest.Start(t)
//		…
//	}
package stacktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/hotsku/hotsku/target/stack"
)

// RequireServices is the environment variable that, set to 1, makes tests fail where they would skip for want of a
// server.
const RequireServices = "HOTSKU_REQUIRE_SERVICES"

// wardenCommand is the argument that makes a test binary a warden.
const wardenCommand = "stacktest-warden"

var (
	inMain bool // Main runs, so that this binary can be a warden
	shared struct {
		once  sync.Once
		stack *stack.Stack
		err   error
	}
)

// Main runs the tests of a package that calls Start, ends the shared stack and exits. Call it from TestMain, which
// must do nothing before it that a second process of the same binary, the warden, should not do.
func Main(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == wardenCommand {
		if err := stack.RunWarden(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	inMain = true
	code := m.Run()
	if err := shared.stack.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Warden returns the command line that makes this test binary a warden, for tests that start a stack of their own.
func Warden(t testing.TB) []string {
	t.Helper()
	if !inMain {
		t.Fatal("stacktest: TestMain of this package must call stacktest.Main")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{exe, wardenCommand}
}

// Start returns the stack that all tests of the binary share; the first call starts it. Where no server is
// installed the test is skipped, or fails if [RequireServices] says so. Tests must not disturb one another: use SKUs
// and keys of their own. Servers can be named by HOTSKU_MYSQL_DSN and HOTSKU_REDIS_ADDR.
func Start(t testing.TB) *stack.Stack {
	t.Helper()
	warden := Warden(t)
	shared.once.Do(func() {
		shared.stack, shared.err = stack.Start(context.Background(), stack.Options{
			MySQLDSN:  os.Getenv("HOTSKU_MYSQL_DSN"),
			RedisAddr: os.Getenv("HOTSKU_REDIS_ADDR"),
			Warden:    warden,
		})
	})
	Check(t, shared.err)
	return shared.stack
}

// Check ends the test if err isn't nil: skipped where a server isn't installed and need not be, failed otherwise.
func Check(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	absent := errors.Is(err, stack.ErrNoMariaDB) || errors.Is(err, stack.ErrNoRedis)
	if absent && os.Getenv(RequireServices) != "1" {
		t.Skip(err)
	}
	t.Fatal(err)
}
