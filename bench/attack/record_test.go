package attack

import (
	"errors"
	"net/http"
	"testing"
	"time"
	"unsafe"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/hotsku/hotsku/results"
)

// carried is a record of a schedule of n hits, all of which the courier has written down.
func carried(n int) *record {
	schedule, hits := make([]time.Duration, n), make([]results.Hit, n)
	for i := range hits {
		schedule[i], hits[i].Quantity = time.Duration(i)*ms, 1
	}
	return newRecord(time.Now(), schedule, hits)
}

func (r *record) report(seq uint64, sent, latency time.Duration) *vegeta.Result {
	return &vegeta.Result{Seq: seq, Timestamp: r.zero.Add(sent), Latency: latency}
}

func TestRecordKeepsTimesOnOneClock(t *testing.T) {
	r := carried(2)
	for _, report := range []*vegeta.Result{r.report(1, 3*ms, 4*ms), r.report(0, -ms, 2*ms)} {
		if err := r.add(report); err != nil {
			t.Fatal(err)
		}
	}
	hits, err := r.sent()
	if err != nil {
		t.Fatal(err)
	}
	want := []results.Hit{
		{Seq: 0, Intended: 0, Sent: -ms, End: ms, Quantity: 1},
		{Seq: 1, Intended: ms, Sent: 3 * ms, End: 7 * ms, Quantity: 1},
	}
	if hits[0] != want[0] || hits[1] != want[1] {
		t.Errorf("got %+v, want %+v", hits, want)
	}
}

// Each of vegeta's possible failures is planted, and must be found.
func TestRecordRefusesWhatCannotBe(t *testing.T) {
	for _, test := range []struct {
		name    string
		reports []uint64
		plant   func(*record)
	}{
		{"a hit is reported twice", []uint64{0, 1, 1}, nil},
		{"a hit is reported that was not planned", []uint64{0, 1, 2, 3}, nil},
		{"a hit is missing though a later one was reported", []uint64{0, 2}, nil},
		{"a hit was reported that the courier never saw", []uint64{0, 1, 2}, func(r *record) { r.hits[1].Quantity = 0 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := carried(3)
			if test.plant != nil {
				test.plant(r)
			}
			reports, stopped := make(chan *vegeta.Result, len(test.reports)), 0
			for _, seq := range test.reports {
				reports <- r.report(seq, 0, ms)
			}
			close(reports)
			err := r.drain(reports, func() { stopped++ })
			if stopped > 1 || (err == nil) != (stopped == 0) {
				t.Errorf("the attack was stopped %d times for %v", stopped, err)
			}
			if err == nil {
				_, err = r.sent()
			}
			if !errors.Is(err, ErrRecord) {
				t.Errorf("got %v, want an ErrRecord", err)
			}
		})
	}
}

// A second attack by one Attacker is cut short without an error by vegeta v12.13, which is why Run makes one for
// each; when this test fails, vegeta has become better.
func TestVegetaAttackerServesOnce(t *testing.T) {
	address := shop(t, func(w http.ResponseWriter, r *http.Request) { empty(w, r) })
	attacker := vegeta.NewAttacker()
	const n = 200
	target := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodGet, URL: address})
	var sent [2]int
	for i := range sent {
		for range attacker.Attack(target, vegeta.ConstantPacer{Freq: 2000, Per: time.Second}, n*time.Second/2000, "") {
			sent[i]++
		}
	}
	if sent[1] >= n {
		t.Errorf("two attacks sent %v of %d hits each", sent, n)
	}
}

// The figure is in the package's comment.
func TestMemoryPerHit(t *testing.T) {
	const want = 93 // 80 of the hit, 8 of its intended time, 4 of its place among the arrivals, 1 of its flag
	var r record
	got := unsafe.Sizeof(r.hits[0]) + unsafe.Sizeof(r.schedule[0]) +
		unsafe.Sizeof(r.arrivals[0]) + unsafe.Sizeof(r.reported[0])
	if got != want {
		t.Errorf("a planned hit takes %d bytes, not %d", got, want)
	}
}

func BenchmarkRecord(b *testing.B) {
	const n = 1 << 16
	r := carried(n)
	reports := make([]*vegeta.Result, n)
	for i := range reports {
		reports[i] = r.report(uint64(i), time.Duration(i)*ms, ms)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if i%n == 0 {
			clear(r.reported)
			r.arrived.Store(0)
		}
		if err := r.add(reports[i%n]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkHit is all that the generator and a server in the same process do for one hit, one after the other.
func BenchmarkHit(b *testing.B) {
	for _, kind := range []string{"empty", "sold"} {
		b.Run("answer="+kind, func(b *testing.B) {
			handler := http.HandlerFunc(empty)
			if kind == "sold" {
				handler = func(w http.ResponseWriter, r *http.Request) { sold(w, r, nil) }
			}
			const n = 1 << 16
			c, r := newCourier(b, shop(b, handler), n), carried(n)
			b.ReportAllocs()
			seq := 0
			for b.Loop() {
				if seq%n == 0 {
					clear(r.reported)
					r.arrived.Store(0)
				}
				if hit := c.carry(b, seq%n); hit.Code != http.StatusCreated {
					b.Fatalf("hit %d met %+v", seq, hit)
				}
				if err := r.add(r.report(uint64(seq%n), 0, ms)); err != nil {
					b.Fatal(err)
				}
				seq++
			}
		})
	}
}
