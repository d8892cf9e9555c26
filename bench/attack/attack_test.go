package attack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// A scripted reply, and what a hit that meets it must be recorded as. Where code is 0 there is no reply.
type scripted struct {
	code    uint16
	outcome api.Outcome
	errors  []string // one of them
	reply   func(http.ResponseWriter, *http.Request)
}

var hungUp = []string{closed, reset, "http: server closed idle connection"}

var script = []scripted{
	{201, api.Sold, nil, func(w http.ResponseWriter, r *http.Request) { sold(w, r, nil) }},
	{200, api.Replayed, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderReplayed, "true")
		sold(&as{w, 200}, r, nil)
	}},
	{409, api.SoldOut, nil, func(w http.ResponseWriter, r *http.Request) { refuse(w, 409, api.CodeSoldOut) }},
	{423, api.Contended, nil, func(w http.ResponseWriter, r *http.Request) { refuse(w, 423, api.CodeContended) }},
	{409, api.Fenced, nil, func(w http.ResponseWriter, r *http.Request) { refuse(w, 409, api.CodeFenced) }},
	{503, api.Unavailable, nil, func(w http.ResponseWriter, r *http.Request) { refuse(w, 503, api.CodeUnavailable) }},
	{422, api.Invalid, nil, func(w http.ResponseWriter, r *http.Request) { refuse(w, 422, api.CodeKeyReused) }},
	{500, api.Unknown, []string{""}, func(w http.ResponseWriter, r *http.Request) { refuse(w, 500, "") }},
	{201, api.Unknown, []string{otherKey}, func(w http.ResponseWriter, r *http.Request) {
		sold(w, r, func(one *api.Order) { one.Key += "0" })
	}},
	{0, api.Unknown, hungUp, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
}

// as changes the status of a reply.
type as struct {
	http.ResponseWriter
	status int
}

func (w *as) WriteHeader(int) { w.ResponseWriter.WriteHeader(w.status) }

// scriptOf gives hit k its reply; the sum with k/10 shifts the script against the replicas.
func scriptOf(k uint64) scripted { return script[(k+k/10)%uint64(len(script))] }

func TestTenThousandMixedOutcomesAreCountedExactly(t *testing.T) {
	const n, replicas = 10_000, 3
	var arrivals [n]atomic.Int32
	var addresses []string
	for i := range uint64(replicas) {
		addresses = append(addresses, shop(t, func(w http.ResponseWriter, r *http.Request) {
			k, err := strconv.ParseUint(r.Header.Get(api.HeaderSeq), 10, 64)
			if err != nil || k >= n || k%replicas != i || r.Header.Get(api.HeaderKey) != fmt.Sprint("hot/", k) {
				t.Errorf("replica %d was asked for hit %d by key %s", i, k, r.Header.Get(api.HeaderKey))
				return
			}
			arrivals[k].Add(1)
			scriptOf(k).reply(w, r)
		}))
	}
	c := config(t, 5000, n*time.Second/5000, addresses...)
	// However slow the machine, no hit may time out.
	c.Timeout, c.MaxConnections = 10*time.Minute, 16
	var last Live
	c.Progress = func(l Live) { last = l }
	report := run(t, c)

	want := map[api.Outcome]int{
		api.Sold: n / 10, api.Replayed: n / 10, api.SoldOut: n / 10, api.Contended: n / 10, api.Fenced: n / 10,
		api.Unavailable: n / 10, api.Invalid: n / 10, api.Unknown: 3 * n / 10,
	}
	a := report.Attack
	if !maps.Equal(a.Outcomes, want) || a.Planned != n || a.Sent != n || a.SocketErrors != 0 || a.CPU <= 0 {
		t.Errorf("the attack is %+v", a)
	}
	if !maps.Equal(last.Outcomes, want) || last.Answered != n || last.Sent != n || last.InFlight != 0 {
		t.Errorf("the last that Progress was told is %+v", last)
	}
	for k, hit := range report.Hits {
		if arrived := arrivals[k].Load(); arrived != 1 {
			t.Fatalf("hit %d arrived %d times", k, arrived)
		}
		checkHit(t, uint64(k), hit, c)
	}
}

func checkHit(t *testing.T, k uint64, hit results.Hit, c Config) {
	t.Helper()
	want := scriptOf(k)
	one := orders{seed: c.Seed, quantity: c.Quantity, addresses: len(c.Addresses)}.at(k)
	switch {
	case hit.Seq != k, hit.Code != want.code, hit.Outcome != want.outcome, hit.Intended != c.Schedule[k],
		int(hit.Quantity) != one.checkout.Quantity, int(hit.Replica) != one.replica, hit.End <= hit.Sent:
		t.Fatalf("hit %d is recorded as %+v", k, hit)
	case want.errors == nil && hit.Error != "", want.errors != nil && !slices.Contains(want.errors, hit.Error):
		t.Fatalf("hit %d met %q, which is none of %q", k, hit.Error, want.errors)
	}
	if known := hit.Order == 1 && hit.Position == 2 && hit.Fence == 3; known != hit.Outcome.Acknowledged() {
		t.Fatalf("hit %d is %v with %+v", k, hit.Outcome, hit)
	}
}

// vegeta drops the rest of a schedule when its clock is past the end, and its ConstantPacer the hit at zero.
func TestEveryPlannedHitIsSent(t *testing.T) {
	address := shop(t, empty)
	for _, test := range []struct {
		name     string
		schedule []time.Duration
	}{
		{"all hits are due at zero", make([]time.Duration, 500)},
		{"one hit is due at zero", []time.Duration{0}},
		{"the last hits come in a burst", slices.Repeat([]time.Duration{100 * ms}, 300)},
		{"a gap is longer than the longest sleep", []time.Duration{0, 3 * longestSleep}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := config(t, 1, time.Second, address)
			c.Schedule = test.schedule
			report := run(t, c)
			if n := len(test.schedule); report.Attack.Planned != n || report.Attack.Sent != n || len(report.Hits) != n {
				t.Errorf("sent %d, planned %d, recorded %d of %d", report.Attack.Sent, report.Attack.Planned, len(report.Hits), n)
			}
			for k, hit := range report.Hits {
				if hit.Sent < hit.Intended {
					t.Errorf("hit %d was sent %v early", k, hit.Intended-hit.Sent)
				}
				if k > 0 && hit.Sent < report.Hits[k-1].Sent {
					t.Errorf("hit %d was sent before the one before it", k)
				}
			}
		})
	}
}

func TestCancelledAttackKeepsWhatWasSent(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	hang := make(chan struct{})
	defer close(hang)
	var arrivals atomic.Int64
	address := shop(t, func(w http.ResponseWriter, r *http.Request) {
		switch n := arrivals.Add(1); {
		case n <= 50:
			sold(w, r, nil)
		case n == 100:
			cancel(enough)
			fallthrough
		default:
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}
	})
	c := config(t, 1000, time.Minute, address)
	// Of a hundred arrivals on sixty connections, some were answered.
	c.Timeout, c.MaxConnections = time.Hour, 60
	began := time.Now()
	report, err := Run(ctx, c)
	if took := time.Since(began); took > 50*time.Second { // the schedule takes a minute
		t.Errorf("it took %v to stop", took)
	}
	a := report.Attack
	if !errors.Is(err, enough) || !strings.Contains(fmt.Sprint(err), fmt.Sprintf("%d of 60000", a.Sent)) {
		t.Errorf("error %v", err)
	}
	if a.Planned != 60_000 || a.Sent < 100 || a.Sent > 59_000 || a.Sent != len(report.Hits) {
		t.Errorf("planned %d, sent %d, recorded %d", a.Planned, a.Sent, len(report.Hits))
	}
	// The last of the fifty answers may have come too late.
	if n := a.Outcomes[api.Sold]; n < 1 || n > 50 || a.Outcomes[api.Unknown] != a.Sent-n {
		t.Errorf("outcomes %v of %d", a.Outcomes, a.Sent)
	}
	for _, hit := range report.Hits {
		if hit.Outcome == api.Unknown && hit.Error != cancelled {
			t.Errorf("hit %d met %q", hit.Seq, hit.Error)
		}
	}
}

func TestAttackThatNeverBeganSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	report, err := Run(ctx, config(t, 10, time.Second, shop(t, empty)))
	if !errors.Is(err, context.Canceled) || report.Attack.Sent != 0 || report.Attack.Planned != 10 {
		t.Errorf("got %+v, %v", report.Attack, err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := config(t, 10, time.Second, "http://127.0.0.1:1")
	for _, test := range []struct {
		name   string
		change func(*Config)
	}{
		{"no address", func(c *Config) { c.Addresses = nil }},
		{"more addresses than a hit can name", func(c *Config) { c.Addresses = slices.Repeat(c.Addresses, 257) }},
		{"an address without a scheme", func(c *Config) { c.Addresses = []string{"127.0.0.1:80"} }},
		{"an address with a path", func(c *Config) { c.Addresses = []string{"http://127.0.0.1:80/shop"} }},
		{"an address with a password", func(c *Config) { c.Addresses = []string{"http://a:b@127.0.0.1:80"} }},
		{"an address with a query", func(c *Config) { c.Addresses = []string{"http://127.0.0.1:80?x"} }},
		{"an address of another scheme", func(c *Config) { c.Addresses = []string{"ftp://127.0.0.1:80"} }},
		{"no SKU", func(c *Config) { c.SKU = "" }},
		{"a SKU that is too long", func(c *Config) { c.SKU = strings.Repeat("x", api.MaxSKU+1) }},
		{"no quantity", func(c *Config) { c.Quantity = 0 }},
		{"a quantity beyond the contract", func(c *Config) { c.Quantity = api.MaxQuantity + 1 }},
		{"keys that would be too long", func(c *Config) { c.KeyPrefix = strings.Repeat("x", api.MaxKey-1) }},
		{"a key that no header can carry", func(c *Config) { c.KeyPrefix = "a\r\nb" }},
		{"a name that no header can carry", func(c *Config) { c.Name = "a\nb" }},
		{"no schedule", func(c *Config) { c.Schedule = nil }},
		{"a schedule that goes back", func(c *Config) { c.Schedule = []time.Duration{2, 1} }},
		{"a schedule before zero", func(c *Config) { c.Schedule = []time.Duration{-1} }},
		{"no timeout", func(c *Config) { c.Timeout = 0 }},
		{"a negative cap", func(c *Config) { c.MaxConnections = -1 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := good
			test.change(&c)
			if _, err := Run(t.Context(), c); !errors.Is(err, ErrConfig) {
				t.Errorf("got %v, want an ErrConfig", err)
			}
		})
	}
	good.Addresses = []string{"http://127.0.0.1:1/", "https://[::1]:8443", "http://shop"}
	if urls, err := good.validate(); err != nil || urls[0].String() != "http://127.0.0.1:1/v1/checkouts" {
		t.Errorf("got %v, %v", urls, err)
	}
}
