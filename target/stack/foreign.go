package stack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"
)

// ErrForeign means that the database which the user named holds tables and none of them is hotsku's marker.
// Nothing was changed in it.
var ErrForeign = errors.New("stack: the named database is in use by something else")

// markerTable shows that a database was given to hotsku.
const markerTable = "hotsku_marker"

// foreignLimit bounds how long a server that the user named may take to answer at first.
const foreignLimit = 5 * time.Second

// useDatabase takes the database that the user named.
func (s *Stack) useDatabase(ctx context.Context, dsn string) error {
	config, dropped, err := parseDSN(dsn)
	if err != nil {
		return err
	}
	if len(dropped) > 0 {
		s.log.Warn("session variables of the DSN are not used: hotsku sets its own", "dropped", dropped)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return errors.New("stack: the DSN of the database names TLS settings or keys that are not known here")
	}
	d := s.database
	d.config, d.db = config, sql.OpenDB(connector)
	d.db.SetMaxOpenConns(4)
	limited, cancel := context.WithTimeout(ctx, foreignLimit)
	defer cancel()
	if err := d.db.PingContext(limited); err != nil {
		return fmt.Errorf("stack: the database %s at %s does not answer: %w", config.DBName, config.Addr, err)
	}
	return claim(limited, d.db, config)
}

// Claim proves that hotsku may write to the database of a DSN: it carries hotsku's marker, or is empty and gets it. Any
// other is left as it is, and the error matches [ErrForeign].
func Claim(ctx context.Context, dsn string) error {
	config, _, err := parseDSN(dsn)
	if err != nil {
		return err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return errors.New("stack: the DSN of the database names TLS settings or keys that are not known here")
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, foreignLimit)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("stack: the database %s at %s does not answer: %w", config.DBName, config.Addr, err)
	}
	return claim(ctx, db, config)
}

// claim makes sure that the database carries hotsku's marker. One with other tables, and without it, is refused.
func claim(ctx context.Context, db *sql.DB, config *mysql.Config) error {
	tables, err := tableNames(ctx, db)
	if err != nil {
		return fmt.Errorf("stack: list the tables of the database %s at %s: %w", config.DBName, config.Addr, err)
	}
	if slices.Contains(tables, markerTable) {
		return nil
	}
	if len(tables) > 0 {
		return fmt.Errorf("%w: %s at %s holds %d tables (%s …) and no %s. Name an empty database, made by "+
			"\"CREATE DATABASE hotsku\", or none, and hotsku starts a private one",
			ErrForeign, config.DBName, config.Addr, len(tables), tables[0], markerTable)
	}
	const create = "CREATE TABLE IF NOT EXISTS " + markerTable + " (claimed_at DATETIME(6) NOT NULL) " +
		"COMMENT = 'hotsku may write to this database and delete from it'"
	if _, err := db.ExecContext(ctx, create); err != nil {
		return fmt.Errorf("stack: mark the database %s at %s: %w", config.DBName, config.Addr, err)
	}
	if _, err := db.ExecContext(ctx, "INSERT INTO "+markerTable+" VALUES (CURRENT_TIMESTAMP(6))"); err != nil {
		return fmt.Errorf("stack: mark the database %s at %s: %w", config.DBName, config.Addr, err)
	}
	return nil
}

func tableNames(ctx context.Context, db *sql.DB) ([]string, error) {
	rows, err := db.QueryContext(ctx,
		"SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
