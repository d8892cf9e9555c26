package attack

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// serverProcess in the environment makes the test binary a server, so that measurements do not share a process with
// what they measure.
const serverProcess = "HOTSKU_ATTACK_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverProcess) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve prints its address and answers every request with an empty 201 until its standard input is closed.
func serve() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	server := &http.Server{Handler: http.HandlerFunc(empty)}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Close()
	}()
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func empty(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusCreated)
}

// shop starts a server for the time of the test and returns its address.
func shop(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// sold answers a checkout as the contract wants it, but for what change does to the order.
func sold(w http.ResponseWriter, r *http.Request, change func(*api.Order)) {
	var ask api.Checkout
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		refuse(w, http.StatusBadRequest, api.CodeInvalid)
		return
	}
	one := api.Order{
		ID: 1, SKU: ask.SKU, Quantity: ask.Quantity, Position: 2, Fence: 3, Customer: ask.Customer,
		Key: r.Header.Get(api.HeaderKey), CreatedAt: time.Unix(0, 0).UTC(),
	}
	if change != nil {
		change(&one)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(one)
}

func refuse(w http.ResponseWriter, status int, code api.Code) {
	w.Header().Set("Content-Type", api.ProblemType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(api.Problem{Type: "about:blank", Status: status, Code: code})
}

// config is an attack on addresses at a constant rate that a slow machine can keep.
func config(t testing.TB, rate float64, duration time.Duration, addresses ...string) Config {
	t.Helper()
	schedule, err := Schedule(results.Constant, rate, duration, 0)
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Name: "test", Addresses: addresses, SKU: "hot", KeyPrefix: "hot/", Seed: 1, Quantity: 3,
		Schedule: schedule, Timeout: time.Minute,
	}
}

// run attacks, and fails the test on an error.
func run(t testing.TB, c Config) Report {
	t.Helper()
	report, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return report
}
