package audit

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

func TestAuditCountsWhatWasPlanted(t *testing.T) {
	for _, tt := range plants {
		for _, n := range []int{1, 2, 7} {
			t.Run(fmt.Sprintf("%s/n=%d", tt.name, n), func(t *testing.T) {
				h := tt.from.make()
				tt.plant(&h, n)
				got, anomalies := Audit(h.Case)
				want := tt.want(int64(n))
				requireCounts(t, got, anomalies, want)
				for _, c := range got.Checks {
					if c.State == results.Unchecked {
						t.Errorf("%s was not checked: %s", c.Invariant, c.Note)
					}
				}
			})
		}
	}
}

// requireCounts demands that the invariants in want are broken with these counts and evidence, and no others.
func requireCounts(t *testing.T, a results.Audit, anomalies []results.Anomaly, want counts) {
	t.Helper()
	for _, c := range a.Checks {
		evidence := 0
		for _, x := range anomalies {
			if x.Invariant == c.Invariant {
				evidence++
			}
		}
		if c.Count != want[c.Invariant] || (c.State == results.Violated) != (want[c.Invariant] > 0) {
			t.Errorf("%s: %s with a count of %d, want %d", c.Invariant, c.State, c.Count, want[c.Invariant])
		}
		if (evidence > 0) != (c.Count > 0) || evidence > int(c.Count) || evidence > MaxAnomalies {
			t.Errorf("%s: %d anomalies for a count of %d", c.Invariant, evidence, c.Count)
		}
	}
	if t.Failed() {
		for _, x := range anomalies[:min(20, len(anomalies))] {
			t.Log(x.Invariant, ":", x.Detail)
		}
	}
}

func TestAuditFindsNothingInCleanHistories(t *testing.T) {
	for seed := range uint64(60) {
		r := recipe{
			seed: seed, orders: 200, stock: []int64{0, 1, 90, 1000}[seed%4], quantity: 1 + int(seed%3),
			clients: []int{1, 3, 40}[seed/4%3], bare: seed%5 == 0, untraced: seed%7 == 0, unsettled: seed%2 == 0,
		}
		got, anomalies := Audit(r.make().Case)
		requireCounts(t, got, anomalies, nil)
		if t.Failed() {
			t.Fatalf("%+v", r)
		}
	}
}

func TestAuditIsTheSameInWhateverOrderTheEvidenceComes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tt := range plants {
		h := tt.from.make()
		tt.plant(&h, 7)
		wantAudit, wantAnomalies := Audit(h.Case)
		rng.Shuffle(len(h.Hits), func(i, j int) { h.Hits[i], h.Hits[j] = h.Hits[j], h.Hits[i] })
		rng.Shuffle(len(h.Ledger), func(i, j int) { h.Ledger[i], h.Ledger[j] = h.Ledger[j], h.Ledger[i] })
		rng.Shuffle(len(h.Steps), func(i, j int) { h.Steps[i], h.Steps[j] = h.Steps[j], h.Steps[i] })
		slices.Reverse(h.Executions)
		hits, ledger, steps := slices.Clone(h.Hits), slices.Clone(h.Ledger), slices.Clone(h.Steps)
		gotAudit, gotAnomalies := Audit(h.Case)
		if !reflect.DeepEqual(gotAudit, wantAudit) || !reflect.DeepEqual(gotAnomalies, wantAnomalies) {
			t.Errorf("%s: another order of the evidence gave another result", tt.name)
		}
		if !reflect.DeepEqual(hits, h.Hits) || !reflect.DeepEqual(ledger, h.Ledger) || !reflect.DeepEqual(steps, h.Steps) {
			t.Errorf("%s: the audit changed the case", tt.name)
		}
	}
}

func TestInvariantsAreCheckedInTheOrderOfTheirDeclaration(t *testing.T) {
	want := []results.Invariant{
		results.Oversold, results.Conservation, results.NegativeStock, results.LostUpdate, results.RealTimeOrder,
		results.FalseSoldOut, results.Stranded, results.DuplicateOrder, results.LostOrder, results.PhantomOrder,
		results.FenceOrder, results.BelievedOverlap, results.EffectiveOverlap, results.HiddenResend,
	}
	got, _ := Audit(Case{})
	for i, c := range got.Checks {
		if c.Invariant != want[i] {
			t.Errorf("check %d is %q, want %q", i, c.Invariant, want[i])
		}
	}
	if !slices.Equal(Invariants(), want) {
		t.Errorf("Invariants() = %q, want %q", Invariants(), want)
	}
}

func TestAnomaliesAreCappedAndCountsAreNot(t *testing.T) {
	h := recipe{seed: 9, orders: 1000, stock: 5000, quantity: 1, clients: 5}.make()
	for i := range h.Ledger {
		h.Ledger[i].Position = 1
		h.told(i)
	}
	got, anomalies := Audit(h.Case)
	kept := 0
	for _, a := range anomalies {
		if a.Invariant == results.LostUpdate {
			kept++
		}
	}
	if c := checkOf(got, results.LostUpdate); c.Count != 999 || kept != MaxAnomalies {
		t.Errorf("count %d with %d anomalies, want 999 with %d", c.Count, kept, MaxAnomalies)
	}
	if !slices.IsSortedFunc(anomalies, func(a, b results.Anomaly) int {
		return int(a.Orders[1].Sent - b.Orders[1].Sent)
	}) {
		t.Error("the anomalies are not in the order of time")
	}
}

// checkOf returns the check of one invariant.
func checkOf(a results.Audit, i results.Invariant) results.Check {
	for _, c := range a.Checks {
		if c.Invariant == i {
			return c
		}
	}
	panic("no check of " + i)
}

func TestChecksSayWhyTheyWereNotMade(t *testing.T) {
	sold := []results.Hit{bought(0, 0, 1, 0, 1)}
	for _, tt := range []struct {
		name      string
		c         Case
		invariant results.Invariant
		note      string
	}{
		{"no order has a position", story(1, sold, row(0, 0, 1)), results.LostUpdate, "the strategy gives no positions"},
		{"no order has a position", story(1, sold, row(0, 0, 1)), results.RealTimeOrder, "the strategy gives no positions"},
		{"no order has a position", story(1, sold, row(0, 0, 1)), results.FenceOrder, "the strategy gives no positions"},
		{"nothing was sold", story(1, nil), results.LostUpdate, "the ledger is empty"},
		{"no order has a fence", story(1, nil, row(0, 1, 1)), results.FenceOrder, "no order was sold under a fence"},
		{"no steps were kept", story(1, nil), results.BelievedOverlap, "the steps were not traced"},
		{"no executions were counted", story(1, nil), results.HiddenResend, "the target does not count executions"},
		{"steps were kept, but no lease was taken", traced(step("0", "a", api.Database, "commit", 1, 2)),
			results.EffectiveOverlap, "no lease was acquired and used"},
	} {
		t.Run(fmt.Sprint(tt.name, ": ", tt.invariant), func(t *testing.T) {
			a, _ := Audit(tt.c)
			got := checkOf(a, tt.invariant)
			if got.State != results.Unchecked || got.Count != 0 || got.Note != tt.note {
				t.Errorf("%+v, want it not checked: %s", got, tt.note)
			}
		})
	}
}
