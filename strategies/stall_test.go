package strategies_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/steps"
)

// observer calls a function before every step.
type observer func(step string)

func (o observer) Before(s *steps.Step) { o(s.Name) }
func (o observer) After(*steps.Step)    {}

// stallingDatabase is a pool of its own, before each of whose steps do is called.
func stallingDatabase(t *testing.T, do func(step string)) *sql.DB {
	t.Helper()
	db, err := target.OpenDatabase(patientDSN(t), 2, observer(do))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// checkoutObserved makes the steps of a checkout visible to the observer of its database.
func checkoutObserved(ctx context.Context, s strategies.Strategy, o strategies.Order) (strategies.Receipt, error) {
	ctx, _ = steps.Begin(ctx, o.Key, o.SKU)
	return s.Checkout(ctx, o)
}
