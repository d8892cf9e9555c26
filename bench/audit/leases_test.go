package audit

import (
	"slices"
	"testing"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

func TestCriticalSections(t *testing.T) {
	type steps = []api.Step
	for _, tt := range []struct {
		name                string
		steps               steps
		believed, effective int64
	}{
		{"sections that touch do not overlap",
			slices.Concat(stay("0", "a", 1, 2, 8, 10), stay("1", "b", 10, 11, 18, 20)), 0, 0},
		{"a lease believed in while another was granted and unused for a while is an overlap of beliefs alone",
			slices.Concat(stay("0", "a", 1, 2, 8, 10), stay("1", "b", 5, 11, 18, 20)), 1, 0},
		{"a lease given back before COMMIT is an overlap of effects alone",
			slices.Concat(stay("0", "a", 1, 2, 15, 5), stay("1", "b", 6, 7, 18, 20)), 0, 1},
		{"a refused acquire begins nothing",
			append(stay("0", "a", 1, 2, 8, 10), refusedStep("1", "b", "acquire", 2, 3),
				step("1", "b", api.Database, "select inventory", 4, 5), step("1", "b", api.Redis, "release", 6, 7)), 0, 0},
		{"an acquire that failed begins nothing",
			append(stay("0", "a", 1, 2, 8, 10), failed(step("1", "b", api.Redis, "acquire", 2, 3)),
				step("1", "b", api.Database, "select inventory", 4, 5)), 0, 0},
		{"a lease that was granted in part, and given back before any use, entered nothing",
			append(stay("0", "a", 1, 2, 8, 10), step("1", "b", api.Redis, "acquire", 2, 3),
				step("1", "b", api.Redis, "release", 4, 5), step("1", "b", api.Database, "select inventory", 6, 7)), 0, 0},
		{"of a lease that was granted in several parts, the last counts",
			slices.Concat(stay("0", "a", 1, 2, 8, 10), steps{step("1", "b", api.Redis, "acquire", 2, 3)},
				stay("1", "b", 11, 12, 18, 20)), 0, 0},
		{"a holder that was told that its lease is lost believes in it no more",
			append(stay("0", "a", 11, 12, 18, 20), step("1", "b", api.Redis, "acquire", 1, 2),
				step("1", "b", api.Database, "begin", 3, 4), refusedStep("1", "b", "renew", 9, 10),
				step("1", "b", api.Database, "rollback", 15, 16)), 0, 0},
		{"a holder that never gave its lease back believes in it up to its last step",
			append(stay("0", "a", 11, 12, 18, 20), step("1", "b", api.Redis, "acquire", 1, 2),
				step("1", "b", api.Database, "begin", 3, 4), step("1", "b", api.Database, "commit", 14, 15)), 1, 1},
		{"an order that was not sold has no effect",
			slices.Concat(stay("0", "a", 1, 2, 8, 10), stay("2", "b", 3, 4, 6, 7)), 1, 0},
		{"an order that nobody asked for, and that was sold, has an effect",
			slices.Concat(stay("0", "a", 1, 2, 8, 10), stay("77", "b", 3, 4, 6, 7)), 1, 1},
		{"an order that nobody asked for, and that was not sold, has none",
			slices.Concat(stay("0", "a", 1, 2, 8, 10), stay("78", "b", 3, 4, 6, 7)), 1, 0},
		{"of two sections that begin together, one began too early",
			slices.Concat(stay("0", "a", 1, 2, 8, 10), stay("1", "b", 1, 2, 8, 10)), 1, 1},
		{"a COMMIT that failed is no effect",
			append(stay("0", "a", 1, 2, 8, 10), step("1", "b", api.Redis, "acquire", 2, 3),
				step("1", "b", api.Database, "begin", 4, 5), failed(step("1", "b", api.Database, "commit", 6, 7))), 1, 0},
		{"three sections in one another are two that began too early",
			slices.Concat(stay("0", "a", 1, 2, 18, 20), stay("1", "b", 3, 4, 8, 9), stay("2", "a", 12, 13, 14, 15)), 2, 1},
		{"one order at two replicas is in two sections",
			slices.Concat(stay("0", "a", 1, 2, 8, 10), stay("0", "b", 5, 6, 9, 10)), 1, 1},
		{"one order may take its lease again",
			slices.Concat(stay("0", "a", 1, 2, 8, 10), stay("0", "a", 12, 13, 18, 20),
				stay("2", "b", 5, 6, 7, 8), stay("1", "b", 15, 19, 20, 21)), 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, anomalies := Audit(traced(tt.steps...))
			believed, effective := checkOf(a, results.BelievedOverlap), checkOf(a, results.EffectiveOverlap)
			if believed.Count != tt.believed || effective.Count != tt.effective {
				t.Errorf("%d beliefs and %d effects overlap, want %d and %d",
					believed.Count, effective.Count, tt.believed, tt.effective)
			}
			if !believed.Observation || !effective.Observation {
				t.Error("an overlap of leases must not break a trial")
			}
			for _, x := range anomalies {
				t.Log(x.Detail)
			}
		})
	}
}
