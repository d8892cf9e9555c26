package stack

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"
)

// The driver's time limits. A statement may wait for a lock no longer than the read limit.
const (
	dialTimeout  = 2 * time.Second
	readTimeout  = 10 * time.Second
	writeTimeout = 10 * time.Second
)

// pin sets everything about c that decides what a statement means or how long it may take, whatever was there before.
// Isolation is left to each transaction.
func pin(c *mysql.Config) *mysql.Config {
	c.ClientFoundRows = false // affected rows must count changed rows, not matched ones
	c.InterpolateParams = true
	c.MultiStatements = false
	c.AllowAllFiles = false
	c.ColumnsWithAlias = false
	c.RejectReadOnly = false
	c.ParseTime = true
	c.Loc = time.UTC
	c.Timeout, c.ReadTimeout, c.WriteTimeout = dialTimeout, readTimeout, writeTimeout
	c.Collation = "utf8mb4_bin" // MariaDB and MySQL both have it
	c.Params = map[string]string{"time_zone": "'+00:00'"}
	c.Logger = &mysql.NopLogger{} // its errors are returned as well
	return c
}

// parseDSN reads the user's DSN and returns it pinned, with the names of the session variables in it that were dropped.
// Errors never quote it: what looks like a host may be half of a password.
func parseDSN(dsn string) (c *mysql.Config, dropped []string, err error) {
	const form = "user:password@tcp(host:port)/database"
	c, err = mysql.ParseDSN(dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("stack: the DSN of the database can't be read; its form is %s", form)
	}
	if c.DBName == "" {
		return nil, nil, fmt.Errorf("stack: the DSN names no database; its form is %s", form)
	}
	dropped = slices.Sorted(maps.Keys(c.Params))
	return pin(c), dropped, nil
}
