package attack

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// A rawShop speaks HTTP by hand: serve is called for each request with its number on its connection, and returns what to
// write and whether to keep the connection. One that is not kept is reset if nothing was written, else closed.
type rawShop struct {
	listener net.Listener
	serve    func(nth int) (reply string, keep bool)
	mu       sync.Mutex     // guards arrivals
	arrivals map[string]int // by key
}

func newRawShop(t *testing.T, serve func(nth int) (reply string, keep bool)) *rawShop {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawShop{listener: listener, serve: serve, arrivals: make(map[string]int)}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { s.talk(conn.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		open.Wait()
	})
	return s
}

func (s *rawShop) address() string { return "http://" + s.listener.Addr().String() }

func (s *rawShop) talk(conn *net.TCPConn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for nth := 1; ; nth++ {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		key := request.Header.Get(api.HeaderKey)
		s.mu.Lock()
		s.arrivals[key]++
		s.mu.Unlock()
		reply, keep := s.serve(nth)
		if reply == "" {
			_ = conn.SetLinger(0) // close with RST
		}
		if _, err := conn.Write([]byte(reply)); err != nil || !keep {
			return
		}
	}
}

func (s *rawShop) arrived(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrivals[key]
}

// newCourier returns a courier to one address with room for n hits, as Run would make it.
func newCourier(t testing.TB, address string, n int) *courier {
	t.Helper()
	at, err := url.Parse(address + api.PathCheckouts)
	if err != nil {
		t.Fatal(err)
	}
	c := &courier{
		ctx: t.Context(), transport: newTransport(0), addresses: []*url.URL{at}, timeout: time.Minute,
		orders: orders{prefix: "hot/", sku: "hot", quantity: 1, addresses: 1}, hits: make([]results.Hit, n),
	}
	t.Cleanup(c.transport.CloseIdleConnections)
	return c
}

// carry takes hit seq to its replica, as vegeta would have it done.
func (c *courier) carry(t testing.TB, seq int) results.Hit {
	t.Helper()
	blank, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://replica/", nil)
	if err != nil {
		t.Fatal(err)
	}
	blank.Header.Set(api.HeaderSeq, fmt.Sprint(seq))
	reply, err := c.RoundTrip(blank)
	if err == nil {
		reply.Body.Close()
	}
	return c.hits[seq]
}

const emptyRefusal = "HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n"

// resetsReuse answers the first request of each connection and resets the connection at its second: what net/http takes
// for a connection that the server had closed for idleness, after the request was received.
func resetsReuse(nth int) (string, bool) {
	if nth == 1 {
		return emptyRefusal, true
	}
	return "", false
}

func TestNothingIsSentTwice(t *testing.T) {
	shop := newRawShop(t, resetsReuse)
	c := newCourier(t, shop.address(), 2)
	if first := c.carry(t, 0); first.Code != 409 {
		t.Fatalf("the first hit met %+v", first)
	}
	second := c.carry(t, 1)
	if n := shop.arrived("hot/1"); n != 1 {
		t.Errorf("the second hit reached the replica %d times", n)
	}
	if second.Outcome != api.Unknown || second.Code != 0 || second.Error == "" {
		t.Errorf("the second hit is recorded as %+v", second)
	}
}

// The same requests with a GetBody are sent again: the shop above does provoke it, and its absence is what prevents it.
func TestNetHTTPWouldSendTwice(t *testing.T) {
	shop := newRawShop(t, resetsReuse)
	client := &http.Client{Transport: newTransport(0)}
	defer client.CloseIdleConnections()
	for seq := range 2 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, shop.address(), strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(api.HeaderKey, fmt.Sprint("hot/", seq))
		reply, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
	}
	if n := shop.arrived("hot/1"); n != 2 {
		t.Errorf("net/http sent the second request %d times; the test of the courier proves nothing", n)
	}
}

func TestWhatIsNoAnswerIsUnknown(t *testing.T) {
	reply := func(status string, length int, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", status, length, body)
	}
	order := `{"id":1,"sku":"hot","quantity":1,"idempotency_key":"hot/0"}`
	for _, test := range []struct {
		name  string
		reply string
		code  uint16
		want  string
	}{
		{"the connection is reset", "", 0, reset},
		{"a sale's body ends early", reply("201 Created", len(order)+1, order), 201, cutShort},
		{"a refusal's body ends early", reply("409 Conflict", 99, `{"code":"sold_out"}`), 409, cutShort},
		{"the body is too long", reply("201 Created", 999_999, strings.Repeat(" ", maxAnswer+1)), 201, tooLong},
		{"the protocol is switched", "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", 101, otherProtocol},
		{"it is not HTTP", "SSH-2.0\r\n\r\n", 0,
			`net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			shop := newRawShop(t, func(int) (string, bool) { return test.reply, test.code == http.StatusSwitchingProtocols })
			c := newCourier(t, shop.address(), 1)
			got := c.carry(t, 0)
			if got.Outcome != api.Unknown || got.Code != test.code || got.Error != test.want || got.Order != 0 {
				t.Errorf("got %+v, want error %q", got, test.want)
			}
			if n := shop.arrived("hot/0"); n != 1 {
				t.Errorf("it reached the replica %d times", n)
			}
		})
	}
}

func TestHitIsGivenUpAfterTheTimeout(t *testing.T) {
	answer := make(chan struct{})
	address := shop(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get(api.HeaderSeq) == "1" {
			<-answer
		}
	})
	defer close(answer)
	c := newCourier(t, address, 2)
	c.carry(t, 0) // so that the second need not connect, which on a slow machine alone could take the time
	c.timeout = 30 * time.Millisecond
	began := time.Now()
	got := c.carry(t, 1)
	if took := time.Since(began); got.Error != timedOut || took < c.timeout {
		t.Errorf("after %v: %+v", took, got)
	}
}

func TestNobodyListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := newCourier(t, "http://"+listener.Addr().String(), 1)
	listener.Close()
	if got := c.carry(t, 0); got.Error != refused || got.Outcome != api.Unknown || got.Quantity != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 307, 308} {
		var arrivals atomic.Int64
		address := shop(t, func(w http.ResponseWriter, r *http.Request) {
			arrivals.Add(1)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		})
		report := run(t, config(t, 1000, time.Millisecond, address))
		got := report.Hits[0]
		if n := arrivals.Load(); n != 1 || got.Outcome != api.Unknown || got.Code != uint16(status) {
			t.Errorf("%d: %d arrivals, recorded as %+v", status, n, got)
		}
	}
}

func TestRequestIsTheContractsCheckout(t *testing.T) {
	var mu sync.Mutex
	bodies, headers := make(map[string]string), make(map[string]http.Header)
	address := shop(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		bodies[r.Header.Get(api.HeaderSeq)] = r.Method + " " + r.URL.String() + " " + string(body)
		headers[r.Header.Get(api.HeaderSeq)] = r.Header
		sold(w, cloneOf(r, body), nil)
	})
	c := config(t, 1000, 2*time.Millisecond, address)
	c.SKU, c.Seed = `größe "42"`, 9
	report := run(t, c)
	mu.Lock()
	defer mu.Unlock()
	one := orders{seed: 9, quantity: 3, sku: c.SKU, addresses: 1}.at(1).checkout
	want := fmt.Sprintf(`POST /v1/checkouts {"sku":"größe \"42\"","quantity":%d,"customer":%q}`,
		one.Quantity, one.Customer)
	if bodies["1"] != want {
		t.Errorf("got %s, want %s", bodies["1"], want)
	}
	h := headers["1"]
	if h.Get("Content-Type") != "application/json" || h.Get(api.HeaderKey) != "hot/1" ||
		h.Get("X-Vegeta-Attack") != "test" || h.Get("Accept-Encoding") != "" {
		t.Errorf("header %v", h)
	}
	got := report.Hits[1]
	if got.Outcome != api.Sold || int(got.Quantity) != one.Quantity || got.Position != 2 || got.Fence != 3 {
		t.Errorf("recorded as %+v", got)
	}
}

func cloneOf(r *http.Request, body []byte) *http.Request {
	clone := r.Clone(r.Context())
	clone.Body = io.NopCloser(bytes.NewReader(body))
	return clone
}

func TestCourierRefusesAHitWithoutAPlace(t *testing.T) {
	c := newCourier(t, "http://127.0.0.1:1", 1)
	for _, seq := range []string{"", "1", "-1", "x"} {
		blank := &http.Request{Header: http.Header{}}
		blank.Header.Set(api.HeaderSeq, seq)
		if reply, err := c.RoundTrip(blank); err == nil {
			reply.Body.Close()
			t.Errorf("hit %q was carried", seq)
		}
	}
}
