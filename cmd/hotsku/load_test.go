package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/stack"
	"github.com/hotsku/hotsku/target/stack/stacktest"
)

// asCommand is the environment that makes this test binary the command hotsku; see TestMain.
const asCommand = "HOTSKU_TEST_AS_COMMAND=1"

// program returns this test binary, which is the command hotsku under [asCommand].
func program(t *testing.T) string {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return executable
}

// plan writes a plan of short trials with the gates on the generator wide open, and returns its file. Every order gets its
// turn, however slow the machine: a trial whose orders gave up would not sell out, and so be no result.
func plan(t *testing.T, strategies string, blocks int) string {
	t.Helper()
	text := fmt.Sprintf(`
name: test
blocks: %d
retries: 2
exploratory: true
strategies: [%s]
scenarios:
  - {name: calm, duration: 1s, stock: 60, rate: 200, quantity: 3, warm_up: 100ms, timeout: 60s,
     lease: {ttl: 15s, wait: 55s, retry: 4ms}, gates: {lag_p99: 60s, cpu: 1}}
`, blocks, strategies)
	file := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// onlyRun opens the one run in a folder.
func onlyRun(t *testing.T, out string) *results.Folder {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(out, "*", "run.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("runs in %s: %v, %v", out, found, err)
	}
	folder, err := results.Open(filepath.Dir(found[0]))
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// The figures of a run must be those of the database itself, of the stored ledger's lines, and of the records.
func TestOrdersPositionsAndStockAgreeToTheUnit(t *testing.T) {
	t.Parallel()
	servers, err := stack.Start(t.Context(), stack.Options{Warden: []string{"env", asCommand, program(t), "warden"}})
	stacktest.Check(t, err)
	defer func() {
		if err := servers.Close(); err != nil {
			t.Error(err)
		}
	}()
	out := t.TempDir()
	command := exec.CommandContext(t.Context(), program(t), "load", "--plan", plan(t, "none, lock-only, db-conditional, lock-fence", 1), "--out", out)
	command.Env = append(os.Environ(), asCommand, "HOTSKU_MYSQL_DSN="+servers.DSN(), "HOTSKU_REDIS_ADDR="+servers.Redis().URL())
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	db, err := target.OpenDatabase(servers.DSN(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	folder := onlyRun(t, out)
	for _, trial := range folder.Trials() {
		orders, units, last := ledgerBySQL(t, db, trial.SKU)
		if lines := ledgerLines(t, folder, trial); lines != orders {
			t.Errorf("%s: %d lines in the stored ledger, %d rows in the database", trial.ID, lines, orders)
		}
		if trial.Audit.Orders != orders || trial.Audit.Sold != units || trial.Audit.Oversold != max(0, units-trial.Stock) {
			t.Errorf("%s: recorded %+v; the database has %d orders of %d units", trial.ID, trial.Audit, orders, units)
		}
		if trial.Strategy.Safe && (last != units || trial.Inventory.Stock != trial.Stock-units) {
			t.Errorf("%s: the last position is %d and %d units are left, of %d with %d sold", trial.ID, last, trial.Inventory.Stock, trial.Stock, units)
		}
	}
	noSecrets(t, folder.Dir(), servers.DSN(), servers.Redis().Password)
}

func ledgerBySQL(t *testing.T, db *sql.DB, sku string) (orders, units, last int64) {
	t.Helper()
	row := db.QueryRowContext(t.Context(), `SELECT COUNT(*), COALESCE(SUM(quantity), 0), COALESCE(MAX(position), 0) FROM orders WHERE sku = ?`, sku)
	if err := row.Scan(&orders, &units, &last); err != nil {
		t.Fatal(err)
	}
	return orders, units, last
}

func ledgerLines(t *testing.T, folder *results.Folder, trial results.Trial) (lines int64) {
	t.Helper()
	file, err := os.Open(filepath.Join(folder.Dir(), "trials", trial.ID, "ledger.ndjson.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(plain)
	for scanner.Scan() {
		lines++
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// noSecrets looks for the passwords in every file of a run.
func noSecrets(t *testing.T, dir, dsn, redisPassword string) {
	t.Helper()
	_, rest, _ := strings.Cut(dsn, ":")
	password, _, _ := strings.Cut(rest, "@")
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, secret := range []string{password, redisPassword} {
			if secret != "" && bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds a password", path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// However a run is ended, it leaves no process and no temporary folder, and what it had finished can be read.
func TestARunThatIsEndedLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		signal os.Signal
		when   []string
		want   int // exit code, −1 for a signal's
	}{
		"interrupted": {os.Interrupt, []string{"starting the servers", "2/12"}, results.ExitInterrupted},
		"terminated":  {syscall.SIGTERM, []string{"1/12"}, results.ExitInterrupted},
		"killed":      {os.Kill, []string{"starting the servers", "12 trials", "2/12"}, -1},
	} {
		for _, when := range row.when {
			t.Run(name+" at "+when, func(t *testing.T) {
				t.Parallel()
				available, err := conditions("services")
				if err != nil {
					t.Fatal(err)
				}
				if !available {
					t.Skip("MariaDB and Redis are not installed: make deps")
				}
				out, temp := t.TempDir(), t.TempDir()
				command := exec.Command(program(t), "load", "--plan", plan(t, "db-conditional, lock-fence", 6), "--out", out)
				command.Env = append(os.Environ(), asCommand, "TMPDIR="+temp, "HOTSKU_MYSQL_DSN=", "HOTSKU_REDIS_ADDR=")
				code := endAt(t, command, when, row.signal)
				if code != row.want {
					t.Errorf("exit code %d, want %d", code, row.want)
				}
				empty(t, temp)
				if when == "starting the servers" || when == "12 trials" {
					empty(t, out)
					return
				}
				folder := onlyRun(t, out)
				if n := len(folder.Trials()); n == 0 || n == 12 || folder.Run().State == results.Complete {
					t.Errorf("%d trials in a run that is %s", n, folder.Run().State)
				}
			})
		}
	}
}

// endAt starts a command, sends it a signal once it has said so on its standard error, and returns its exit code.
func endAt(t *testing.T, command *exec.Cmd, when string, signal os.Signal) int {
	t.Helper()
	said, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	sent := false
	var all strings.Builder
	scanner := bufio.NewScanner(said)
	for scanner.Scan() {
		all.WriteString(scanner.Text() + "\n")
		if !sent && strings.Contains(scanner.Text(), when) {
			sent = true
			if err := command.Process.Signal(signal); err != nil {
				t.Error(err)
			}
		}
	}
	_ = command.Wait() // the exit code says it
	if !sent {
		t.Fatalf("it never said %q:\n%s", when, all.String())
	}
	if t.Failed() {
		t.Log(all.String())
	}
	return command.ProcessState.ExitCode()
}

// empty waits until a folder has nothing in it: what cleans up after a killed process does so a moment later.
func empty(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		users := usersOf(t, dir)
		if len(entries) == 0 && len(users) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left in %s: %v; processes that use it: %q", dir, entries, users)
		}
	}
}

// usersOf returns the command lines of the processes that name a folder in theirs. Without /proc it finds none.
func usersOf(t *testing.T, dir string) (users []string) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		line, err := os.ReadFile(process)
		if err == nil && bytes.Contains(line, []byte(dir)) {
			users = append(users, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return users
}
