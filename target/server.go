// Package target is the system under test: a checkout service that sells a limited stock by one strategy, in as many
// replicas as one likes over one database and one Redis.
package target

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target/api"
	"github.com/hotsku/hotsku/target/steps"
)

// Config is what a replica is made of.
type Config struct {
	Replica  string // its name: 1 to 64 letters, digits and "._-"
	Strategy string // see [strategies.Names]
	Lease    strategies.LeaseSettings

	DSN              string // of the database; see [OpenDatabase]
	DBConnections    int
	RedisURL         string   // see [OpenRedis]; may be empty for a strategy that does without
	RedisNodes       []string // the addresses of the independent Redis processes that redlock wants
	RedisPrefix      string   // of every key
	RedisConnections int

	// AdminToken is wanted by the administrator's calls. If it is empty, they are all refused.
	AdminToken string
	Timeout    time.Duration // of one checkout

	Record bool         // count executions, for the audit; they stay in memory until the replica ends
	Trace  bool         // keep every step, likewise
	Stall  *steps.Stall // strikes some orders; New tells it what Redis it may make forget, and where to log

	Log *slog.Logger
}

// Server is one replica of the checkout service. Make it with [New]; its Handler may be served by any HTTP server.
type Server struct {
	cfg      Config
	info     strategies.Info
	strategy strategies.Strategy
	db       *sql.DB
	redis    *redis.Client
	nodes    []*redis.Client
	eraser   *redis.Client // of a stall that makes Redis lose its memory; else nil
	records  *recorder
	metrics  *metrics
	seam     steps.Observer // sees every step
	handler  http.Handler
}

// New returns a replica. It connects to nothing yet: a replica starts without its dependencies and says so by /readyz.
func New(cfg Config) (*Server, error) {
	info, err := strategies.Get(cfg.Strategy)
	if err != nil {
		return nil, err
	}
	if err := cfg.validate(info); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, info: info, metrics: newMetrics(cfg.Strategy)}
	if cfg.Record || cfg.Trace {
		s.records = newRecorder(cfg.Replica, cfg.Trace)
	}
	if err := s.connect(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.strategy, err = info.New(strategies.Env{
		DB: s.db, Redis: s.client(), Nodes: s.clients(), Prefix: cfg.RedisPrefix, Replica: cfg.Replica, Lease: cfg.Lease,
		Log: cfg.Log, Tell: s.tell, As: func(ctx context.Context, o strategies.Order) context.Context {
			ctx, _ = steps.Begin(ctx, o.Key, o.SKU)
			return ctx
		},
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.metrics.watchPools(s.db, s.redis)
	s.handler = s.routes()
	return s, nil
}

func (c Config) validate(info strategies.Info) error {
	switch {
	case !validName(c.Replica):
		return fmt.Errorf("the replica's name %q is not 1 to 64 letters, digits, '.', '_' and '-'", c.Replica)
	case c.Timeout <= 0:
		return fmt.Errorf("the timeout of a checkout must be above 0, not %v", c.Timeout)
	case c.DBConnections < 1 || c.RedisConnections < 1:
		return errors.New("each pool needs at least one connection")
	case info.Redis && c.RedisURL == "":
		return fmt.Errorf("the strategy %s needs Redis; give its address", info.Name)
	case len(c.RedisNodes) < info.Nodes:
		return fmt.Errorf("the strategy %s needs %d independent Redis processes; give the addresses of all", info.Name, info.Nodes)
	}
	if c.Stall == nil {
		return nil
	}
	if c.Stall.Kind == steps.LoseMemory && (c.RedisURL == "" || c.RedisPrefix == "") {
		return errors.New("a stall that makes Redis lose its memory needs the address of Redis, and a prefix of the keys that may go")
	}
	return c.Stall.Validate()
}

func (s *Server) connect() (err error) {
	var stall, record steps.Observer
	if s.cfg.Stall != nil {
		if err := s.arm(s.cfg.Stall); err != nil {
			return err
		}
		stall = s.cfg.Stall
	}
	if s.records != nil {
		record = s.records
	}
	seam := steps.All(s.metrics, record, stall)
	s.seam = seam
	if s.db, err = OpenDatabase(s.cfg.DSN, s.cfg.DBConnections, seam); err != nil {
		return err
	}
	if s.cfg.RedisURL != "" {
		if s.redis, err = OpenRedis(s.cfg.RedisURL, s.cfg.RedisConnections, seam); err != nil {
			return err
		}
	}
	for _, url := range s.cfg.RedisNodes {
		node, err := OpenRedis(url, s.cfg.RedisConnections, seam)
		if err != nil {
			return err
		}
		s.nodes = append(s.nodes, node)
	}
	return nil
}

// eraserConnections is how many strikes may delete keys at once.
const eraserConnections = 4

// arm gives a stall what it needs to strike.
func (s *Server) arm(stall *steps.Stall) (err error) {
	stall.Log = s.cfg.Log
	if stall.Kind != steps.LoseMemory {
		return nil
	}
	if s.eraser, err = OpenRedis(s.cfg.RedisURL, eraserConnections, nil); err != nil {
		return err
	}
	stall.Memory = steps.Memory{Redis: s.eraser, Prefix: s.cfg.RedisPrefix}
	return nil
}

// client returns the Redis client as an interface that is nil when there is none.
func (s *Server) client() redis.UniversalClient {
	if s.redis == nil {
		return nil
	}
	return s.redis
}

// clients returns the clients of the independent Redis processes.
func (s *Server) clients() (all []redis.UniversalClient) {
	for _, node := range s.nodes {
		all = append(all, node)
	}
	return all
}

// tell counts an event of the strategy. A lease that was handed over without a command is a step all the same: Redis's
// message is the answer to a question asked earlier.
func (s *Server) tell(ctx context.Context, e strategies.Event) {
	s.metrics.event(e.Kind)
	s.records.event(e.SKU, e.Kind)
	if e.Kind == strategies.Granted {
		steps.Granted(ctx, s.seam, e.Token)
	}
}

// Close ends what the strategy has going on in the background and closes the pools. No checkout may be under way.
func (s *Server) Close() error {
	var errs []error
	if background, ok := s.strategy.(io.Closer); ok {
		errs = append(errs, background.Close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.redis != nil {
		errs = append(errs, s.redis.Close())
	}
	for _, node := range s.nodes {
		errs = append(errs, node.Close())
	}
	if s.eraser != nil {
		errs = append(errs, s.eraser.Close())
	}
	return errors.Join(errs...)
}

// Handler returns the handler of all calls of the contract.
func (s *Server) Handler() http.Handler { return s.handler }

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	call := func(method, path string, h http.HandlerFunc) {
		mux.HandleFunc(method+" "+path, h)
		mux.HandleFunc(path, wrongMethod(method))
	}
	call("POST", api.PathCheckouts, s.checkout)
	mux.HandleFunc("PUT "+api.PathInventory, s.admin(s.putInventory))
	call("GET", api.PathInventory, s.getInventory)
	call("GET", api.PathLedger, s.admin(s.getLedger))
	call("GET", api.PathTrace, s.admin(s.getTrace))
	call("GET", api.PathExecutions, s.admin(s.getExecutions))
	call("GET", api.PathHealth, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	call("GET", api.PathReady, s.ready)
	call("GET", api.PathMetrics, promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}).ServeHTTP)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		problem(w, refusal{status: http.StatusNotFound, code: api.CodeInvalid, title: "No such call"}, "")
	})
	return s.named(mux)
}

// named puts the replica's name on every reply.
func (s *Server) named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderReplica, s.cfg.Replica)
		next.ServeHTTP(w, r)
	})
}

func wrongMethod(allowed string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", allowed)
		problem(w, refusal{status: http.StatusMethodNotAllowed, code: api.CodeInvalid, title: "Wrong method"}, "Use "+allowed+".")
	}
}

// admin lets only the administrator through.
func (s *Server) admin(next http.HandlerFunc) http.HandlerFunc {
	want := sha256.Sum256([]byte(s.cfg.AdminToken))
	return func(w http.ResponseWriter, r *http.Request) {
		token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(token))
		if s.cfg.AdminToken == "" || !bearer || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			problem(w, refusal{status: http.StatusUnauthorized, code: api.CodeForbidden, title: "Not the administrator"},
				"This call wants the header Authorization: Bearer and the token that the service was started with.")
			return
		}
		next(w, r)
	}
}

// readyPatience is how long a dependency may take to answer a ping before it counts as gone.
const readyPatience = time.Second

// ready says whether the replica can sell now, and if not, for want of what.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyPatience)
	defer cancel()
	missing := map[string]error{"database": s.db.PingContext(ctx)}
	if s.info.Redis {
		missing["Redis"] = s.redis.Ping(ctx).Err()
	}
	for name, err := range missing {
		if err != nil {
			s.cfg.Log.WarnContext(r.Context(), "not ready", "dependency", name, "error", err)
			problem(w, refusalOf(strategies.ErrUnavailable), "The "+name+" does not answer.")
			return
		}
	}
	fmt.Fprintln(w, "ready")
}
