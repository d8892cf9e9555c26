package stack

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// withPorts puts the given ports before the free ones, for as long as the test lasts.
func withPorts(t *testing.T, ports ...int) {
	t.Helper()
	search := freePort
	taken := make(chan int, len(ports))
	for _, port := range ports {
		taken <- port
	}
	freePort = func() (int, error) {
		select {
		case port := <-taken:
			return port, nil
		default:
			return search()
		}
	}
	t.Cleanup(func() { freePort = search })
}

func listener(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

func TestAPortThatWasTakenIsReplaced(t *testing.T) {
	needServers(t)
	first, second := listener(t), listener(t)
	withPorts(t, first, second) // one for each server, in whichever order
	s := testStack(t, Options{})
	for _, address := range []string{s.database.config.Addr, s.redis.config.Address} {
		if address == "127.0.0.1:"+itoa(first) || address == "127.0.0.1:"+itoa(second) {
			t.Errorf("a server claims to listen on %s, which is taken", address)
		}
	}
}

func TestPortsThatAreAllTakenEndTheStart(t *testing.T) {
	needServers(t)
	port := listener(t)
	withPorts(t, port, port, port, port, port, port, port, port, port, port)
	dir := t.TempDir()
	_, err := Start(t.Context(), Options{TempDir: dir, Warden: wardenCommand()})
	if !errors.Is(err, errPortTaken) || !strings.Contains(strings.ToLower(err.Error()), "address already in use") {
		t.Errorf("error %v, want errPortTaken that quotes the server's log", err)
	}
	if traces, files := tracesOf(t, dir), entries(t, dir); len(traces)+len(files) > 0 {
		t.Errorf("left: %q, %q", traces, files)
	}
}

func TestMissingServersAreToldWithWhatToDo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	folders := serverFolders
	serverFolders = nil
	defer func() { serverFolders = folders }()
	dir := t.TempDir()

	_, err := Start(t.Context(), Options{TempDir: dir, Warden: wardenCommand()})
	if !errors.Is(err, ErrNoMariaDB) || !errors.Is(err, ErrNoRedis) {
		t.Errorf("error %v, want both ErrNoMariaDB and ErrNoRedis", err)
	}
	for _, want := range []string{"make deps", "HOTSKU_MYSQL_DSN", "HOTSKU_REDIS_ADDR"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q doesn't mention %s", err, want)
		}
	}
	_, err = Start(t.Context(), Options{MySQLDSN: "u@tcp(127.0.0.1:1)/d", TempDir: dir, Warden: wardenCommand()})
	if errors.Is(err, ErrNoMariaDB) || !errors.Is(err, ErrNoRedis) {
		t.Errorf("with a named database: error %v, want ErrNoRedis alone", err)
	}
	if got := entries(t, dir); len(got) > 0 {
		t.Errorf("files left: %q", got)
	}
}

// script puts an executable shell script into the folder dir.
func script(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// firstInPath makes dir the first place where servers are looked for.
func firstInPath(t *testing.T, dir string) {
	t.Helper()
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

func TestAServerWithAnotherDataFolderIsRefused(t *testing.T) {
	needServers(t)
	bin, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "data")
	real := find("mariadbd")
	if real == "" {
		t.Skip("mariadbd is not installed")
	}
	script(t, bin, "mariadbd", `
for a; do case $a in --datadir=*) cp -R "${a#--datadir=}" `+elsewhere+`; esac; done
exec `+real+` "$@" --datadir=`+elsewhere)
	firstInPath(t, bin)
	dir := t.TempDir()
	_, err := Start(t.Context(), Options{TempDir: dir, Warden: wardenCommand()})
	if !errors.Is(err, ErrImpostor) || !strings.Contains(err.Error(), "data folder is "+elsewhere) {
		t.Errorf("error %v, want ErrImpostor that names the folder", err)
	}
	if traces := append(tracesOf(t, dir), tracesOf(t, elsewhere)...); len(traces) > 0 {
		t.Errorf("left: %q", traces)
	}
}

func TestAServerThatIsAnotherProcessIsRefused(t *testing.T) {
	s := sharedStack(t)
	d, r, other := s.database, s.redis, t.TempDir()
	redisFolder := filepath.Join(s.Folder(), "redis")
	tests := map[string]struct {
		err  error
		want bool
	}{
		"our database":                      {proveDatabase(t.Context(), d.db, d.folder, s.pidFile(), d.child), true},
		"a database with another folder":    {proveDatabase(t.Context(), d.db, other, s.pidFile(), d.child), false},
		"a database with another pid file":  {proveDatabase(t.Context(), d.db, d.folder, s.initFile(), d.child), false},
		"a database that is not our child":  {proveDatabase(t.Context(), d.db, d.folder, s.pidFile(), r.child), false},
		"our Redis":                         {proveRedis(t.Context(), r.client, redisFolder, r.child), true},
		"a Redis with another folder":       {proveRedis(t.Context(), r.client, other, r.child), false},
		"a Redis that is not our child":     {proveRedis(t.Context(), r.client, redisFolder, d.child), false},
		"a child whose number was reissued": {proveRedis(t.Context(), r.client, redisFolder, reborn(r.child)), false},
	}
	for name, test := range tests {
		if test.want != (test.err == nil) || !test.want && !errors.Is(test.err, ErrImpostor) {
			t.Errorf("%s: error %v", name, test.err)
		}
	}
}

// reborn returns a record of c that is older than c.
func reborn(c *child) *child {
	return &child{name: c.name, process: process{c.pid, "before"}, done: c.done}
}

func TestAServerThatCantStartIsQuoted(t *testing.T) {
	needServers(t)
	bin := t.TempDir()
	script(t, bin, "redis-server", "echo the disk is on fire; exit 3")
	firstInPath(t, bin)
	dir := t.TempDir()
	_, err := Start(t.Context(), Options{TempDir: dir, Warden: wardenCommand()})
	const want = "redis-server did not start: exit status 3; the end of its log:\nthe disk is on fire"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
	if traces, files := tracesOf(t, dir), entries(t, dir); len(traces)+len(files) > 0 {
		t.Errorf("left: %q, %q", traces, files)
	}
}

// MySQL isn't at hand everywhere. A script that speaks its dialect, with MariaDB behind it, shows that MySQL is told
// from MariaDB and that its own initialisation is used. It doesn't show that a real MySQL takes our settings.
func TestMySQLIsInitialisedByItself(t *testing.T) {
	needServers(t)
	server, install := find("mariadbd"), find("mariadb-install-db")
	if server == "" || install == "" {
		t.Skip("mariadbd is not installed")
	}
	bin := t.TempDir()
	script(t, bin, "mariadbd", `
case "$*" in
*--version*) echo "mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)"; exit;;
*--initialize-insecure*) for a; do case $a in --datadir=*|--user=*) set -- "$@" "$a";; esac; shift; done
	exec `+install+` --no-defaults --auth-root-authentication-method=normal --skip-test-db "$@";;
*--mysqlx=OFF*) for a; do case $a in --mysqlx=*) ;; *) set -- "$@" "$a";; esac; shift; done;;
*) echo "mysqlx is not switched off"; exit 1;;
esac
exec `+server+` "$@"`)
	if out, err := exec.Command(filepath.Join(bin, "mariadbd"), "--version").Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	firstInPath(t, bin)
	s := testStack(t, Options{})
	if err := s.database.db.PingContext(t.Context()); err != nil {
		t.Error(err)
	}
}

// A server that starts removes what it takes for its own left-overs in its folder for temporary tables. In a shared folder
// that took the tables of whatever other server was at work there.
func TestTheDatabaseKeepsItsTemporaryTablesToItself(t *testing.T) {
	t.Parallel()
	s := testStack(t, Options{})
	var dir string
	if err := s.database.db.QueryRowContext(t.Context(), `SELECT @@tmpdir`).Scan(&dir); err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(s.Folder(), "mysql-tmp"); dir != want {
		t.Errorf("temporary tables lie in %s, want %s", dir, want)
	}
}
