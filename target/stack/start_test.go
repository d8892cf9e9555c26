package stack

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestAStackLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	began := time.Now()
	s := testStack(t, Options{TempDir: dir})
	t.Logf("both servers ready after %v", time.Since(began).Round(time.Millisecond))
	if _, err := s.StartReplica(t.Context(), replicaCommand("r1", "serve")); err != nil {
		t.Fatal(err)
	}
	if got := tracesOf(t, dir); len(got) < 2 {
		t.Fatalf("the test can't see the servers that it must not find later: %q", got)
	}
	began = time.Now()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("closed after %v", time.Since(began).Round(time.Millisecond))
	if got := tracesOf(t, dir); len(got) > 0 {
		t.Errorf("processes left: %q", got)
	}
	if got := entries(t, dir); len(got) > 0 {
		t.Errorf("files left: %q", got)
	}
	if err := s.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if err := s.Err(); err != nil {
		t.Errorf("Err after Close: %v", err)
	}
	if _, err := s.StartReplica(t.Context(), replicaCommand("r2", "serve")); err == nil {
		t.Error("a replica was started on a closed stack")
	}
}

func TestCloseOfNoStackIsHarmless(t *testing.T) {
	var s *Stack
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestAStackServesAndDescribesItself(t *testing.T) {
	s := sharedStack(t)
	db, err := sql.Open("mysql", s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	t.Run("rows that match but don't change are not counted as affected", func(t *testing.T) {
		for _, statement := range []string{
			"CREATE TABLE inventory (sku VARCHAR(64) PRIMARY KEY, stock BIGINT NOT NULL) ENGINE=InnoDB",
			"INSERT INTO inventory VALUES ('a', 1), ('A', 1)", // the collation tells them apart
		} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		result, err := db.ExecContext(t.Context(), "UPDATE inventory SET stock = ? WHERE sku = ?", 1, "a")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := result.RowsAffected(); n != 0 || err != nil {
			t.Errorf("%d rows affected, error %v; want 0", n, err)
		}
	})
	t.Run("the database's clock is UTC", func(t *testing.T) {
		var now time.Time
		if err := db.QueryRowContext(t.Context(), "SELECT CURRENT_TIMESTAMP(6)").Scan(&now); err != nil {
			t.Fatal(err)
		}
		if off := time.Since(now).Abs(); off > time.Minute || now.Location() != time.UTC {
			t.Errorf("now is %v, %v off", now, off)
		}
	})
	t.Run("redis keeps keys", func(t *testing.T) {
		o, err := redis.ParseURL(s.Redis().URL())
		if err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(o)
		defer client.Close()
		if err := client.Set(t.Context(), s.KeyPrefix()+"x", 1, 0).Err(); err != nil {
			t.Error(err)
		}
	})
	t.Run("servers tell brand, version and settings", func(t *testing.T) { checkServers(t, s) })
	t.Run("passwords can't be read by others", func(t *testing.T) { checkSecrets(t, s) })
}

func checkServers(t *testing.T, s *Stack) {
	servers, err := s.Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]string{
		{"innodb_flush_log_at_trx_commit": "1", "log_bin": "OFF", "performance_schema": "OFF", "max_connections": "500"},
		{"appendonly": "no", "save": "", "maxmemory-policy": "noeviction"},
		{"appendonly": "no", "save": ""},
		{"appendonly": "no", "save": ""},
	}
	var stores []string
	for _, server := range servers {
		stores = append(stores, server.Store)
	}
	if !slices.Equal(stores, []string{"database", "redis", "redis node", "redis node"}) {
		t.Fatalf("the servers are %q", stores)
	}
	for i, server := range servers {
		if server.Version == "" || !server.Private || server.Brand == "" {
			t.Errorf("not described: %+v", server)
		}
		for name, value := range want[i] {
			if got := server.Settings[name]; got != value {
				t.Errorf("%s: %s is %q, want %q", server.Store, name, got, value)
			}
		}
	}
	if servers[0].Settings["filesystem"] == "" {
		t.Error("the file system is not told")
	}
}

// checkSecrets looks for the passwords on command lines and in files that others could open.
func checkSecrets(t *testing.T, s *Stack) {
	for _, line := range tracesOf(t, "") {
		for _, secret := range s.secrets() {
			if strings.Contains(line, secret) {
				t.Errorf("a command line shows a password: %s", line)
			}
		}
	}
	var holders []string
	err := filepath.WalkDir(s.Folder(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if depth := strings.Count(strings.TrimPrefix(path, s.Folder()), "/"); d.IsDir() {
			info, err := d.Info()
			if depth <= 1 && info.Mode().Perm() != 0o700 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			return err
		} else if depth > 1 {
			return nil // the servers' own
		}
		text, err := os.ReadFile(path)
		if err != nil || !slices.ContainsFunc(s.secrets(), func(s string) bool { return strings.Contains(string(text), s) }) {
			return err
		}
		info, err := d.Info()
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s holds a password and has mode %v", path, info.Mode())
		}
		holders = append(holders, d.Name())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(holders, []string{"redis-node-1.conf", "redis-node-2.conf", "redis.conf"}) {
		t.Errorf("files with passwords: %q, want those of the three Redis alone", holders)
	}
}

func TestAServerThatDiesIsNoticed(t *testing.T) {
	t.Parallel()
	log, text := textLog(t)
	s := testStack(t, Options{Log: log})
	if err := s.redis.child.kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Done():
	case <-time.After(patience):
		t.Fatal("nobody noticed that Redis is gone")
	}
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "ended by itself: signal: killed") {
		t.Errorf("Err() = %v", err)
	}
	if _, err := s.StartReplica(t.Context(), replicaCommand("r1", "serve")); err == nil {
		t.Error("a replica was started on a broken stack")
	}
	if !strings.Contains(text(), "no longer whole") {
		t.Errorf("log:\n%s", text())
	}
	for _, secret := range s.secrets() {
		if strings.Contains(text(), secret) {
			t.Error("the log shows a password")
		}
	}
}

func TestADatabaseInMemoryIsWarnedAbout(t *testing.T) {
	t.Parallel()
	const memory = "/dev/shm"
	if filesystem(memory) != "tmpfs" {
		t.Skip(memory, "is not in memory here")
	}
	dir, err := os.MkdirTemp(memory, "hotsku-test-")
	if err != nil {
		t.Skip(err)
	}
	defer os.Remove(dir)
	log, text := textLog(t)
	s := testStack(t, Options{TempDir: dir, Log: log})
	servers, err := s.Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if servers[0].Settings["filesystem"] != "tmpfs" || !strings.Contains(text(), "the database lies in memory") {
		t.Errorf("settings %v, log:\n%s", servers[0].Settings, text())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestACancelledStartLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	needServers(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		within(patience, func() bool {
			begun, _ := filepath.Glob(filepath.Join(dir, "*", "mysql-init.log"))
			return len(begun) > 0
		})
		cancel()
	}()
	_, err := Start(ctx, Options{TempDir: dir, Warden: wardenCommand()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if traces, files := tracesOf(t, dir), entries(t, dir); len(traces)+len(files) > 0 {
		t.Errorf("left: %q, %q", traces, files)
	}
}

func TestServersAndReplicasAreNice(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("niceness is read from /proc")
	}
	s := testStack(t, Options{Nice: 7})
	r, err := s.StartReplica(t.Context(), replicaCommand("r1", "serve"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*child{s.database.child, s.redis.child, r.child} {
		threads, err := filepath.Glob("/proc/" + itoa(c.pid) + "/task/*/stat")
		if err != nil || len(threads) == 0 {
			t.Fatal(threads, err)
		}
		for _, path := range threads {
			stat, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // the thread has ended
			}
			if err != nil {
				t.Fatal(err)
			}
			// proc(5): nice is field 19, and the fields after the name begin with the third.
			fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
			if fields[16] != "7" {
				t.Errorf("%s: niceness of %s is %s, want 7", c.name, path, fields[16])
			}
		}
	}
}

func TestBadOptionsAreRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	needServers(t)
	dir := t.TempDir()
	tests := map[string]struct {
		o    Options
		want string
	}{
		"no warden":                        {Options{TempDir: dir}, "Options.Warden is empty"},
		"a warden that isn't installed":    {Options{TempDir: dir, Warden: []string{"/nowhere/warden"}}, "start the warden"},
		"a warden that is something else":  {Options{TempDir: dir, Warden: []string{"echo", "usage"}}, `it said "usage`},
		"a warden that says nothing":       {Options{TempDir: dir, Warden: []string{"true"}}, "did not say that it listens"},
		"a niceness that does not exist":   {Options{TempDir: dir, Warden: wardenCommand(), Nice: 40}, "niceness of 40"},
		"a niceness that needs privileges": {Options{TempDir: dir, Warden: wardenCommand(), Nice: -1}, "niceness of -1"},
		"a folder that isn't there":        {Options{TempDir: dir + "/none", Warden: wardenCommand()}, "no such file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := Start(t.Context(), test.o)
			if s != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Start() = %v, %v; want an error with %q", s, err, test.want)
			}
			if got := entries(t, dir); len(got) > 0 {
				t.Errorf("files left: %q", got)
			}
		})
	}
}
