package strategies

import (
	"errors"
	"testing"
	"time"
)

// A process that once could not lead, for want of its database, must not go on to refuse orders while another leads.
func TestAProcessTrustsWhoeverLeads(t *testing.T) {
	env, _ := leaseEnv(t)
	q := newQueue(env)
	defer func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}()
	q.note("hot", ErrUnavailable)
	if err := q.troubleWith("hot"); !errors.Is(err, ErrUnavailable) {
		t.Fatalf("the trouble was not noted: %v", err)
	}
	if err := env.Redis.Set(t.Context(), q.leaderKey("hot"), "another", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	if q.lead(t.Context(), "hot") {
		t.Error("it leads, although another does")
	}
	if err := q.troubleWith("hot"); err != nil {
		t.Errorf("another leads, and the orders are still to be refused: %v", err)
	}
}
