package stack

import (
	"database/sql"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// A private stack plays the servers of the user's own here.

func TestANamedDatabaseMustBeEmptyOrOurs(t *testing.T) {
	t.Parallel()
	theirs := testStack(t, Options{})
	db, err := sql.Open("mysql", theirs.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	tables := func() []string {
		t.Helper()
		names, err := tableNames(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	start := func() (*Stack, error) {
		s, err := Start(t.Context(), Options{
			MySQLDSN: theirs.DSN(), RedisAddr: theirs.Redis().URL(), TempDir: t.TempDir(), Warden: wardenCommand(),
		})
		return s, errors.Join(err, s.Close())
	}

	exec("DROP TABLE " + markerTable)
	exec("CREATE TABLE customers (id INT PRIMARY KEY)")
	exec("INSERT INTO customers VALUES (1)")
	if _, err := start(); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "customers") {
		t.Errorf("a database in use: error %v, want ErrForeign that names a table", err)
	} else if strings.Contains(err.Error(), theirs.database.config.Passwd) {
		t.Errorf("the error shows the password: %v", err)
	}
	if err := Claim(t.Context(), theirs.DSN()); !errors.Is(err, ErrForeign) {
		t.Errorf("a claim to a database in use: error %v, want ErrForeign", err)
	}
	if got := tables(); !slices.Equal(got, []string{"customers"}) {
		t.Errorf("tables after the refusal: %q", got)
	}

	exec("DROP TABLE customers")
	s, err := start()
	if err != nil {
		t.Fatalf("an empty database: %v", err)
	}
	if s.database.child != nil || s.redis.child != nil {
		t.Error("a private server was started beside the named ones")
	}
	if got := tables(); !slices.Equal(got, []string{markerTable}) {
		t.Errorf("tables of a claimed database: %q", got)
	}

	exec("CREATE TABLE orders (id INT PRIMARY KEY)")
	if _, err := start(); err != nil {
		t.Errorf("a database that was claimed before: %v", err)
	}
	if err := Claim(t.Context(), theirs.DSN()); err != nil {
		t.Errorf("a claim to a database that was claimed before: %v", err)
	}
	if got := tables(); !slices.Equal(got, []string{markerTable, "orders"}) {
		t.Errorf("tables after a second use: %q", got)
	}
	if err := theirs.redis.ping(t.Context()); err != nil {
		t.Errorf("the user's Redis after use: %v", err)
	}
}

func TestNamedServersDescribeThemselvesAsNotPrivate(t *testing.T) {
	t.Parallel()
	theirs := testStack(t, Options{})
	if err := theirs.redis.client.Set(t.Context(), "their-key", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s := testStack(t, Options{MySQLDSN: theirs.DSN(), RedisAddr: theirs.Redis().URL()})
	servers, err := s.Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range servers {
		if server.Private {
			t.Errorf("%s is called private", server.Store)
		}
		if _, ok := server.Settings["filesystem"]; ok {
			t.Errorf("%s: the file system of a foreign server is claimed to be known", server.Store)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := theirs.redis.client.DBSize(t.Context()).Result(); n != 1 || err != nil {
		t.Errorf("%d keys in their Redis, error %v; want the 1 that was there", n, err)
	}
}

func TestServersThatCantBeReachedAreToldFastAndWithoutPasswords(t *testing.T) {
	needServers(t)
	// A listener that never answers, and one that is closed.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { silent.Close() }) // after the parallel rows
	shut, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	shut.Close()
	mute, dead := silent.Addr().String(), shut.Addr().String()

	tests := map[string]struct {
		dsn, redis string
		want       string
	}{
		"a database that refuses connections":  {dsn: "u:s3cret@tcp(" + dead + ")/shop", want: "database shop at " + dead},
		"a database that never answers":        {dsn: "u:s3cret@tcp(" + mute + ")/shop", want: "database shop at " + mute},
		"a DSN that can't be read":             {dsn: "u:s3cret@tcp(" + dead + "/shop", want: "its form is user:password@"},
		"a DSN without a database":             {dsn: "u:s3cret@tcp(" + dead + ")/", want: "names no database"},
		"a DSN with unknown TLS settings":      {dsn: "u:s3cret@tcp(" + dead + ")/shop?tls=corporate", want: "the DSN"},
		"a Redis that refuses connections":     {redis: "redis://:s3cret@" + dead, want: "the Redis at " + dead},
		"a Redis that never answers":           {redis: "redis://:s3cret@" + mute, want: "the Redis at " + mute},
		"a Redis URL that can't be read":       {redis: "redis://:s3 cret%@host:x/0", want: "its form is redis://"},
		"a Redis address with a password":      {redis: "s3cret@" + dead, want: "its form is host:port"},
		"a Redis address without a port":       {redis: "localhost", want: "its form is host:port"},
		"a Redis address of an unknown scheme": {redis: "http://s3cret@" + dead, want: "its form is redis://"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			began := time.Now()
			_, err := Start(t.Context(), Options{
				MySQLDSN: test.dsn, RedisAddr: test.redis, TempDir: dir, Warden: wardenCommand(),
			})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want one with %q", err, test.want)
			}
			if strings.Contains(err.Error(), "cret") {
				t.Errorf("the error shows the password: %v", err)
			}
			if took := time.Since(began); took > startLimit/2 { // foreignLimit is far below
				t.Errorf("it took %v", took)
			}
			var limit interface{ Timeout() bool }
			if mute := strings.Contains(name, "never answers"); mute != (errors.As(err, &limit) && limit.Timeout()) {
				t.Errorf("error %v: ended by a time limit: %t, want %t", err, !mute, mute)
			}
			if got := entries(t, dir); len(got) > 0 {
				t.Errorf("files left: %q", got)
			}
		})
	}
}
