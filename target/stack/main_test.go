package stack

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The test binary plays every part: it is also the warden, a parent that gets killed, and the replicas. The first
// argument says which.
var parts = map[string]func(args []string) error{
	"part-warden":  func([]string) error { return RunWarden(os.Stdin, os.Stdout) },
	"part-parent":  playParent,
	"part-replica": playReplica,
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if play, ok := parts[os.Args[1]]; ok {
			if err := play(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	// These tests wait for servers more than they compute.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := shared.stack.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func self() string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return exe
}

func itoa(n int) string { return strconv.Itoa(n) }

func wardenCommand() []string { return []string{self(), "part-warden"} }

// playParent starts a stack with a replica and a guarded folder in the folder args[0], says so, and closes it when it
// is asked to end.
func playParent(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	s, err := Start(ctx, Options{TempDir: args[0], RedisNodes: 2, Warden: wardenCommand()})
	if err != nil {
		return err
	}
	err = func() error {
		if _, err := s.StartReplica(ctx, replicaCommand("r1", "serve")); err != nil {
			return err
		}
		keep, err := s.Warden().Guard(filepath.Join(args[0], "half-written"))
		if err != nil {
			return err
		}
		first := s.warden.current()
		fmt.Println("started", first.cmd.Process.Pid)
		go func() {
			if within(patience, func() bool { return s.warden.current() != first }) {
				fmt.Println("replaced")
			}
		}()
		<-ctx.Done()
		return keep()
	}()
	return errors.Join(err, s.Close())
}

// current returns the incarnation that knows all: it is replaced and told under the lock.
func (w *Warden) current() *wardenProcess {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live
}

func replicaCommand(name string, args ...string) Command {
	return Command{Name: name, Path: self(), Args: append([]string{"part-replica"}, args...)}
}

// askedAgain is what a replica says when it is asked for the second time: whoever asks has read its first answer then.
const askedAgain = "asked again"

// playReplica is a replica with the habit args[0].
func playReplica(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Fprintln(os.Stderr, "habit:", args[0], os.Getenv("REPLICA_NOTE"))
	switch args[0] {
	case "exit-early":
		return errors.New("no such table: inventory")
	case "never-listen":
		<-ctx.Done()
		return nil
	case "bad-address":
		fmt.Println("listening on the roof")
		<-ctx.Done()
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("a line before")
	fmt.Printf("listening on http://%s\n", l.Addr())
	status := http.StatusOK
	switch args[0] {
	case "never-ready":
		status = http.StatusServiceUnavailable
	case "exit-unready":
		return errors.New("lost the database")
	case "ignore-term":
		signal.Ignore(syscall.SIGTERM)
	case "talkative":
		fmt.Println(strings.Repeat("x", 1<<20))
	}
	var asked atomic.Int64
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 2 {
			fmt.Fprintln(os.Stderr, askedAgain)
		}
		w.WriteHeader(status)
		fmt.Fprintln(w, "redis: refused")
	})}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if args[0] == "fail-at-end" {
		return errors.New("could not flush")
	}
	return nil
}

// check ends the test if err isn't nil: skipped where a server isn't installed and need not be, failed otherwise.
func check(t testing.TB, err error) {
	t.Helper()
	if (errors.Is(err, ErrNoMariaDB) || errors.Is(err, ErrNoRedis)) && os.Getenv("HOTSKU_REQUIRE_SERVICES") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// needServers skips or fails a test that starts servers by way of another process.
func needServers(t *testing.T) {
	t.Helper()
	_, err := findBinaries(Options{})
	check(t, err)
}

// testStack starts a stack in a folder of the test's own, and ends it with the test.
func testStack(t testing.TB, o Options) *Stack {
	t.Helper()
	if o.TempDir == "" {
		o.TempDir = t.TempDir()
	}
	o.Warden = wardenCommand()
	s, err := Start(t.Context(), o)
	check(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// shared is the stack of all tests that leave it as it was.
var shared struct {
	once  sync.Once
	stack *Stack
	err   error
}

func sharedStack(t testing.TB) *Stack {
	t.Helper()
	shared.once.Do(func() {
		shared.stack, shared.err = Start(context.Background(), Options{RedisNodes: 2, Warden: wardenCommand()})
	})
	check(t, shared.err)
	return shared.stack
}

// textLog returns a logger and a function that returns what was logged.
func textLog(t testing.TB) (*slog.Logger, func() string) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelDebug})), func() string {
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// tracesOf lists the processes that work in the folder dir or name it in their arguments, by ps and, where it exists,
// /proc. Dead ones that nobody reaped don't count.
func tracesOf(t testing.TB, dir string) []string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-ww", "-o", "pid=", "-o", "stat=", "-o", "args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	var traces []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || strings.HasPrefix(fields[1], "Z") {
			continue
		}
		cwd, err := os.Readlink("/proc/" + fields[0] + "/cwd")
		if strings.Contains(line, dir) || err == nil && strings.HasPrefix(cwd, dir) {
			traces = append(traces, strings.TrimSpace(line))
		}
	}
	return traces
}

// patience is how long a test waits for what must come: longer than the slowest machine needs.
const patience = time.Minute

// within polls until ok, and reports whether that came before the limit.
func within(limit time.Duration, ok func() bool) bool {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return ok()
}

func entries(t testing.TB, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
