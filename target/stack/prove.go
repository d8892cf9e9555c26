package stack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrImpostor means that a server which should be the private one is another: nothing was written to it.
var ErrImpostor = errors.New("stack: the server that answers is not the one that was started")

// proveDatabase reports whether the server behind db keeps its data in folder and is the process c.
// It knew the random password, too.
func proveDatabase(ctx context.Context, db *sql.DB, folder, pidFile string, c *child) error {
	var dataFolder, named string
	if err := db.QueryRowContext(ctx, "SELECT @@datadir, @@pid_file").Scan(&dataFolder, &named); err != nil {
		return fmt.Errorf("stack: ask the database for its data folder: %w", err)
	}
	if err := sameFile("data folder", dataFolder, folder); err != nil {
		return err
	}
	if err := sameFile("pid file", named, pidFile); err != nil {
		return err
	}
	text, err := os.ReadFile(pidFile)
	if err != nil {
		return fmt.Errorf("stack: the database's process number: %w", err)
	}
	return sameProcess(strings.TrimSpace(string(text)), c)
}

// proveRedis is proveDatabase for a Redis.
func proveRedis(ctx context.Context, client *redis.Client, folder string, c *child) error {
	answer, err := client.ConfigGet(ctx, "dir").Result()
	if err != nil {
		return fmt.Errorf("stack: ask Redis for its data folder: %w", err)
	}
	if err := sameFile("data folder", answer["dir"], folder); err != nil {
		return err
	}
	info, err := redisInfo(ctx, client)
	if err != nil {
		return err
	}
	return sameProcess(info["process_id"], c)
}

func sameFile(what, theirs, ours string) error {
	a, errA := filepath.EvalSymlinks(theirs)
	b, errB := filepath.EvalSymlinks(ours)
	if err := errors.Join(errA, errB); err != nil {
		return fmt.Errorf("%w: its %s: %w", ErrImpostor, what, err)
	}
	if a != b {
		return fmt.Errorf("%w: its %s is %s, not %s", ErrImpostor, what, a, b)
	}
	return nil
}

func sameProcess(theirs string, c *child) error {
	if theirs != strconv.Itoa(c.pid) {
		return fmt.Errorf("%w: it is process %s, not %d", ErrImpostor, theirs, c.pid)
	}
	if c.gone() {
		return fmt.Errorf("%w: process %d has ended", ErrImpostor, c.pid)
	}
	return nil
}
