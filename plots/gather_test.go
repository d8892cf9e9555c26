package plots

import (
	"slices"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

func TestUnsentOrdersLieBetweenTheirNeighbours(t *testing.T) {
	at := func(seq uint64, ms int) results.Hit {
		return results.Hit{Seq: seq, Intended: time.Duration(ms) * time.Millisecond}
	}
	for _, c := range []struct {
		name    string
		hits    []results.Hit
		planned int
		want    []int // ms
	}{
		{"none is missing", []results.Hit{at(0, 1), at(1, 2)}, 2, nil},
		{"one in the middle", []results.Hit{at(0, 10), at(2, 30)}, 3, []int{20}},
		{"two at the start", []results.Hit{at(2, 30)}, 3, []int{10, 20}},
		{"three at the end", []results.Hit{at(0, 60)}, 4, []int{70, 80, 90}},
		{"all", nil, 4, []int{20, 40, 60, 80}},
		{"the plan is not known", []results.Hit{at(0, 10), at(1, 20)}, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []int
			for _, d := range gaps(c.hits, c.planned, 100*time.Millisecond) {
				got = append(got, int(d.Milliseconds()))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestWindowsThatOverlapAreOne(t *testing.T) {
	got := merged([]window{{5, 7}, {1, 3}, {2, 4}, {2, 3}, {7, 8}})
	if want := []window{{1, 4}, {5, 8}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTheFirstOversellIsTheFirstUnitBeyondTheStock(t *testing.T) {
	sold := func(end time.Duration, units int64) hit { return hit{end: end, units: units, outcome: api.Sold} }
	for _, c := range []struct {
		name  string
		stock int64
		hits  []hit
		want  time.Duration
		over  bool
	}{
		{"just sold out", 3, []hit{sold(1, 1), sold(2, 2)}, 0, false},
		{"one unit too many, answered out of order", 2, []hit{sold(9, 1), sold(1, 1), sold(5, 1)}, 9, true},
		{"an order that is larger than what is left", 2, []hit{sold(1, 1), sold(2, 2)}, 2, true},
		{"no stock", 0, []hit{sold(4, 1)}, 4, true},
		{"refusals do not count", 1, []hit{sold(1, 1), {end: 2, units: 1, outcome: api.SoldOut}}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			at, over := drainOf(trial{Trial: results.Trial{Stock: c.stock}, hits: c.hits}).firstOversell()
			if at != c.want || over != c.over {
				t.Errorf("got %v, %v, want %v, %v", at, over, c.want, c.over)
			}
		})
	}
}

func TestTheDrainIsExactAtItsEnds(t *testing.T) {
	d := drainOf(trial{Trial: results.Trial{Stock: 2}, hits: []hit{
		{end: time.Second, units: 1, outcome: api.Sold}, {end: 3 * time.Second, units: 2, outcome: api.Sold},
	}})
	points := d.curve(4*time.Second, 2)
	want := [][2]float64{{0, 2}, {2, 1}, {3, -1}, {4, -1}}
	if len(points) != len(want) {
		t.Fatalf("got %v, want %v", points, want)
	}
	for i, p := range points {
		if p.X != want[i][0] || p.Y != want[i][1] {
			t.Errorf("point %d: got %v, want %v", i, p, want[i])
		}
	}
}

func TestFilesOfScenariosHaveNamesOfTheirOwn(t *testing.T) {
	taken := map[string]bool{}
	for _, c := range []struct{ name, want string }{
		{"calm", "calm"}, {"calm", "calm-2"}, {"../../etc/passwd", "etc-passwd"}, {"", "scenario"}, {"été", "t"},
	} {
		if got := slug(c.name, taken); got != c.want {
			t.Errorf("slug(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTheSeriesOfBinsBreaksWhereThereIsNone(t *testing.T) {
	bins := []bin{{at: 5}, {at: 15}, {at: 35}, {at: 45}}
	var lengths []int
	for _, run := range runs(bins, 10) {
		lengths = append(lengths, len(run))
	}
	if want := []int{2, 2}; !slices.Equal(lengths, want) {
		t.Errorf("got runs of %v, want %v", lengths, want)
	}
}
