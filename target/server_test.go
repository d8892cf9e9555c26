package target_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target"
	"github.com/hotsku/hotsku/target/api"
	"github.com/hotsku/hotsku/target/stack/stacktest"
	"github.com/hotsku/hotsku/target/steps"
)

func TestMain(m *testing.M) {
	target.LogRedis(slog.New(slog.DiscardHandler))
	stacktest.Main(m)
}

const token = "the-token-of-this-test"

// patience is how long an order may wait in a test whose subject is no limit: longer than the slowest machine needs.
const patience = time.Minute

// config returns the settings of a replica on the shared stack.
func config(t testing.TB, strategy string) target.Config {
	t.Helper()
	s := stacktest.Start(t)
	var nodes []string // five databases of one Redis stand in for five processes
	for n := range 5 {
		node := s.Redis()
		node.DB = n + 1
		nodes = append(nodes, node.URL())
	}
	return target.Config{
		RedisNodes: nodes,
		Replica:    "one", Strategy: strategy, Timeout: patience,
		Lease: strategies.LeaseSettings{TTL: patience / 4, Wait: patience, Retry: 4 * time.Millisecond},
		DSN:   s.DSN() + "&readTimeout=1m&innodb_lock_wait_timeout=60", DBConnections: 16, RedisURL: s.Redis().URL() + "?read_timeout=1m", RedisPrefix: s.KeyPrefix(), RedisConnections: 32,
		AdminToken: token, Record: true, Trace: true, Log: slog.New(slog.DiscardHandler),
	}
}

// start serves a replica and returns its address.
func start(t testing.TB, cfg target.Config) string {
	t.Helper()
	server, err := target.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		web.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return web.URL
}

// replica starts a replica with the tables in place.
func replica(t testing.TB, cfg target.Config) string {
	t.Helper()
	db, err := target.OpenDatabase(cfg.DSN, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := target.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return start(t, cfg)
}

// answer is a reply, read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) problem(t testing.TB) (p api.Problem) {
	t.Helper()
	if a.header.Get("Content-Type") != api.ProblemType {
		t.Errorf("%d %s: not a problem: %s", a.status, a.header.Get("Content-Type"), a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || p.Status != a.status {
		t.Errorf("problem %q of a %d: %v", a.body, a.status, err)
	}
	return p
}

func (a answer) order(t testing.TB) (o api.Order) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &o); err != nil {
		t.Fatalf("%d: %q: %v", a.status, a.body, err)
	}
	return o
}

func send(t testing.TB, method, url, body string, header ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Add(header[i], header[i+1])
	}
	return do(t, request)
}

func do(t testing.TB, request *http.Request) answer {
	t.Helper()
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	read, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{reply.StatusCode, reply.Header, string(read)}
}

// newSKU puts stock units of a fresh SKU on sale.
func newSKU(t testing.TB, address string, stock int) string {
	t.Helper()
	sku := fmt.Sprintf("sku-%d", time.Now().UnixNano())
	got := send(t, "PUT", address+"/v1/inventory/"+sku, fmt.Sprintf(`{"stock": %d}`, stock), "Authorization", "Bearer "+token)
	if got.status != http.StatusCreated {
		t.Fatalf("create %s: %d %s", sku, got.status, got.body)
	}
	return sku
}

func buy(t testing.TB, address, sku, key string, quantity int) answer {
	t.Helper()
	return send(t, "POST", address+api.PathCheckouts, fmt.Sprintf(`{"sku":%q,"quantity":%d,"customer":"me"}`, sku, quantity),
		api.HeaderKey, key)
}

func admin(t testing.TB, address, path, sku string) answer {
	t.Helper()
	return send(t, "GET", address+path+"?sku="+sku, "", "Authorization", "Bearer "+token)
}

func TestASaleAndItsRetry(t *testing.T) {
	for _, info := range strategies.All() {
		t.Run(info.Name, func(t *testing.T) {
			address := replica(t, config(t, info.Name))
			sku := newSKU(t, address, 3)
			position := int64(3)
			if info.Unordered {
				position = 0
			}
			first := buy(t, address, sku, sku+"/1", 3)
			if first.status != http.StatusCreated || first.header.Get(api.HeaderReplica) != "one" {
				t.Fatalf("%d by %q: %s", first.status, first.header.Get(api.HeaderReplica), first.body)
			}
			sold := first.order(t)
			if sold.SKU != sku || sold.Quantity != 3 || sold.Position != position || sold.Key != sku+"/1" || sold.Replica != "one" {
				t.Errorf("sold %+v", sold)
			}
			again := buy(t, address, sku, sku+"/1", 3) // nothing is left by now
			if again.status != http.StatusOK || again.header.Get(api.HeaderReplayed) != "true" || again.order(t) != sold {
				t.Errorf("the retry: %d, replayed %q: %s, want 200 with %+v", again.status, again.header.Get(api.HeaderReplayed), again.body, sold)
			}
			other := buy(t, address, sku, sku+"/1", 2)
			if p := other.problem(t); other.status != http.StatusUnprocessableEntity || p.Code != api.CodeKeyReused {
				t.Errorf("the key with another body: %d %s", other.status, p.Code)
			}
			out := buy(t, address, sku, sku+"/2", 1)
			if p := out.problem(t); out.status != http.StatusConflict || p.Code != api.CodeSoldOut {
				t.Errorf("nothing left: %d %s", out.status, p.Code)
			}
			if lines := admin(t, address, api.PathLedger, sku); strings.Count(lines.body, "\n") != 1 || lines.order(t) != sold {
				t.Errorf("the ledger: %s", lines.body)
			}
		})
	}
}

func TestTheInventoryCountsWhatIsLeftWhereverItIsKept(t *testing.T) {
	for _, name := range strategies.Names() {
		t.Run(name, func(t *testing.T) {
			address := replica(t, config(t, name))
			sku := newSKU(t, address, 10)
			if got := buy(t, address, sku, sku+"/1", 3); got.status != http.StatusCreated {
				t.Fatalf("%d: %s", got.status, got.body)
			}
			if got := send(t, "GET", address+"/v1/inventory/"+sku, ""); !strings.Contains(got.body, `"stock":7,"sold":3,`) {
				t.Errorf("the inventory: %s", got.body)
			}
		})
	}
}

func TestOneKeyAtOnceFromManyClientsMakesOneOrder(t *testing.T) {
	for _, name := range []string{"db-conditional", "lock-fence"} {
		t.Run(name, func(t *testing.T) {
			address := replica(t, config(t, name))
			sku := newSKU(t, address, 100)
			var mu sync.Mutex
			got := map[int]int{}
			var done sync.WaitGroup
			for range 16 {
				done.Go(func() {
					a := buy(t, address, sku, sku+"/same", 1)
					mu.Lock()
					defer mu.Unlock()
					got[a.status]++
				})
			}
			done.Wait()
			if got[http.StatusCreated] != 1 || got[http.StatusOK] != 15 {
				t.Errorf("statuses %v, want one 201 and fifteen 200", got)
			}
			if lines := admin(t, address, api.PathLedger, sku); strings.Count(lines.body, "\n") != 1 {
				t.Errorf("the ledger: %s", lines.body)
			}
		})
	}
}

func TestBadCheckoutsAreRefused(t *testing.T) {
	address := replica(t, config(t, "db-conditional"))
	sku := newSKU(t, address, 10)
	good := fmt.Sprintf(`{"sku":%q,"quantity":1,"customer":"me"}`, sku)
	for name, row := range map[string]struct {
		body string
		keys []string
		want api.Code
	}{
		"no key":                       {good, nil, api.CodeInvalid},
		"two keys":                     {good, []string{"a", "b"}, api.CodeInvalid},
		"a key that is too long":       {good, []string{strings.Repeat("k", api.MaxKey+1)}, api.CodeInvalid},
		"a key with a blank":           {good, []string{"a b"}, api.CodeInvalid},
		"no body":                      {"", []string{"k"}, api.CodeInvalid},
		"half a body":                  {good[:20], []string{"k"}, api.CodeInvalid},
		"an unknown field":             {strings.Replace(good, "customer", "client", 1), []string{"k"}, api.CodeInvalid},
		"two objects":                  {good + good, []string{"k"}, api.CodeInvalid},
		"rubbish behind the object":    {good + "}", []string{"k"}, api.CodeInvalid},
		"a quantity of 0":              {strings.Replace(good, ":1,", ":0,", 1), []string{"k"}, api.CodeInvalid},
		"a negative quantity":          {strings.Replace(good, ":1,", ":-1,", 1), []string{"k"}, api.CodeInvalid},
		"a quantity that overflows":    {strings.Replace(good, ":1,", ":9223372036854775808,", 1), []string{"k"}, api.CodeInvalid},
		"a quantity that is a word":    {strings.Replace(good, ":1,", `:"1",`, 1), []string{"k"}, api.CodeInvalid},
		"no customer":                  {strings.Replace(good, "me", "", 1), []string{"k"}, api.CodeInvalid},
		"a customer with a line break": {strings.Replace(good, "me", `m\ne`, 1), []string{"k"}, api.CodeInvalid},
		"a SKU with a quote and blank": {`{"sku":"x' OR 1","quantity":1,"customer":"me"}`, []string{"k"}, api.CodeInvalid},
		"a SKU that is not there":      {strings.Replace(good, sku, sku+"x", 1), []string{"k"}, api.CodeUnknownSKU},
		"a body that is too large":     {good[:len(good)-1] + strings.Repeat(" ", api.MaxBody) + "}", []string{"k"}, api.CodeTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			var header []string
			for _, key := range row.keys {
				header = append(header, api.HeaderKey, key)
			}
			if p := send(t, "POST", address+api.PathCheckouts, row.body, header...).problem(t); p.Code != row.want {
				t.Errorf("%d %s, want %s", p.Status, p.Code, row.want)
			}
		})
	}
	if got := send(t, "GET", address+"/v1/inventory/"+sku, ""); !strings.Contains(got.body, `"stock":10`) {
		t.Errorf("after all that: %s", got.body)
	}
}

func TestTheAdministratorsCalls(t *testing.T) {
	address := replica(t, config(t, "db-conditional"))
	sku := newSKU(t, address, 1)
	for _, path := range []string{api.PathLedger, api.PathTrace, api.PathExecutions} {
		for _, header := range []string{"", "Bearer wrong", "Bearer ", token} {
			if got := send(t, "GET", address+path+"?sku="+sku, "", "Authorization", header); got.problem(t).Code != api.CodeForbidden || got.status != 401 {
				t.Errorf("%s with %q: %d", path, header, got.status)
			}
		}
		if got := admin(t, address, path, sku); got.status != 200 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	put := func(body string) answer {
		return send(t, "PUT", address+"/v1/inventory/"+sku, body, "Authorization", "Bearer "+token)
	}
	if got := put(`{"stock": 5}`); got.problem(t).Code != api.CodeExists || got.status != 409 {
		t.Errorf("a SKU that is there: %d", got.status)
	}
	for _, body := range []string{`{"stock": -1}`, `{"stock": 1000000001}`, `{"stick": 1}`, ``} {
		if got := put(body); got.problem(t).Code != api.CodeInvalid {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	cfg := config(t, "db-conditional")
	cfg.AdminToken = ""
	if got := send(t, "GET", start(t, cfg)+api.PathLedger+"?sku=x", "", "Authorization", "Bearer "); got.status != 401 {
		t.Errorf("without a token of its own the service let the administrator in: %d", got.status)
	}
}

func TestWrongCallsGetProblems(t *testing.T) {
	address := replica(t, config(t, "db-conditional"))
	if got := send(t, "GET", address+api.PathCheckouts, ""); got.status != 405 || got.header.Get("Allow") != "POST" {
		t.Errorf("GET of checkouts: %d, Allow %q", got.status, got.header.Get("Allow"))
	}
	if got := send(t, "GET", address+"/nowhere", ""); got.problem(t).Status != 404 {
		t.Errorf("a path that is not there: %d", got.status)
	}
	if got := send(t, "GET", address+"/v1/inventory/none", ""); got.problem(t).Code != api.CodeUnknownSKU {
		t.Errorf("a SKU that is not there: %d %s", got.status, got.body)
	}
}

func TestReplicasCountExecutionsAndKeepSteps(t *testing.T) {
	address := replica(t, config(t, "lock-fence"))
	sku := newSKU(t, address, 10)
	for _, seq := range []string{"0", "1", "1", "7", "1"} {
		send(t, "POST", address+api.PathCheckouts, fmt.Sprintf(`{"sku":%q,"quantity":1,"customer":"me"}`, sku),
			api.HeaderKey, sku+"/"+seq, api.HeaderSeq, seq)
	}
	var seen api.Executions
	if err := json.Unmarshal([]byte(admin(t, address, api.PathExecutions, sku).body), &seen); err != nil {
		t.Fatal(err)
	}
	if seen.Requests != 5 || len(seen.Repeated) != 1 || seen.Repeated[1] != 3 || seen.InFlight != 0 || seen.Replica != "one" {
		t.Errorf("%+v, want 5 requests, of which number 1 three times", seen)
	}
	var names []string
	for line := range strings.Lines(admin(t, address, api.PathTrace, sku).body) {
		var step api.Step
		if err := json.Unmarshal([]byte(line), &step); err != nil {
			t.Fatal(err)
		}
		if step.Order == sku+"/0" {
			names = append(names, step.Name)
		}
		if step.End < step.Start || step.Replica != "one" {
			t.Errorf("step %+v", step)
		}
	}
	want := "acquire begin update inventory insert orders insert outbox commit release"
	if got := strings.Join(names, " "); !strings.HasSuffix(got, want) || len(names) > 8 {
		t.Errorf("the steps of an order:\n%s, want\n%s", got, want)
	}
	if seen.Steps < 7*3 {
		t.Errorf("%d steps counted", seen.Steps)
	}
}

// silent is an address that takes connections and never answers, as a frozen Redis does.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return "redis://" + l.Addr().String()
}

// crowd lets 50 customers buy at once, each of whom must get the status that is wanted, and returns how long the fastest took.
func crowd(t *testing.T, address, sku string, want int) time.Duration {
	t.Helper()
	times := make([]time.Duration, 50)
	var done sync.WaitGroup
	for n := range times {
		done.Go(func() {
			from := time.Now()
			got := buy(t, address, sku, fmt.Sprint(sku, "/", n), 1)
			times[n] = time.Since(from)
			if got.status != want {
				t.Errorf("%d: %s; want %d", got.status, got.body, want)
			}
			if want == 503 && (got.header.Get("Retry-After") == "" || got.problem(t).Code != api.CodeUnavailable) {
				t.Errorf("Retry-After %q: %s", got.header.Get("Retry-After"), got.body)
			}
		})
	}
	done.Wait()
	return slices.Min(times)
}

func TestRedisGoneFailsClosed(t *testing.T) {
	for where, url := range map[string]string{"refused": "redis://127.0.0.1:1", "frozen": silent(t)} {
		for name, want := range map[string]int{"lock-only": 503, "lock-fence": 503, "db-conditional": 201} {
			t.Run(where+" "+name, func(t *testing.T) {
				cfg := config(t, name)
				cfg.RedisURL = url
				address := replica(t, cfg)
				// A busy machine makes some of them late, and now and then all; a timeout that is too long always makes all late.
				const limit = 500 * time.Millisecond
				fastest := time.Hour
				for range 3 {
					if fastest = min(fastest, crowd(t, address, newSKU(t, address, 100), want)); fastest <= limit {
						break
					}
				}
				if want == 503 && fastest > limit {
					t.Errorf("the fastest refusal of three crowds took %v, want %v at most", fastest, limit)
				}
				if ready := send(t, "GET", address+api.PathReady, ""); (ready.status == 200) != (want == 201) {
					t.Errorf("/readyz: %d %s", ready.status, ready.body)
				}
			})
		}
	}
}

func TestTheDatabaseGoneMeansUnavailable(t *testing.T) {
	cfg := config(t, "db-conditional")
	cfg.DSN = "nobody:secret@tcp(127.0.0.1:1)/hotsku"
	var logged bytes.Buffer
	cfg.Log = slog.New(slog.NewTextHandler(&logged, nil))
	address := start(t, cfg)
	got := buy(t, address, "sku", "key", 1)
	if p := got.problem(t); got.status != 503 || p.Code != api.CodeUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if ready := send(t, "GET", address+api.PathReady, ""); ready.status != 503 || !strings.Contains(ready.body, "database") {
		t.Errorf("/readyz: %d %s", ready.status, ready.body)
	}
	if healthy := send(t, "GET", address+api.PathHealth, ""); healthy.status != 200 {
		t.Errorf("/healthz: %d", healthy.status)
	}
	if strings.Contains(logged.String(), "secret") || strings.Contains(got.body, "127.0.0.1:1") {
		t.Errorf("something was given away: %s %s", logged.String(), got.body)
	}
}

func TestMetricsTellWhatHappened(t *testing.T) {
	address := replica(t, config(t, "lock-fence"))
	sku := newSKU(t, address, 1)
	buy(t, address, sku, sku+"/1", 1)
	buy(t, address, sku, sku+"/2", 1)
	page := send(t, "GET", address+api.PathMetrics, "").body
	for _, want := range []string{
		`hotsku_checkout_seconds_count{outcome="sold",strategy="lock-fence"} 1`,
		`hotsku_checkout_seconds_count{outcome="sold-out",strategy="lock-fence"} 1`,
		`hotsku_step_seconds_count{step="update inventory",store="database",strategy="lock-fence"} 2`,
		`hotsku_step_seconds_count{step="acquire",store="redis",strategy="lock-fence"}`,
		`hotsku_lease_wait_seconds_count{strategy="lock-fence"} 2`,
		`hotsku_fence_refusals_total{strategy="lock-fence"} 0`,
		`go_sql_open_connections{db_name="hotsku"}`, `hotsku_redis_pool_connections`, `go_goroutines`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestAReplicaEndsAfterTheCheckoutsUnderWay(t *testing.T) {
	cfg := config(t, "db-conditional")
	db, err := target.OpenDatabase(cfg.DSN, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sku := newSKU(t, replica(t, cfg), 5)
	server, err := target.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// The row is locked, so that the checkout is under way when the replica is told to end.
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), `SELECT stock FROM inventory WHERE sku = ? FOR UPDATE`, sku); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served, sold := make(chan error, 1), make(chan answer, 1)
	go func() { served <- server.Serve(ctx, l) }()
	go func() { sold <- buy(t, "http://"+l.Addr().String(), sku, sku+"/1", 1) }()
	waitUntilBusy(t, "http://"+l.Addr().String(), sku)
	stop()
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := <-sold; got.status != http.StatusCreated {
		t.Errorf("%d %s", got.status, got.body)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// waitUntilBusy returns once a checkout of the SKU is under way.
func waitUntilBusy(t *testing.T, address, sku string) {
	t.Helper()
	for {
		var seen api.Executions
		if err := json.Unmarshal([]byte(admin(t, address, api.PathExecutions, sku).body), &seen); err != nil {
			t.Fatal(err)
		}
		if seen.InFlight > 0 {
			return
		}
	}
}

func forgetful() *steps.Stall {
	return &steps.Stall{Kind: steps.LoseMemory, Steps: []string{"commit"}, Length: time.Second, Probability: 1}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*target.Config)
		want   string
	}{
		"a strategy that is not there":   {func(c *target.Config) { c.Strategy = "luck" }, "luck"},
		"a replica's name with a blank":  {func(c *target.Config) { c.Replica = "a b" }, "name"},
		"no time":                        {func(c *target.Config) { c.Timeout = 0 }, "timeout"},
		"an empty pool":                  {func(c *target.Config) { c.DBConnections = 0 }, "connection"},
		"a lease strategy without Redis": {func(c *target.Config) { c.Strategy, c.RedisURL = "lock-fence", "" }, "Redis"},
		"a DSN that is none":             {func(c *target.Config) { c.DSN = "user:secret@:::" }, "DSN"},
		"a lease that cannot be kept":    {func(c *target.Config) { c.Strategy, c.Lease.TTL = "lock-only", 0 }, "TTL"},
		"a stall without a length":       {func(c *target.Config) { c.Stall = &steps.Stall{Steps: []string{"commit"}, Probability: 1} }, "length"},
		"a loss of a Redis that is not there": {func(c *target.Config) { c.Stall, c.RedisURL = forgetful(), "" },
			"needs the address of Redis"},
		"a loss of all that Redis holds": {func(c *target.Config) { c.Stall, c.RedisPrefix = forgetful(), "" }, "prefix"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := target.Config{Replica: "one", Strategy: "db-conditional", Lease: strategies.DefaultLease(), Timeout: time.Second,
				DSN: "u:secret@tcp(127.0.0.1:1)/x", DBConnections: 1, RedisURL: "redis://127.0.0.1:1", RedisConnections: 1,
				RedisPrefix: "test:",
				Log:         slog.New(slog.DiscardHandler)}
			row.change(&cfg)
			_, err := target.New(cfg)
			if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v, want it to speak of %q and to keep the password", err, row.want)
			}
		})
	}
}
