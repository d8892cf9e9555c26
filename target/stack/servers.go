package stack

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A Server is a database or Redis, as it describes itself. It holds no secrets.
type Server struct {
	Store   string // "database", "redis", or "redis node" for a further one
	Brand   string // "MariaDB", "MySQL", "Redis" or "Valkey"
	Version string
	Private bool // started by the stack, and ended with it
	// Settings are those that bear on durability, isolation and locking, by the names that the server gives them,
	// and "filesystem" where the data of a private database lies. A setting that the server doesn't have is missing;
	// one that it would not tell has the value "unknown: " and the reason.
	Settings map[string]string
}

// databaseSettings are asked of the database. Which of them exist depends on brand and version.
var databaseSettings = []string{
	"binlog_format", "autocommit", "collation_database", "innodb_buffer_pool_size", "innodb_deadlock_detect",
	"innodb_doublewrite", "innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_lock_wait_timeout",
	"innodb_log_file_size", "innodb_redo_log_capacity", "innodb_rollback_on_timeout", "innodb_snapshot_isolation",
	"log_bin", "max_connections", "performance_schema", "sql_mode", "sync_binlog", "thread_handling",
	"transaction_isolation", "tx_isolation", "version_comment",
}

// redisSettings are asked of Redis.
var redisSettings = []string{
	"appendfsync", "appendonly", "io-threads", "maxmemory", "maxmemory-policy", "save",
}

// Servers asks the database, Redis and the further Redis processes what they are and how they are set.
func (s *Stack) Servers(ctx context.Context) ([]Server, error) {
	database, err := s.database.describe(ctx)
	if err != nil {
		return nil, s.redacted(fmt.Errorf("stack: describe the database: %w", err))
	}
	all := []Server{database}
	for _, r := range s.allRedis() {
		server, err := r.describe(ctx)
		if err != nil {
			return nil, s.redacted(fmt.Errorf("stack: describe Redis: %w", err))
		}
		if r != s.redis {
			server.Store = "redis node"
		}
		all = append(all, server)
	}
	return all, nil
}

func (d *database) describe(ctx context.Context) (Server, error) {
	server := Server{Store: "database", Brand: "MySQL", Private: d.child != nil, Settings: map[string]string{}}
	if err := d.db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&server.Version); err != nil {
		return server, err
	}
	if strings.Contains(server.Version, "MariaDB") {
		server.Brand = "MariaDB"
	}
	query := "SHOW GLOBAL VARIABLES WHERE Variable_name IN (?" + strings.Repeat(", ?", len(databaseSettings)-1) + ")"
	args := make([]any, len(databaseSettings))
	for i, name := range databaseSettings {
		args[i] = name
	}
	rows, err := d.db.QueryContext(ctx, query, args...)
	if err != nil {
		return server, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return server, err
		}
		server.Settings[name] = value
	}
	if server.Private {
		server.Settings["filesystem"] = filesystem(d.folder)
	}
	return server, rows.Err()
}

func (r *redisServer) describe(ctx context.Context) (Server, error) {
	server := Server{Store: "redis", Brand: "Redis", Private: r.child != nil, Settings: map[string]string{}}
	info, err := redisInfo(ctx, r.client)
	if err != nil {
		return server, err
	}
	server.Version = info["redis_version"]
	if version, ok := info["valkey_version"]; ok {
		server.Brand, server.Version = "Valkey", version
	}
	for _, name := range redisSettings {
		answer, err := r.client.ConfigGet(ctx, name).Result()
		if err != nil {
			// Hosted servers often forbid CONFIG; what can't be known is said, and the run goes on.
			server.Settings[name] = "unknown: " + err.Error()
		} else if value, ok := answer[name]; ok {
			server.Settings[name] = value
		}
	}
	return server, ctx.Err()
}

// redisInfo returns the fields of INFO server.
func redisInfo(ctx context.Context, client *redis.Client) (map[string]string, error) {
	text, err := client.Info(ctx, "server").Result()
	if err != nil {
		return nil, fmt.Errorf("stack: INFO server: %w", err)
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[key] = value
		}
	}
	return info, nil
}
