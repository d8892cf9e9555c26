package attack

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// A freezer is a shop that answers at once, but for one freeze of a second, at whose end it works off its queue in
// order of arrival, as after a long garbage collection.
type freezer struct {
	mu       sync.Mutex // guards all
	arrivals int
	frozen   bool
	queue    []chan struct{}
	froze    time.Time
	thawed   time.Time
	answered []time.Time // by Seq
}

const (
	freezeAt  = 500 // arrivals
	freezeFor = time.Second
)

func (f *freezer) serve(w http.ResponseWriter, r *http.Request) {
	seq, err := strconv.Atoi(r.Header.Get(api.HeaderSeq))
	if err != nil {
		refuse(w, http.StatusBadRequest, api.CodeInvalid)
		return
	}
	if turn := f.arrive(); turn != nil {
		<-turn
	}
	f.mu.Lock()
	f.answered[seq] = time.Now()
	f.mu.Unlock()
	sold(w, r, nil)
}

// arrive returns what to wait for, nil for nothing.
func (f *freezer) arrive() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.arrivals++; f.arrivals == freezeAt {
		f.frozen, f.froze = true, time.Now()
		go f.thaw()
	}
	if !f.frozen {
		return nil
	}
	turn := make(chan struct{})
	f.queue = append(f.queue, turn)
	return turn
}

// thaw ends the freeze, and lets ten of the queue go every millisecond so that they do not fight for the processor.
func (f *freezer) thaw() {
	time.Sleep(freezeFor)
	f.mu.Lock()
	f.thawed = time.Now()
	f.mu.Unlock()
	for f.release(10) {
		time.Sleep(time.Millisecond)
	}
}

func (f *freezer) release(n int) (more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n = min(n, len(f.queue))
	for _, turn := range f.queue[:n] {
		close(turn)
	}
	f.queue = f.queue[n:]
	f.frozen = len(f.queue) > 0
	return f.frozen
}

// truth returns the p99 of response that the freeze must have caused: a hit that the schedule wanted sent while the
// shop stood still waits until it thawed, all others do not wait.
func (f *freezer) truth(zero time.Time, hits []results.Hit) time.Duration {
	froze, thawed := f.froze.Sub(zero), f.thawed.Sub(zero)
	waits := make([]time.Duration, len(hits))
	for i, hit := range hits {
		if hit.Intended >= froze && hit.Intended < thawed {
			waits[i] = thawed - hit.Intended
		}
	}
	slices.Sort(waits)
	return percentile(waits, 99)
}

// check compares the hits with what the shop knows, and returns their p99s.
func (f *freezer) check(t *testing.T, zero time.Time, hits []results.Hit) (truth, response, service time.Duration) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for seq, hit := range hits {
		if hit.Outcome != api.Sold {
			t.Fatalf("hit %d is recorded as %+v", seq, hit)
		}
		if least := f.answered[seq].Sub(zero) - hit.Intended; hit.Response() < least {
			t.Fatalf("hit %d: response %v, though it was answered %v after its intended time", seq, hit.Response(), least)
		}
	}
	truth, response, service = f.truth(zero, hits), p99(hits, results.Response), p99(hits, results.Service)
	t.Logf("p99: truth %v, response %v, service %v, lag %v", truth, response, service, p99(hits, results.Lag))
	if response < truth {
		t.Fatalf("response p99 %v is below the truth %v", response, truth)
	}
	return truth, response, service
}

// In the fake time of a bubble the machine has no say, so that the comparison is exact but for the time that the shop
// takes to work off its queue. The capped workers are planted: as any other reason for the generator to fall behind
// would, they make hits be sent after the freeze, so that service knows nothing of it, and response does all the same.
func TestFreezeCannotHide(t *testing.T) {
	for _, test := range []struct {
		name        string
		connections int
		workers     uint64
		hidden      bool // from service
	}{
		{"neither connections nor workers are capped", 0, vegeta.DefaultMaxWorkers, false},
		{"64 connections", 64, vegeta.DefaultMaxWorkers, false},
		{"8 connections", 8, vegeta.DefaultMaxWorkers, false},
		{"8 workers", 0, 8, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := config(t, 1000, 2200*time.Millisecond)
				c.MaxConnections = test.connections
				f := freezer{answered: make([]time.Time, len(c.Schedule))}
				zero, hits := attackInBubble(t, c, f.serve, vegeta.MaxWorkers(test.workers))
				truth, response, service := f.check(t, zero, hits)
				if response > truth+truth/50 {
					t.Errorf("response p99 %v is more than 2 %% above the truth %v", response, truth)
				}
				if hidden := service < truth/10; hidden != test.hidden {
					t.Errorf("service p99 %v of %v", service, truth)
				}
			})
		})
	}
}

// attackInBubble does what Run does, by a clock and a network that stay within a synctest bubble.
func attackInBubble(t *testing.T, c Config, handler http.HandlerFunc, option func(*vegeta.Attacker)) (
	zero time.Time, hits []results.Hit,
) {
	t.Helper()
	network := make(pipes)
	server := &http.Server{Handler: handler}
	go server.Serve(network)
	defer server.Close()
	carrier := newCourier(t, "http://shop", len(c.Schedule))
	carrier.transport = newTransport(c.MaxConnections)
	carrier.transport.DialContext = network.dial
	carrier.orders.quantity = c.Quantity
	defer carrier.transport.CloseIdleConnections()
	zero = time.Now()
	pacer := &pacer{ctx: t.Context(), zero: zero, schedule: c.Schedule, sleepUntil: func(offset time.Duration) {
		time.Sleep(offset - time.Since(zero))
	}}
	record := newRecord(zero, c.Schedule, carrier.hits)
	attacker := vegeta.NewAttacker(vegeta.Client(&http.Client{Transport: carrier}), option)
	if err := record.drain(attacker.Attack(blank, pacer, 0, ""), func() {}); err != nil {
		t.Fatal(err)
	}
	hits, err := record.sent()
	if err != nil {
		t.Fatal(err)
	}
	if len(hits) != len(c.Schedule) {
		t.Fatalf("sent %d of %d hits", len(hits), len(c.Schedule))
	}
	return zero, hits
}

// pipes is a network of one listener.
type pipes chan net.Conn

var _ net.Listener = pipes(nil)

func (p pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// On a real network and clock, response is never below the truth, whatever else the machine does. That it is within 2 %
// above it can be asked only of an attack that passes its own gates, and that nothing disturbed just when the shop thawed, which
// no gate sees: it gets three chances to be one. A record that is wrong is wrong each time.
func TestFreezeCannotHideOnARealNetwork(t *testing.T) {
	for _, connections := range []int{0, 8} {
		t.Run(fmt.Sprintf("connections=%d", connections), func(t *testing.T) {
			late := false
			for range 3 {
				c := config(t, 1000, 2200*time.Millisecond)
				f := freezer{answered: make([]time.Time, len(c.Schedule))}
				c.Addresses, c.MaxConnections, c.Timeout = []string{shop(t, f.serve)}, connections, time.Minute
				report := run(t, c)
				if slices.ContainsFunc(report.Hits, func(h results.Hit) bool { return h.Error == dialTimedOut }) {
					late = true // the machine could not even connect the crowd that the freeze makes
					continue
				}
				truth, response, _ := f.check(t, report.Zero, report.Hits)
				if response <= truth+truth/50 {
					return
				}
				t.Logf("response p99 %v is more than 2 %% above the truth %v, lag p99 %v", response, truth, report.LagP99)
				late = late || report.LagP99 > DefaultLagP99
			}
			if late {
				t.Skip("the machine is too busy for a comparison")
			}
			t.Error("though the hits were sent on time, response is above the truth in each of three attacks")
		})
	}
}

func p99(hits []results.Hit, kind results.Kind) time.Duration {
	times := make([]time.Duration, len(hits))
	for i, hit := range hits {
		times[i] = kind.Of(hit)
	}
	slices.Sort(times)
	return percentile(times, 99)
}
