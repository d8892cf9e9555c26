package strategies_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/stack/stacktest"
	"github.com/hotsku/hotsku/target/steps"
)

// watched is the same world through pools of its own, before each of whose steps do is called. The statements of an order
// are seen if it is sent by [checkoutObserved].
func (w world) watched(t *testing.T, connections int, do func(step string)) world {
	t.Helper()
	stack := stacktest.Start(t)
	db, err := target.OpenDatabase(patientDSN(t), connections, observer(do))
	if err != nil {
		t.Fatal(err)
	}
	options, err := redis.ParseURL(stack.Redis().URL())
	if err != nil {
		t.Fatal(err)
	}
	options.MaxRetries, options.PoolSize = -1, connections
	client := redis.NewClient(options)
	client.AddHook(seen(do))
	t.Cleanup(func() {
		if err := errors.Join(db.Close(), client.Close()); err != nil {
			t.Error(err)
		}
	})
	w.DB, w.Redis = db, client
	return w
}

// seen is a hook that calls a function before every command, with its name or its script's. The function may take long:
// the command is sent afterwards, even if its deadline is over by then.
type seen func(step string)

func (s seen) DialHook(next redis.DialHook) redis.DialHook { return next }
func (s seen) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (s seen) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if name := nameOf(cmd); name != "hello" && name != "client" { // what a new connection begins with
			s(name)
		}
		return next(context.WithoutCancel(ctx), cmd)
	}
}

// nameOf returns the name of the command, or of the script that it runs.
func nameOf(cmd redis.Cmder) string {
	if cmd.Name() == "evalsha" {
		return strategies.Scripts()[fmt.Sprint(cmd.Args()[1])]
	}
	return cmd.Name()
}

// hold sends an order and returns when it is about to take the named step for the first time. Calling goOn lets it take
// that step, waits for the order's end and returns its error.
func (w world) hold(t *testing.T, name, step string, o strategies.Order) (goOn func() error) {
	t.Helper()
	reached, resume, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once atomic.Bool
	slow := w.watched(t, 2, func(taken string) {
		if taken == step && once.CompareAndSwap(false, true) {
			close(reached)
			<-resume
		}
	})
	s := strategy(t, name, slow)
	ctx := context.WithoutCancel(t.Context())
	go func() {
		_, err := checkoutObserved(ctx, s, o)
		done <- err
	}()
	release := sync.OnceFunc(func() { close(resume) })
	t.Cleanup(release) // a test that failed leaves nobody behind
	select {
	case <-reached:
	case err := <-done:
		t.Fatalf("the order ended before its step %q: %v", step, err)
	}
	return sync.OnceValue(func() error { release(); return <-done })
}

// restocked is the same world with stock units of another fresh SKU.
func (w world) restocked(t *testing.T, stock int) world {
	t.Helper()
	w.sku = fmt.Sprintf("test-%d", time.Now().UnixNano())
	w.exec(t, `INSERT INTO inventory (sku, stock) VALUES (?, ?)`, w.sku, stock)
	return w
}

// counted counts the events that a strategy tells.
type counted struct {
	mu sync.Mutex
	n  map[strategies.EventKind]int
}

// counting makes the world count events.
func (w world) counting() (world, *counted) {
	c := &counted{n: map[strategies.EventKind]int{}}
	w.Tell = func(_ context.Context, e strategies.Event) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.n[e.Kind]++
	}
	return w, c
}

func (c *counted) of(kind strategies.EventKind) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[kind]
}

// alone gives the world a key prefix of its own, so that all keys below it are its own.
func (w world) alone() world {
	w.Prefix += w.sku + ":"
	return w
}

// keys returns the keys below the world's prefix, in all servers of Redis that it has.
func (w world) keys(t *testing.T) map[string]redis.UniversalClient {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	keys := map[string]redis.UniversalClient{}
	for _, client := range append([]redis.UniversalClient{w.Redis}, w.Nodes...) {
		scan := client.Scan(ctx, 0, w.Prefix+"*", 1000).Iterator()
		for scan.Next(ctx) {
			keys[scan.Val()] = client
		}
		if err := scan.Err(); err != nil {
			t.Error(err)
		}
	}
	return keys
}

// forget deletes every key below the world's prefix, as a Redis does that was restarted without a copy on disk.
func (w world) forget(t *testing.T) {
	t.Helper()
	for key, client := range w.keys(t) {
		if err := client.Del(context.WithoutCancel(t.Context()), key).Err(); err != nil {
			t.Error(err)
		}
	}
}

// counter returns the number that a key of the SKU holds, such as its "stock", or 0 and false if there is none.
func (w world) counter(t *testing.T, key string) (n int64, ok bool) {
	t.Helper()
	n, err := w.Redis.Get(context.WithoutCancel(t.Context()), w.Prefix+key+":{"+w.sku+"}").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return n, err == nil
}

// losingCommits is the same world through a database that loses the reply to every COMMIT, after or before it took place.
func (w world) losingCommits(t *testing.T, committed bool) world {
	t.Helper()
	cfg, err := mysql.ParseDSN(patientDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	connector, err := steps.Connector(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.DB = sql.OpenDB(lossyConnector{connector, committed})
	t.Cleanup(func() {
		if err := w.DB.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

type lossyConnector struct {
	driver.Connector
	committed bool
}

// mysqlConn is what database/sql asks a connection for, so that wrapping it takes nothing away.
type mysqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.SessionResetter
	driver.Validator
}

type lossyConn struct {
	mysqlConn
	committed bool
}

type lossyTx struct {
	driver.Tx
	committed bool
}

func (l lossyConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := l.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return lossyConn{conn.(mysqlConn), l.committed}, nil
}

func (c lossyConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	tx, err := c.mysqlConn.BeginTx(ctx, options)
	return lossyTx{tx, c.committed}, err
}

var errReplyLost = errors.New("the reply was lost")

func (t lossyTx) Commit() error {
	end := t.Tx.Rollback
	if t.committed {
		end = t.Tx.Commit
	}
	return errors.Join(errReplyLost, end())
}

// losingReplies is the same world through a Redis that loses the reply to a command or script.
func (w world) losingReplies(t *testing.T, step string) world {
	t.Helper()
	w = w.watched(t, 2, func(string) {})
	w.Redis.(*redis.Client).AddHook(lossyReply(func(taken string) bool { return taken == step }))
	return w
}

// lossyReply is a hook that says of a command or script, by its name, whether its reply is lost.
type lossyReply func(step string) bool

func (l lossyReply) DialHook(next redis.DialHook) redis.DialHook { return next }
func (l lossyReply) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (l lossyReply) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := next(ctx, cmd); err != nil || !l(nameOf(cmd)) {
			return err
		}
		cmd.SetErr(errReplyLost)
		return errReplyLost
	}
}
