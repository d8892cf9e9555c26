package target_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/api"
)

// hostile sends one request whose every part may be rubbish, straight into the handler, and returns the status.
func hostile(t testing.TB, handler http.Handler, method, path, key, seq string, body []byte) int {
	t.Helper()
	request := &http.Request{
		Method: method, URL: parse(path), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: "x",
		Header: http.Header{api.HeaderKey: {key}, api.HeaderSeq: {seq}},
		Body:   http.NoBody,
	}
	if len(body) > 0 {
		request.Body = readCloser{bytes.NewReader(body)}
	}
	reply := httptest.NewRecorder()
	handler.ServeHTTP(reply, request.WithContext(t.Context()))
	return reply.Code
}

var fuzzed struct {
	once    sync.Once
	server  *target.Server
	handler http.Handler
}

// FuzzRequests holds that no request makes the service panic, answer 500, or doubt whether it sold.
func FuzzRequests(f *testing.F) {
	for _, path := range []string{api.PathCheckouts, "/v1/inventory/x", "/v1/ledger?sku=x", "/healthz", "/%zz", "/v1/checkouts/../ledger"} {
		for _, method := range []string{"GET", "POST", "PUT"} {
			f.Add(method, path, "key", "1", []byte(`{"sku":"x","quantity":1,"customer":"me"}`))
		}
	}
	f.Add("POST", api.PathCheckouts, "k\x00", "-1", []byte(`{"sku":"\ud800","quantity":1e99,"customer":"`+strings.Repeat("é", 65)+`"}`))
	f.Add("POST", api.PathCheckouts, "k", "99999999999999999999", bytes.Repeat([]byte("["), 5000))
	f.Fuzz(func(t *testing.T, method, path, key, seq string, body []byte) {
		fuzzed.once.Do(func() {
			cfg := config(t, "lock-fence")
			replica(t, cfg) // for the tables
			server, err := target.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			fuzzed.server, fuzzed.handler = server, server.Handler()
		})
		if fuzzed.handler == nil {
			t.Skip("no servers")
		}
		if status := hostile(t, fuzzed.handler, method, path, key, seq, body); status >= 500 {
			t.Errorf("%s %q answered %d", method, path, status)
		}
	})
}

// Ten thousand hostile requests leave no goroutine and no connection behind.
func TestTenThousandHostileRequests(t *testing.T) {
	cfg := config(t, "lock-fence")
	address := replica(t, cfg)
	sku := newSKU(t, address, 1_000_000)
	server, err := target.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	handler := server.Handler()
	random := newDice(1)
	before := runtime.NumGoroutine()
	statuses := map[int]int{}
	for range 10_000 {
		statuses[hostile(t, handler, random.method(), random.path(), random.key(), random.text(), random.body(sku))]++
	}
	for status, n := range statuses {
		if status >= 500 {
			t.Errorf("%d requests were answered %d", n, status)
		}
	}
	for _, want := range []int{201, 400, 401, 404, 405, 413} {
		if statuses[want] == 0 {
			t.Errorf("no request was answered %d: the dice are not hostile enough: %v", want, statuses)
		}
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	settle(t, before)
}

// settle waits until no more goroutines run than before; those of closed connections need a moment to end.
func settle(t *testing.T, before int) {
	t.Helper()
	deadline := time.After(patience)
	for runtime.NumGoroutine() > before {
		select {
		case <-deadline:
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		default:
			runtime.Gosched()
		}
	}
}
