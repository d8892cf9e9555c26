package target

import (
	"database/sql"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target/api"
	"github.com/hotsku/hotsku/target/steps"
)

// metrics is what a replica tells Prometheus. It is an observer of steps, too.
type metrics struct {
	registry  *prometheus.Registry
	checkouts *prometheus.HistogramVec
	steps     *prometheus.HistogramVec
	leaseWait prometheus.Histogram
	events    *prometheus.CounterVec
	fenced    prometheus.Counter
	stalls    prometheus.Counter
	byOutcome []prometheus.Observer // checkouts, by api.Outcome
}

var _ steps.Observer = (*metrics)(nil)

// buckets reach from half a millisecond to 16 s, each twice the one before.
var buckets = prometheus.ExponentialBuckets(0.0005, 2, 16)

func newMetrics(strategy string) *metrics {
	labels := prometheus.Labels{"strategy": strategy}
	histogram := func(name, help string) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets, ConstLabels: labels}
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels})
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		checkouts: prometheus.NewHistogramVec(histogram("hotsku_checkout_seconds",
			"Time from a checkout's arrival to its reply, by outcome."), []string{"outcome"}),
		steps: prometheus.NewHistogramVec(histogram("hotsku_step_seconds",
			"Round trip of a statement to the database or a command to Redis."), []string{"store", "step"}),
		leaseWait: prometheus.NewHistogram(histogram("hotsku_lease_wait_seconds",
			"Time from an order's first try to take the lease to the grant.")),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hotsku_events_total", ConstLabels: labels,
			Help: "What happened to orders that no single statement shows: deadlocks, lock waits, conflicts, further looks, take-overs."},
			[]string{"event"}),
		fenced: counter("hotsku_fence_refusals_total", "Sales that the database refused for a stale fencing token."),
		stalls: counter("hotsku_stalls_total", "Steps that a stall held back."),
	}
	m.registry.MustRegister(m.checkouts, m.steps, m.leaseWait, m.events, m.fenced, m.stalls,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, outcome := range api.Outcomes() {
		m.byOutcome = append(m.byOutcome, m.checkouts.WithLabelValues(outcome.String()))
	}
	return m
}

// checkout counts a checkout that was answered.
func (m *metrics) checkout(outcome api.Outcome, took time.Duration) {
	m.byOutcome[outcome].Observe(took.Seconds())
	if outcome == api.Fenced {
		m.fenced.Inc()
	}
}

// event counts an event of the strategy.
func (m *metrics) event(kind strategies.EventKind) { m.events.WithLabelValues(string(kind)).Inc() }

// Before implements [steps.Observer].
func (m *metrics) Before(*steps.Step) {}

// After implements [steps.Observer].
func (m *metrics) After(s *steps.Step) {
	m.steps.WithLabelValues(string(s.Store), s.Name).Observe(s.End.Sub(s.Start).Seconds())
	if s.Waited > 0 {
		m.leaseWait.Observe(s.Waited.Seconds())
	}
	if s.Stall > 0 {
		m.stalls.Inc()
	}
}

// watchPools adds the state of the connection pools. A nil client is left out.
func (m *metrics) watchPools(db *sql.DB, client *redis.Client) {
	m.registry.MustRegister(collectors.NewDBStatsCollector(db, "hotsku"))
	if client == nil {
		return
	}
	gauge := func(name, help string, value func(*redis.PoolStats) uint32) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(value(client.PoolStats())) }))
	}
	gauge("hotsku_redis_pool_connections", "Connections to Redis.", func(s *redis.PoolStats) uint32 { return s.TotalConns })
	gauge("hotsku_redis_pool_idle", "Idle connections to Redis.", func(s *redis.PoolStats) uint32 { return s.IdleConns })
	gauge("hotsku_redis_pool_timeouts", "Waits for a connection to Redis that ended without one, so far.",
		func(s *redis.PoolStats) uint32 { return s.Timeouts })
}
