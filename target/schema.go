package target

import (
	"context"
	"database/sql"
	"fmt"
)

// schema is the data of a checkout. There is no foreign key on purpose: one from orders to the hot inventory row turns
// concurrent sales into a storm of deadlocks as soon as a statement order changes.
var schema = []string{
	`CREATE TABLE IF NOT EXISTS inventory (
		sku     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
		stock   BIGINT NOT NULL,
		sold    BIGINT NOT NULL DEFAULT 0,
		fence   BIGINT NOT NULL DEFAULT 0,
		version BIGINT NOT NULL DEFAULT 0
	) ENGINE = InnoDB`,
	`CREATE TABLE IF NOT EXISTS orders (
		id              BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
		sku             VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		quantity        INT NOT NULL,
		position        BIGINT NOT NULL,
		customer        VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL,
		idempotency_key VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		fence           BIGINT NOT NULL,
		replica         VARCHAR(64) CHARACTER SET ascii NOT NULL,
		created_at      DATETIME(6) NOT NULL,
		UNIQUE KEY one_order_per_key (idempotency_key),
		KEY ledger (sku, position)
	) ENGINE = InnoDB`,
	`CREATE TABLE IF NOT EXISTS outbox (
		id           BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
		order_id     BIGINT NOT NULL,
		kind         ENUM('payment', 'mail') NOT NULL,
		state        ENUM('waiting', 'done', 'dead') NOT NULL DEFAULT 'waiting',
		attempts     INT NOT NULL DEFAULT 0,
		available_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
		leased_until DATETIME(6) NULL,
		last_error   VARCHAR(255) NULL,
		UNIQUE KEY one_of_each (order_id, kind)
	) ENGINE = InnoDB`,
	// One row for each unit that skip-locked has on the shelf.
	`CREATE TABLE IF NOT EXISTS units (
		sku  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		unit BIGINT NOT NULL,
		PRIMARY KEY (sku, unit)
	) ENGINE = InnoDB`,
	// The parts over which buckets spreads the stock of a SKU.
	`CREATE TABLE IF NOT EXISTS buckets (
		sku    VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		bucket INT NOT NULL,
		stock  BIGINT NOT NULL,
		PRIMARY KEY (sku, bucket)
	) ENGINE = InnoDB`,
}

// Migrate creates the tables that are missing. It may run in several processes at once.
func Migrate(ctx context.Context, db *sql.DB) error {
	for _, statement := range schema {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create the tables: %w", err)
		}
	}
	return nil
}
