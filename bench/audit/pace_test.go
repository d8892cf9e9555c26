package audit

import (
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

func TestPace(t *testing.T) {
	type hits = []results.Hit
	for _, tt := range []struct {
		name          string
		stock         int64
		hits          hits
		gap, oversell int // ms
	}{
		{"no hit makes no gap", 5, nil, 0, 0},
		{"the first gap begins when the first hit is sent", 5, hits{bought(0, 1, 1, 10, 17)}, 7, 0},
		{"the time between two hits is no gap when nobody waited",
			5, hits{bought(0, 1, 1, 0, 2), bought(1, 2, 1, 100, 103)}, 3, 0},
		{"a gap begins with the sale before it when somebody waited already",
			5, hits{bought(0, 1, 1, 0, 2), bought(1, 2, 1, 1, 50)}, 48, 0},
		{"refusals do not end a gap, and those that wait one after another carry it on",
			5, hits{told(0, api.Contended, 1, 0, 10), told(1, api.Contended, 1, 10, 20), bought(2, 1, 1, 15, 25)}, 25, 0},
		{"a moment with nobody waiting ends a gap",
			5, hits{told(0, api.Contended, 1, 0, 10), bought(1, 1, 1, 11, 20)}, 10, 0},
		{"what follows the last sale is no gap",
			5, hits{bought(0, 1, 1, 0, 2), told(1, api.Contended, 1, 1, 90)}, 2, 0},
		{"what follows the last unit is no gap, even when more is sold",
			1, hits{bought(0, 1, 1, 0, 2), bought(1, 2, 1, 1, 90)}, 2, 90},
		{"the first oversell is the answer with which the units pass the stock",
			3, hits{bought(0, 2, 2, 0, 2), bought(1, 4, 2, 0, 3), bought(2, 5, 1, 0, 4)}, 2, 3},
		{"a retry of a sold order acknowledges nothing more",
			1, hits{bought(0, 1, 1, 0, 2), bought(0, 1, 1, 5, 6)}, 2, 0},
		{"an order is acknowledged by the try that was answered first",
			2, hits{bought(0, 1, 1, 0, 50), bought(0, 1, 1, 1, 5), bought(1, 2, 1, 2, 8)}, 5, 0},
		{"without stock there is no gap, and the first sale is the first oversell", 0, hits{bought(0, 1, 1, 0, 2)}, 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := Audit(story(tt.stock, tt.hits))
			gap, oversell := time.Duration(tt.gap)*time.Millisecond, time.Duration(tt.oversell)*time.Millisecond
			if a.LongestGap.D() != gap || a.FirstOversell.D() != oversell {
				t.Errorf("gap %v and first oversell %v, want %v and %v", a.LongestGap, a.FirstOversell, gap, oversell)
			}
		})
	}
}
