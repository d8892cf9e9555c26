// Package results is what hotsku keeps: the records of a run, their files, the histograms and the summary.
//
// A run folder can be read, re-judged and redrawn without a server. The package knows the contract's vocabulary
// (target/api) and nothing else of hotsku.
package results

import (
	"time"

	"github.com/hotsku/hotsku/target/api"
)

// Schema is the version of the records in this package. A reader refuses a newer one.
const Schema = 1

// A Run is all trials of one invocation, with the machine and the settings that they ran under: run.json.
// It holds no secret.
type Run struct {
	Schema  int       `json:"schema"`
	ID      string    `json:"id"` // the folder's name: UTC time and label
	Label   string    `json:"label"`
	State   RunState  `json:"state"`
	Reason  string    `json:"reason,omitempty"` // why it is partial
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// Exploratory marks a run with too few trials for a decision.
	Exploratory  bool       `json:"exploratory"`
	Command      []string   `json:"command"`
	Plan         Plan       `json:"plan"`
	Strategies   []Strategy `json:"strategies,omitempty"` // what those of the plan claim
	Machine      Machine    `json:"machine"`
	Build        Build      `json:"build"`
	Servers      []Server   `json:"servers"`
	Replicas     int        `json:"replicas"`
	ReplicaProcs int        `json:"replica_gomaxprocs,omitempty"` // of each replica that hotsku started
	// CoLocated says that generator, replicas and servers shared one machine, so that only comparisons within the
	// run mean anything.
	CoLocated bool   `json:"co_located"`
	Exit      int    `json:"exit"`    // the exit code that the run ended with
	Verdict   string `json:"verdict"` // one sentence
}

// RunState says how far a run came.
type RunState string

// The states of a run.
const (
	Running  RunState = "running" // also what a killed run leaves: read it as partial
	Complete RunState = "complete"
	Partial  RunState = "partial"
)

// Plan is what a run sets out to do: plan.json, written before the first trial.
type Plan struct {
	Name        string     `json:"name" yaml:"name"`
	Doc         string     `json:"doc,omitempty" yaml:"doc"`
	Seed        uint64     `json:"seed" yaml:"seed"`       // 0: drawn at the start, and recorded
	Blocks      int        `json:"blocks" yaml:"blocks"`   // each runs every strategy once through every scenario
	Retries     int        `json:"retries" yaml:"retries"` // how often an invalid trial is tried again
	Exploratory bool       `json:"exploratory" yaml:"exploratory"`
	Strategies  []string   `json:"strategies" yaml:"strategies"`
	Scenarios   []Scenario `json:"scenarios" yaml:"scenarios"`
	// Order is the order of the trials, as shuffled by Seed.
	Order []Cell `json:"order,omitempty" yaml:"-"`
}

// A Cell is one strategy in one scenario, in one block.
type Cell struct {
	Block    int    `json:"block"` // from 1
	Scenario string `json:"scenario"`
	Strategy string `json:"strategy"`
	Seed     uint64 `json:"seed"` // of arrivals and stalls: the same for all strategies of a block and scenario
}

// A Scenario is load, stock and faults: what every strategy goes through alike.
type Scenario struct {
	Name     string   `json:"name" yaml:"name"`
	Doc      string   `json:"doc,omitempty" yaml:"doc"`
	Shape    Shape    `json:"shape" yaml:"shape"`
	Arrivals Arrivals `json:"arrivals" yaml:"arrivals"`
	Rate     float64  `json:"rate" yaml:"rate"`         // orders per second, over all replicas
	Duration Duration `json:"duration" yaml:"duration"` // of the schedule
	Stock    int64    `json:"stock" yaml:"stock"`       // units at the start; 0 in the sustain shape: twice what can be asked for
	Quantity int      `json:"quantity" yaml:"quantity"` // each order asks for 1 to Quantity units, drawn from the seed
	WarmUp   Duration `json:"warm_up" yaml:"warm_up"`   // on another SKU, at the same rate, not recorded
	Timeout  Duration `json:"timeout" yaml:"timeout"`   // after which the client gives an order up
	Lease    Lease    `json:"lease" yaml:"lease"`
	Stall    *Stall   `json:"stall,omitempty" yaml:"stall"`
	Untraced bool     `json:"untraced,omitempty" yaml:"untraced"` // keep no steps
	Gates    Gates    `json:"gates" yaml:"gates"`
}

// Shape says whether the stock binds.
type Shape string

// The shapes of load.
const (
	Drain   Shape = "drain"   // the stock sells out in the middle
	Sustain Shape = "sustain" // the stock never binds
)

// Arrivals is the law of the gaps between orders.
type Arrivals string

// The laws of arrival.
const (
	Poisson  Arrivals = "poisson"
	Constant Arrivals = "constant"
	// Bursts are groups of BurstSize orders at the same instant, the groups at a constant distance: a crowd that is let in,
	// again and again. The stock's last unit goes in the middle of a crowd if it is no multiple of BurstSize.
	Bursts Arrivals = "bursts"
)

// BurstSize is the number of orders that come at once in [Bursts].
const BurstSize = 30

// Lease holds the settings of the strategies that take one.
type Lease struct {
	TTL  Duration `json:"ttl" yaml:"ttl"`   // it expires this long after it was granted
	Wait Duration `json:"wait" yaml:"wait"` // an order waits this long for it, then is contended
	// Retry is the mean pause before the second try to take it; it doubles with every further one, up to 16 times.
	Retry Duration `json:"retry" yaml:"retry"`
}

// Gates are the limits beyond which a trial cannot be trusted. A zero limit takes the default.
type Gates struct {
	SentShare float64  `json:"sent_share" yaml:"sent_share"` // least sent/planned; default 0.999
	LagP99    Duration `json:"lag_p99" yaml:"lag_p99"`       // greatest p99 of lag
	CPU       float64  `json:"cpu" yaml:"cpu"`               // greatest share of GOMAXPROCS that the generator used
	Strikes   int64    `json:"strikes" yaml:"strikes"`       // least number of stalls that must have struck, where one is ordered
}

// A Trial is one strategy through one scenario, once: trial.json.
type Trial struct {
	Schema       int              `json:"schema"`
	ID           string           `json:"id"` // the folder's name: number, scenario, strategy, block
	Number       int              `json:"number"`
	Attempt      int              `json:"attempt"` // from 1; above 1 it repeats an invalid one
	Cell         Cell             `json:"cell"`
	Strategy     Strategy         `json:"strategy"`
	Scenario     Scenario         `json:"scenario"`
	SKU          string           `json:"sku"`
	Stock        int64            `json:"stock"`      // units at the start
	KeyPrefix    string           `json:"key_prefix"` // an order's key is KeyPrefix + Seq
	Addresses    []string         `json:"addresses"`  // of the replicas, by Hit.Replica
	ReplicaNames []string         `json:"replica_names"`
	Zero         time.Time        `json:"zero"` // the wall clock at the offset 0 of all hits
	Attack       Attack           `json:"attack"`
	Phases       []Phase          `json:"phases"`
	Latencies    []Latency        `json:"latencies"`
	Inventory    api.Inventory    `json:"inventory"` // at rest, after the attack
	Executions   []api.Executions `json:"executions"`
	Strikes      int64            `json:"strikes"`          // stalls that struck
	Frozen       Duration         `json:"frozen,omitempty"` // for how long they made replicas stand still, measured by the replicas
	Lost         int64            `json:"lost,omitempty"`   // keys that they deleted in Redis
	Refusals     int64            `json:"refusals"`         // writes that the fence refused
	// Events counts what happened on the way of the orders and no single statement shows, such as "deadlock", by name.
	Events  map[string]int64 `json:"events,omitempty"`
	Audit   Audit            `json:"audit"`
	Gates   []Gate           `json:"gates"`
	Verdict Verdict          `json:"verdict"`
}

// Strategy is what the records keep of a strategy's registration.
type Strategy struct {
	Name   string   `json:"name"`
	Doc    string   `json:"doc"`
	Safe   bool     `json:"safe"`             // claims never to oversell, whatever fault strikes
	Breaks []string `json:"breaks,omitempty"` // the scenarios that are known to break it, for an unsafe one
}

// Attack is what the generator did.
type Attack struct {
	Planned  int      `json:"planned"`
	Sent     int      `json:"sent"`
	Elapsed  Duration `json:"elapsed"`   // to the last answer
	CPU      float64  `json:"cpu"`       // share of GOMAXPROCS that the generator's process used
	Burst    int      `json:"burst"`     // most hits sent within any 10 ms
	InFlight int      `json:"in_flight"` // most hits unanswered at once
	// SocketErrors counts the hits that failed on the generator's own side: out of file descriptors or ports.
	SocketErrors int                 `json:"socket_errors"`
	Outcomes     map[api.Outcome]int `json:"outcomes"`
	// Clamped counts times beyond the histograms' range (120 s), recorded as its edge.
	Clamped int `json:"clamped"`
}

// PhaseName names a part of a trial.
type PhaseName string

// The phases. A drain has the first three, as far as it came; a sustain has the last alone.
const (
	Selling   PhaseName = "selling"
	Edge      PhaseName = "edge" // half a second before and after the last unit went
	AfterSale PhaseName = "sold-out"
	Sustained PhaseName = "sustained"
	Whole     PhaseName = "whole" // all phases together
)

// A Phase is a part of a trial, from From up to but without To. A hit belongs to it by its intended time.
type Phase struct {
	Name PhaseName `json:"name"`
	From Duration  `json:"from"`
	To   Duration  `json:"to"`
	// Acknowledged counts the orders whose sale was acknowledged within the phase, by the time of the answer: what the
	// target really got done in it. Orders that were sent in it and answered after it are not among them.
	Acknowledged int64 `json:"acknowledged"`
}

// Latency sums up the hits of one kind, outcome and phase.
//
// Min, Mean and Max are those of the samples. The percentiles come from an HdrHistogram of three significant digits:
// they lie above the sample that they stand for by at most 0.1 % or 0.5 µs, whichever is more, and never above Max. In
// them, samples beyond 120 s count as 120 s.
type Latency struct {
	Kind    Kind        `json:"kind"`
	Outcome api.Outcome `json:"outcome"`
	Phase   PhaseName   `json:"phase"`
	Count   int64       `json:"count"`
	Min     Duration    `json:"min"`
	Mean    Duration    `json:"mean"`
	P50     Percentile  `json:"p50"`
	P90     Percentile  `json:"p90"`
	P99     Percentile  `json:"p99"`
	P999    Percentile  `json:"p999"`
	Max     Duration    `json:"max"`
}

// A Gate is a condition that a trial must meet to be trusted.
type Gate struct {
	Name     string `json:"name"`
	Limit    string `json:"limit"`
	Measured string `json:"measured"`
	Passed   bool   `json:"passed"`
}

// Verdict is the judgement of a trial.
type Verdict struct {
	State VerdictState `json:"state"`
	// Reasons says why: the gates that failed, or the invariants that broke.
	Reasons []string `json:"reasons,omitempty"`
}

// VerdictState is one word for a trial.
type VerdictState string

// The verdicts on a trial. What a strategy claims is the summary's business, not the trial's.
const (
	Held    VerdictState = "held"    // every invariant that was checked held
	Broken  VerdictState = "broken"  // at least one invariant broke
	Suspect VerdictState = "invalid" // a gate failed: no result, whatever the figures say
)
