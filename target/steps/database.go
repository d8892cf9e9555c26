package steps

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"
)

// Connector returns a connector for [database/sql.OpenDB] whose statements w observes; with a nil w it is the driver's
// own. Statements are sent with their arguments filled in (interpolateParams), so that one statement is one round trip.
func Connector(cfg *mysql.Config, w Observer) (driver.Connector, error) {
	cfg = cfg.Clone()
	cfg.InterpolateParams = true
	plain, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("steps: %w", err)
	}
	if w == nil {
		return plain, nil
	}
	return connector{plain, w}, nil
}

type connector struct {
	driver.Connector
	w Observer
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	whole, ok := inner.(mysqlConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("steps: the driver's connection %T lacks a method that the seam needs", inner),
			inner.Close())
	}
	return &conn{whole, c.w}, nil
}

// mysqlConn is all that the driver's connection can do, so that wrapping it takes nothing away.
type mysqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type conn struct {
	mysqlConn
	w Observer
}

var _ mysqlConn = (*conn)(nil)

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (r driver.Result, err error) {
	err = observe(ctx, c.w, Database, statement(query), func(s *Step) error {
		if r, err = c.mysqlConn.ExecContext(ctx, query, args); err == nil {
			s.Rows, err = r.RowsAffected()
		}
		return err
	})
	return r, err
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (r driver.Rows, err error) {
	err = observe(ctx, c.w, Database, statement(query), func(*Step) error {
		r, err = c.mysqlConn.QueryContext(ctx, query, args)
		return err
	})
	return r, err
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	var inner driver.Tx
	err := observe(ctx, c.w, Database, "begin", func(*Step) (err error) {
		inner, err = c.mysqlConn.BeginTx(ctx, opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return tx{ctx, inner, c.w}, nil
}

// tx keeps the context that it was begun under, since COMMIT and ROLLBACK come without one.
type tx struct {
	ctx context.Context
	driver.Tx
	w Observer
}

func (t tx) Commit() error {
	return observe(t.ctx, t.w, Database, "commit", func(*Step) error { return t.Tx.Commit() })
}

func (t tx) Rollback() error {
	return observe(t.ctx, t.w, Database, "rollback", func(*Step) error { return t.Tx.Rollback() })
}

// statements remembers the names of the statements seen: a strategy's are few and constant.
var statements sync.Map

// statement returns the verb and the table of a statement in lower case, such as "update inventory".
func statement(query string) string {
	if name, ok := statements.Load(query); ok {
		return name.(string)
	}
	name := nameOf(query)
	statements.Store(query, name)
	return name
}

func nameOf(query string) string {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return ""
	}
	before := map[string]string{"select": "from", "insert": "into", "delete": "from", "update": "update"}[words[0]]
	for i, word := range words[:len(words)-1] {
		if word == before {
			return words[0] + " " + strings.Trim(words[i+1], "`(;")
		}
	}
	return words[0]
}
