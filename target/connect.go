package target

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target/steps"
)

// lockWait is how long a transaction waits for a row that another has locked. The server's default, 50 s, is longer than
// any checkout: the order would end by its own deadline, and nobody would know why.
var lockWait = struct{ variable, seconds string }{"innodb_lock_wait_timeout", "2"}

// OpenDatabase returns a pool of at most connections connections whose statements w, unless nil, observes.
// It does not connect yet.
//
// The pool keeps as many idle connections as it may open, so that a burst does not pay for connecting again and again.
// A transaction waits for a row's lock for [lockWait], unless the DSN sets innodb_lock_wait_timeout otherwise.
// Affected rows are changed rows (clientFoundRows=false): a strategy's proof of a sale hangs on that.
func OpenDatabase(dsn string, connections int, w steps.Observer) (*sql.DB, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New("the database's DSN is malformed; write user:password@tcp(host:port)/database")
	}
	cfg.ClientFoundRows = false
	cfg.ParseTime = true
	cfg.Loc = time.UTC
	if _, set := cfg.Params[lockWait.variable]; !set {
		if cfg.Params == nil {
			cfg.Params = map[string]string{}
		}
		cfg.Params[lockWait.variable] = lockWait.seconds
	}
	connector, err := steps.Connector(cfg, w)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// LogRedis sends what the Redis client says of itself to log, at the level debug: a strategy's error tells the rest.
// It holds for the whole process.
func LogRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, args ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, fmt.Sprintf(format, args...))
	}
}

// redisPatience is how long one command may take unless the URL says otherwise. A checkout must have failed closed within
// half a second, on a busy machine, too.
const redisPatience = 200 * time.Millisecond

// patience is a hook that gives every command its own deadline. The client's timeouts are each for one part of the way
// and add up.
type patience time.Duration

func (patience) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p patience) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(p))
		defer cancel()
		return next(ctx, cmd)
	}
}

func (p patience) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(p))
		defer cancel()
		return next(ctx, cmds)
	}
}

// OpenRedis returns a client for the given redis:// URL with at most connections connections, whose commands w, unless
// nil, observes. It does not connect yet.
//
// One command may take 200 ms, connecting and waiting for a connection included, or as long as the URL's read_timeout says
// (redis://host:port/0?read_timeout=1s): the other timeouts that it may name are not used.
//
// The client never repeats a command by itself: a reply lost once would otherwise decrement twice, or leave a lease
// that nobody knows to hold. It heeds the context's deadline, which is not its default.
func OpenRedis(url string, connections int, w steps.Observer) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("the address of Redis is malformed; write redis://user:password@host:port/number")
	}
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	o.PoolSize = connections
	limit := cmp.Or(max(0, o.ReadTimeout), redisPatience)
	o.DialTimeout = limit
	o.ReadTimeout = limit
	o.WriteTimeout = limit
	o.PoolTimeout = limit
	client := redis.NewClient(o)
	client.AddHook(patience(limit))
	if w != nil {
		client.AddHook(steps.Hook(w, strategies.Scripts()))
	}
	return client, nil
}
