package audit

import (
	"testing"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

func TestPositionsMustTileTheUnits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ledger []api.Order
		count  int64
	}{
		{"orders that lie side by side tile", []api.Order{row(0, 2, 2), row(1, 3, 1), row(2, 6, 3)}, 0},
		{"an order that begins behind unit 1 leaves a gap", []api.Order{row(0, 2, 1), row(1, 3, 1)}, 1},
		{"an order that begins before unit 1 is out of bounds", []api.Order{row(0, 1, 2), row(1, 2, 1)}, 1},
		{"an order below all units does not blame those above", []api.Order{row(0, -3, 1), row(1, 1, 1), row(2, 2, 1)}, 1},
		{"of two orders that end at one unit, the one that fits is intact, though it comes last",
			[]api.Order{row(0, 1, 1), row(1, 2, 2), row(2, 2, 1)}, 1},
		{"of two orders that end at one unit, neither may fit", []api.Order{row(0, 1, 1), row(1, 5, 2), row(2, 5, 1)}, 2},
		{"an order within another's units overlaps it", []api.Order{row(0, 3, 3), row(1, 2, 1)}, 2},
		{"every order of a unit but one overlaps", []api.Order{row(0, 1, 1), row(1, 1, 1), row(2, 1, 1), row(3, 2, 1)}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := Audit(story(9, nil, tt.ledger...))
			if got := checkOf(a, results.LostUpdate); got.Count != tt.count {
				t.Errorf("%d orders break the tiling, want %d", got.Count, tt.count)
			}
		})
	}
}

func TestAFenceMayBeSharedButNeverFalls(t *testing.T) {
	for name, row := range map[string]struct {
		fences []int64
		count  int64
	}{
		"every order has a fence of its own":         {[]int64{1, 2, 4, 9}, 0},
		"a leader sells several orders under one":    {[]int64{3, 3, 3, 4}, 0},
		"a holder sells after it was replaced":       {[]int64{1, 3, 2, 4}, 1},
		"an old leader sells on":                     {[]int64{4, 3, 3, 3}, 1},
		"two holders that were replaced sell on":     {[]int64{5, 4, 6, 2}, 2},
		"a counter that began anew, and was counted": {[]int64{8, 9, 1, 2}, 1},
	} {
		c := story(9, nil)
		for i, fence := range row.fences {
			c.Ledger = append(c.Ledger, orderAt(i, fence))
		}
		a, _ := Audit(c)
		if got := checkOf(a, results.FenceOrder); got.Count != row.count {
			t.Errorf("%s: %d orders under a fence below the one before, want %d", name, got.Count, row.count)
		}
	}
}

// orderAt is the order that took unit i+1 under a fence.
func orderAt(i int, fence int64) api.Order {
	o := row(uint64(i), int64(i+1), 1)
	o.Fence = fence
	return o
}

func TestFencesOfOrdersThatShareAPositionAreNoEvidence(t *testing.T) {
	c := story(9, nil, row(0, 1, 1), row(1, 2, 1), row(2, 2, 1), row(3, 3, 1))
	for i, fence := range []int64{1, 3, 2, 4} {
		c.Ledger[i].Fence = fence
	}
	a, _ := Audit(c)
	if got := checkOf(a, results.FenceOrder); got.State != results.Intact || got.Note != "" {
		t.Errorf("%+v, want it held", got)
	}
}

func TestFencesOfOrdersWithoutAFenceOrAPositionAreNoEvidence(t *testing.T) {
	c := story(9, nil, row(0, 1, 1), row(1, 2, 1), row(2, 3, 1), row(3, 0, 1))
	for i, fence := range []int64{1, 0, 2, 1} {
		c.Ledger[i].Fence = fence
	}
	a, _ := Audit(c)
	if got := checkOf(a, results.FenceOrder); got.State != results.Intact ||
		got.Note != "2 orders had no fence or no position" {
		t.Errorf("%+v, want it held, with a note", got)
	}
}
