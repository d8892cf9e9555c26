package target_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target/api"
	"github.com/hotsku/hotsku/target/steps"
)

func init() {
	strategies.Register(strategies.Info{
		Name: "by-another", Doc: "sells as db-conditional does, in a goroutine that works for whoever asks", Safe: true,
		New: func(e strategies.Env) (strategies.Strategy, error) {
			info, err := strategies.Get("db-conditional")
			if err != nil {
				return nil, err
			}
			sells, err := info.New(e)
			return byAnother{e, sells}, err
		},
	})
}

// byAnother lets every sale be made by another goroutine than the one that asked, in the order's name.
type byAnother struct {
	strategies.Env
	sells strategies.Strategy
}

func (s byAnother) Checkout(ctx context.Context, o strategies.Order) (r strategies.Receipt, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err = s.sells.Checkout(s.As(context.WithoutCancel(ctx), o), o)
	}()
	<-done
	return r, err
}

func executions(t *testing.T, address, sku string) (seen api.Executions) {
	t.Helper()
	if err := json.Unmarshal([]byte(admin(t, address, api.PathExecutions, sku).body), &seen); err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestStrikesAreCountedWhoeverWorksForTheOrder(t *testing.T) {
	for _, strategy := range []string{"db-conditional", "by-another"} {
		t.Run(strategy, func(t *testing.T) {
			cfg := config(t, strategy)
			cfg.Stall = &steps.Stall{Steps: []string{"update inventory", "commit"}, Length: time.Nanosecond, Probability: 1}
			address := replica(t, cfg)
			sku, other := newSKU(t, address, 3), newSKU(t, address, 3)
			for n, want := range []int{201, 201, 201, 409, 409} {
				if got := buy(t, address, sku, fmt.Sprint(sku, "/", n), 1); got.status != want {
					t.Errorf("order %d: %d", n, got.status)
				}
			}
			buy(t, address, sku, sku+"/0", 1) // a retry is the same order
			buy(t, address, other, other+"/0", 1)
			if seen := executions(t, address, sku); seen.Stalled != 5 || seen.Frozen != 0 || seen.Lost != 0 {
				t.Errorf("%+v, want 5 orders struck and nothing else", seen)
			}
			if seen := executions(t, address, other); seen.Stalled != 1 {
				t.Errorf("%d orders struck of the other SKU, want 1", seen.Stalled)
			}
		})
	}
}

func TestAStallThatMakesRedisForgetTellsWhatWasLost(t *testing.T) {
	cfg := config(t, "lock-fence")
	cfg.RedisPrefix += "forgetful:"
	cfg.Stall = &steps.Stall{Kind: steps.LoseMemory, Steps: []string{"update inventory"}, Length: time.Nanosecond, Probability: 1}
	address := replica(t, cfg)
	sku := newSKU(t, address, 9)
	if got := buy(t, address, sku, sku+"/0", 1); got.status != http.StatusCreated {
		t.Errorf("%d: %s", got.status, got.body)
	}
	if seen := executions(t, address, sku); seen.Stalled != 1 || seen.Lost != 2 {
		t.Errorf("%+v, want one strike, and the lease and its fence lost", seen)
	}
	// The counter began anew, below the database's.
	if got := buy(t, address, sku, sku+"/1", 1); got.problem(t).Code != api.CodeFenced {
		t.Errorf("the first order after the loss: %d %s", got.status, got.body)
	}
}
