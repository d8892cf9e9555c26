package stack

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
)

// The reasons why no private server can be started.
var (
	ErrNoMariaDB = errors.New("stack: neither mariadbd nor mysqld is installed")
	ErrNoRedis   = errors.New("stack: neither redis-server nor valkey-server is installed")
)

// serverFolders are searched after PATH: systems install servers where users' PATHs don't lead.
var serverFolders = []string{
	"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/libexec", "/usr/local/bin", "/usr/local/mysql/bin",
	"/opt/homebrew/bin", "/opt/homebrew/opt/mariadb/bin", "/opt/homebrew/opt/mysql/bin",
	"/usr/local/opt/mariadb/bin", "/usr/local/opt/mysql/bin",
	"/home/linuxbrew/.linuxbrew/bin", "/home/linuxbrew/.linuxbrew/opt/mariadb/bin",
}

// binaries are the servers to start; empty where the user named one.
type binaries struct{ database, redis string }

func findBinaries(o Options) (binaries, error) {
	var b binaries
	var databaseErr, redisErr error
	if o.MySQLDSN == "" {
		if b.database = find("mariadbd", "mysqld"); b.database == "" {
			databaseErr = missing(ErrNoMariaDB, "HOTSKU_MYSQL_DSN",
				map[string]string{"linux": "apt-get install mariadb-server", "darwin": "brew install mariadb"})
		}
	}
	if o.RedisAddr == "" || o.RedisNodes > len(o.RedisNodeAddrs) {
		if b.redis = find("redis-server", "valkey-server"); b.redis == "" {
			redisErr = missing(ErrNoRedis, "HOTSKU_REDIS_ADDR",
				map[string]string{"linux": "apt-get install redis-server", "darwin": "brew install redis"})
		}
	}
	return b, errors.Join(databaseErr, redisErr)
}

func missing(err error, variable string, install map[string]string) error {
	hint := ""
	if command, ok := install[runtime.GOOS]; ok {
		hint = fmt.Sprintf(" or %q", command)
	}
	return fmt.Errorf("%w; run \"make deps\"%s, or name a running one by %s", err, hint, variable)
}

// find returns the path of the first of the programs that is installed, or "".
func find(names ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			if path, err = filepath.Abs(path); err == nil {
				return path
			}
		}
		for _, folder := range serverFolders {
			if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
				return path
			}
		}
	}
	return ""
}

// findNear is find for a program that belongs to the server at path: those beside it come first.
func findNear(path string, names ...string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	base := filepath.Dir(filepath.Dir(path))
	for _, name := range names {
		for _, folder := range []string{"bin", "sbin", "scripts"} {
			if found, err := exec.LookPath(filepath.Join(base, folder, name)); err == nil {
				return found
			}
		}
	}
	return find(names...)
}
