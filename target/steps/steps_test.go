package steps

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestStatementsAreNamedByVerbAndTable(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT stock, sold FROM inventory WHERE sku = ?":      "select inventory",
		"\n\t\tUPDATE inventory\n\t\t   SET stock = stock - ?": "update inventory",
		"INSERT INTO orders (sku) VALUES (?)":                  "insert orders",
		"insert into `outbox` (order_id) VALUES (?)":           "insert outbox",
		"DELETE FROM units WHERE id = ?":                       "delete units",
		"SELECT GET_LOCK(?, 1)":                                "select",
		"SET SESSION x = 1":                                    "set",
		"UPDATE":                                               "update",
		"  ":                                                   "",
	} {
		if got := statement(query); got != want {
			t.Errorf("%q is named %q, want %q", query, got, want)
		}
	}
}

func FuzzStatement(f *testing.F) {
	f.Add("SELECT a FROM b")
	f.Fuzz(func(_ *testing.T, query string) { nameOf(query) }) // it does not panic
}

func TestCommandsAreNamed(t *testing.T) {
	script := redis.NewScript("return 1")
	h := hook{scripts: map[string]string{script.Hash(): "release"}}
	ctx := t.Context()
	for _, row := range []struct {
		cmd  redis.Cmder
		want string
	}{
		{redis.NewCmd(ctx, "evalsha", script.Hash(), 1, "k"), "release"},
		{redis.NewCmd(ctx, "eval", "return 1", 1, "k"), "release"},
		{redis.NewCmd(ctx, "eval", "return 2", 1, "k"), "eval"},
		{redis.NewStatusCmd(ctx, "set", "k", "v", "px", 100, "nx"), "acquire"},
		{redis.NewStatusCmd(ctx, "set", "k", "v"), "set"},
		{redis.NewIntCmd(ctx, "DECR", "k"), "decr"},
	} {
		if got := h.name(row.cmd); got != row.want {
			t.Errorf("%v is named %q, want %q", row.cmd.Args(), got, row.want)
		}
	}
}

func TestAnswersOfALease(t *testing.T) {
	number := func(n int64) *redis.Cmd { c := redis.NewCmd(t.Context()); c.SetVal(n); return c }
	for name, row := range map[string]struct {
		step    string
		cmd     redis.Cmder
		err     error
		refused bool
		token   int64
	}{
		"a grant with a token":            {"acquire", number(7), nil, false, 7},
		"a lease that is taken":           {"acquire", redis.NewCmd(t.Context()), redis.Nil, true, 0},
		"a grant by SET NX":               {"acquire", redis.NewStatusCmd(t.Context()), nil, false, 0},
		"a release":                       {"release", number(1), nil, false, 0},
		"a release of another's lease":    {"release", number(0), nil, true, 0},
		"an error, which is no refusal":   {"acquire", redis.NewCmd(t.Context()), errors.New("reset"), false, 0},
		"nil for a command of other kind": {"get", redis.NewCmd(t.Context()), redis.Nil, false, 0},
	} {
		s := &Step{Name: row.step}
		s.answered(row.cmd, row.err)
		if s.Refused != row.refused || s.Token != row.token {
			t.Errorf("%s: refused %v, token %d", name, s.Refused, s.Token)
		}
	}
}

// seen is an observer that keeps what it sees.
type seen []string

func (o *seen) Before(s *Step) { *o = append(*o, "before "+s.Name) }
func (o *seen) After(s *Step)  { *o = append(*o, fmt.Sprintf("after %s, %v", s.Name, s.Err)) }

func TestAnObserverSeesEveryStepOfAnOrderAndNoOther(t *testing.T) {
	failed := errors.New("gone")
	var o seen
	c := &conn{mysqlConn: nothing{err: failed}, w: &o}
	if _, err := c.ExecContext(t.Context(), "UPDATE inventory", nil); !errors.Is(err, failed) {
		t.Errorf("without an order: %v", err)
	}
	ctx, _ := Begin(t.Context(), "key", "sku")
	_, _ = c.ExecContext(ctx, "UPDATE inventory", nil)
	_, _ = c.QueryContext(ctx, "SELECT 1 FROM orders", nil)
	begun, err := c.BeginTx(ctx, driver.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_ = begun.Commit()
	_ = begun.Rollback()
	want := seen{
		"before update inventory", "after update inventory, gone", "before select orders", "after select orders, gone",
		"before begin", "after begin, <nil>", "before commit", "after commit, gone", "before rollback", "after rollback, gone",
	}
	if fmt.Sprint(o) != fmt.Sprint(want) {
		t.Errorf("seen %q\nwant %q", o, want)
	}
}

func TestAllPassesStepsOnAndIsNilForNobody(t *testing.T) {
	if All() != nil || All(nil, nil) != nil {
		t.Error("nobody to observe, yet an observer")
	}
	var a, b seen
	both := All(&a, nil, &b)
	both.Before(&Step{Name: "x"})
	both.After(&Step{Name: "x"})
	if len(a) != 2 || len(b) != 2 {
		t.Errorf("a saw %q, b saw %q", a, b)
	}
}

// nothing is a connection on which nothing takes any time.
type nothing struct {
	mysqlConn
	err error
}

func (n nothing) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), n.err
}
func (n nothing) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return nil, n.err
}
func (n nothing) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return n, nil }
func (n nothing) Commit() error                                                { return n.err }
func (n nothing) Rollback() error                                              { return n.err }

// silent observes and does nothing: what is left is the seam's own cost.
type silent struct{}

func (silent) Before(*Step) {}
func (silent) After(*Step)  {}

// BenchmarkSeam is one statement on a connection that takes no time: without the seam, with it for a statement that
// belongs to no order, and with it for one that does.
func BenchmarkSeam(b *testing.B) {
	order, _ := Begin(context.Background(), "key", "sku")
	for _, row := range []struct {
		name string
		ctx  context.Context
		conn driver.ExecerContext
	}{
		{"observer=none", order, nothing{}},
		{"observer=idle", context.Background(), &conn{mysqlConn: nothing{}, w: silent{}}},
		{"observer=on", order, &conn{mysqlConn: nothing{}, w: silent{}}},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := row.conn.ExecContext(row.ctx, "UPDATE inventory SET stock = 1", nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
