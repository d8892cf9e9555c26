package stack

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// A database is the MariaDB or MySQL of a stack.
type database struct {
	config *mysql.Config
	db     *sql.DB // the stack's own few connections
	child  *child  // nil for one that the user named
	folder string  // the data folder of a private one
}

func (s *Stack) startDatabase(ctx context.Context, dsn, binary string) error {
	if dsn != "" {
		return s.useDatabase(ctx, dsn)
	}
	d := s.database
	d.folder = filepath.Join(s.folder.path, "mysql")
	server, err := describeBinary(ctx, binary)
	if err != nil {
		return err
	}
	if err := s.initialise(ctx, server); err != nil {
		return err
	}
	if err := onFreePort(ctx, func(port int) error { return s.runDatabase(ctx, server, port) }); err != nil {
		return err
	}
	if err := proveDatabase(ctx, d.db, d.folder, s.pidFile(), d.child); err != nil {
		return err
	}
	if err := os.Remove(s.initFile()); err != nil {
		return fmt.Errorf("stack: remove the file with the database's password: %w", err)
	}
	return claim(ctx, d.db, d.config)
}

func (s *Stack) initFile() string { return filepath.Join(s.folder.path, "init.sql") }
func (s *Stack) pidFile() string  { return filepath.Join(s.folder.path, "mysql.pid") }

// tempDir is the server's own folder for temporary tables. In one that it shares, such as /tmp, a server that starts removes
// the temporary tables of all others: those of our other stacks, and of a server of the system's.
func (s *Stack) tempDir() string { return filepath.Join(s.folder.path, "mysql-tmp") }

// A databaseBinary is an installed server program.
type databaseBinary struct {
	path    string
	mariaDB bool // else MySQL
}

func describeBinary(ctx context.Context, path string) (databaseBinary, error) {
	out, err := exec.CommandContext(ctx, path, "--no-defaults", "--version").Output()
	if err != nil {
		err = cmp.Or(ctx.Err(), err) // a cancelled program is only "killed"
		return databaseBinary{}, fmt.Errorf("stack: ask %s for its version: %w", path, err)
	}
	return databaseBinary{path, strings.Contains(string(out), "MariaDB")}, nil
}

// initialise makes a data folder. It is done with cheap durability: a folder that was cut short is never used.
func (s *Stack) initialise(ctx context.Context, server databaseBinary) error {
	p := program{
		name: filepath.Base(server.path) + " --initialize",
		path: server.path,
		args: []string{"--no-defaults", "--initialize-insecure", "--skip-log-bin"},
		dir:  s.folder.path,
		log:  filepath.Join(s.folder.path, "mysql-init.log"),
	}
	if server.mariaDB {
		p.path = findNear(server.path, "mariadb-install-db", "mysql_install_db")
		if p.path == "" {
			return fmt.Errorf("%w: mariadb-install-db is missing near %s", ErrNoMariaDB, server.path)
		}
		p.name = filepath.Base(p.path)
		p.args = installArgs(p.path)
	}
	if err := os.Mkdir(s.tempDir(), 0o700); err != nil {
		return fmt.Errorf("stack: the database's folder for temporary tables: %w", err)
	}
	p.args = append(p.args, "--datadir="+s.database.folder, "--tmpdir="+s.tempDir(), "--innodb-flush-log-at-trx-commit=0")
	p.args = append(p.args, asRoot()...)
	c, err := s.spawn(p)
	if err != nil {
		return err
	}
	if err := c.wait(ctx); err != nil {
		return fmt.Errorf("stack: make a data folder: %s: %w%s", c.name, err, c.lastWords())
	}
	return nil
}

// installArgs are those of MariaDB's script, which passes on to the server what it doesn't know.
func installArgs(path string) []string {
	args := []string{
		"--no-defaults",
		"--auth-root-authentication-method=normal",
		"--skip-test-db",
		"--skip-name-resolve",
		"--loose-debug-no-sync",
	}
	// In an unpacked archive the script doesn't know by itself where it lies.
	if folder := filepath.Dir(path); filepath.Base(folder) == "scripts" {
		args = append(args, "--basedir="+filepath.Dir(folder))
	}
	return args
}

// asRoot says that root is meant: the servers refuse to run as root by mistake.
func asRoot() []string {
	if os.Getuid() != 0 {
		return nil
	}
	return []string{"--user=root"}
}

// runDatabase starts the server on a port and waits until it answers.
func (s *Stack) runDatabase(ctx context.Context, server databaseBinary, port int) error {
	d := s.database
	password := rand.Text()
	if err := os.WriteFile(s.initFile(), []byte(initSQL(server, password)), 0o600); err != nil {
		return fmt.Errorf("stack: prepare the database: %w", err)
	}
	d.config = pin(mysql.NewConfig())
	d.config.User, d.config.Passwd, d.config.DBName = "hotsku", password, "hotsku"
	d.config.Net, d.config.Addr = "tcp", "127.0.0.1:"+strconv.Itoa(port)
	c, err := s.spawn(program{
		name: filepath.Base(server.path),
		path: server.path,
		args: append(serverArgs(server, port), "--datadir="+d.folder, "--tmpdir="+s.tempDir(), "--init-file="+s.initFile(), "--pid-file="+s.pidFile()),
		dir:  s.folder.path,
		log:  filepath.Join(s.folder.path, "mysql-"+strconv.Itoa(port)+".log"),
	})
	if err != nil {
		return err
	}
	d.child = c
	connector, err := mysql.NewConnector(d.config)
	if err != nil {
		return fmt.Errorf("stack: the private database's DSN: %w", err)
	}
	d.db = sql.OpenDB(connector)
	d.db.SetMaxOpenConns(4)
	return awaitAnswer(ctx, c, d.db.PingContext)
}

// serverArgs are the settings of a private server but for its files. Durability is what production would have:
// every commit is on disk before it is answered. All that isn't named has the server's own default.
func serverArgs(server databaseBinary, port int) []string {
	args := []string{
		"--no-defaults", // must come first: no file of the system's leaks in
		"--bind-address=127.0.0.1",
		"--port=" + strconv.Itoa(port),
		"--socket=mysql.sock", // in the data folder, by a short name: the system bounds the length of a socket's path
		"--skip-name-resolve",
		"--character-set-server=utf8mb4",
		"--collation-server=utf8mb4_bin",
		"--default-time-zone=+00:00",
		"--max-connections=500",
		"--innodb-buffer-pool-size=256M",
		"--innodb-flush-log-at-trx-commit=1",
		"--performance-schema=OFF",
		"--skip-log-bin",
	}
	if !server.mariaDB {
		args = append(args, "--mysqlx=OFF")
	}
	return append(args, asRoot()...)
}

// initSQL is what the server runs before it accepts connections, a statement a line. So there is never a moment
// when an account without a password could be used.
func initSQL(server databaseBinary, password string) string {
	lock := "ALTER USER 'root'@'localhost' IDENTIFIED BY '" + rand.Text() + "'"
	if server.mariaDB {
		lock = "DELETE FROM mysql.global_priv WHERE User <> 'mariadb.sys'"
	}
	return strings.Join([]string{
		lock,
		"FLUSH PRIVILEGES",
		"CREATE DATABASE IF NOT EXISTS hotsku CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
		"DROP USER IF EXISTS 'hotsku'@'127.0.0.1'", // left by a start that found its port taken
		"CREATE USER 'hotsku'@'127.0.0.1' IDENTIFIED BY '" + password + "'",
		"GRANT ALL PRIVILEGES ON hotsku.* TO 'hotsku'@'127.0.0.1'",
	}, ";\n") + ";\n"
}

func (d *database) close() error {
	var err error
	if d.db != nil {
		err = d.db.Close()
	}
	return errors.Join(err, d.child.kill())
}
