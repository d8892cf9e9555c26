// Package bench is the load: it puts a target through a plan of trials, breaks it on purpose, audits what became of
// every order, and judges. It knows a target by its addresses and the contract (target/api) alone.
package bench

import (
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

//go:embed plans/*.yaml
var planFiles embed.FS

//go:embed scenarios.yaml
var scenarioFile []byte

// Scenarios returns the built-in scenarios, each complete.
func Scenarios() []results.Scenario {
	var all []results.Scenario
	if err := yaml.UnmarshalWithOptions(scenarioFile, &all, yaml.Strict()); err != nil {
		panic(fmt.Sprintf("bench: the built-in scenarios: %v", err)) // a test reads them
	}
	return all
}

// PlanNames returns the names of the built-in plans.
func PlanNames() []string {
	files, err := planFiles.ReadDir("plans")
	if err != nil {
		panic(err) // the folder is embedded
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file.Name(), ".yaml"))
	}
	return names
}

// PlanText returns the YAML of a built-in plan, to be printed, edited and given back.
func PlanText(name string) ([]byte, error) {
	if !slices.Contains(PlanNames(), name) {
		return nil, fmt.Errorf("no built-in plan is named %q; there are %s", name, strings.Join(PlanNames(), ", "))
	}
	return planFiles.ReadFile(path.Join("plans", name+".yaml"))
}

// WholePlan returns the YAML of a built-in plan with every field of its scenarios spelled out.
func WholePlan(name string) ([]byte, error) {
	text, err := PlanText(name)
	if err != nil {
		return nil, err
	}
	plan, err := DecodePlan(text)
	if err != nil {
		return nil, err
	}
	scenarios, err := yaml.Marshal(map[string]any{"scenarios": plan.Scenarios})
	if err != nil {
		return nil, fmt.Errorf("the plan %s: %w", name, err)
	}
	head, _, _ := strings.Cut(string(text), "scenarios:")
	return append([]byte(head), scenarios...), nil
}

// LoadPlan returns the built-in plan of that name or, if it looks like a path, the plan in that file.
func LoadPlan(nameOrFile string) (results.Plan, error) {
	if !strings.ContainsAny(nameOrFile, "./\\") {
		text, err := PlanText(nameOrFile)
		if err != nil {
			return results.Plan{}, fmt.Errorf("%w; a file's name has a '.' or a '/'", err)
		}
		return DecodePlan(text)
	}
	text, err := os.ReadFile(nameOrFile)
	if err != nil {
		return results.Plan{}, fmt.Errorf("read the plan: %w", err)
	}
	plan, err := DecodePlan(text)
	if err != nil {
		return plan, fmt.Errorf("%s: %w", nameOrFile, err)
	}
	return plan, nil
}

// DecodePlan reads a plan strictly: an unknown key or a value of the wrong type is an error that shows line and column.
// A scenario with the name of a built-in one takes from that whatever the plan leaves out.
func DecodePlan(text []byte) (results.Plan, error) {
	if err := harmless(text); err != nil {
		return results.Plan{}, err
	}
	var file planFile
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		return results.Plan{}, errors.New(strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	plan := file.Plan
	for _, s := range file.Scenarios {
		plan.Scenarios = append(plan.Scenarios, results.Scenario(s))
	}
	return plan, ValidatePlan(plan)
}

// planFile is a plan as its file has it.
type planFile struct {
	results.Plan `yaml:",inline"`
	Scenarios    []scenario `yaml:"scenarios"`
}

// scenario is a scenario that is decoded on top of the built-in one of its name. So a zero that the file spells out
// stays a zero, and is refused where it makes no sense.
type scenario results.Scenario

var _ yaml.InterfaceUnmarshaler = (*scenario)(nil)

// UnmarshalYAML implements [yaml.InterfaceUnmarshaler].
func (s *scenario) UnmarshalYAML(unmarshal func(any) error) error {
	var fields map[string]any
	if err := unmarshal(&fields); err != nil {
		return err
	}
	for _, builtIn := range Scenarios() {
		if builtIn.Name == fields["name"] {
			*s = scenario(builtIn)
		}
	}
	return unmarshal((*results.Scenario)(s))
}

var validName = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

// ValidatePlan returns every reason why a plan cannot be run, joined.
func ValidatePlan(p results.Plan) error {
	var errs []error
	complain := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !validName.MatchString(p.Name) {
		complain("name: %q is not lower-case words joined by '-'", p.Name)
	}
	if p.Blocks < 1 || p.Blocks > 1000 {
		complain("blocks: must be 1 to 1000, not %d", p.Blocks)
	}
	if p.Retries < 0 || p.Retries > 10 {
		complain("retries: must be 0 to 10, not %d", p.Retries)
	}
	if len(p.Strategies) == 0 {
		complain("strategies: name at least one")
	}
	if len(p.Scenarios) == 0 {
		complain("scenarios: name at least one")
	}
	for _, twice := range repeated(p.Strategies) {
		complain("strategies: %s is there twice", twice)
	}
	names := make([]string, len(p.Scenarios))
	for i, s := range p.Scenarios {
		names[i] = s.Name
		if err := validateScenario(s); err != nil {
			complain("scenario %d (%s): %w", i+1, s.Name, err)
		}
	}
	for _, twice := range repeated(names) {
		complain("scenarios: %s is there twice", twice)
	}
	return errors.Join(errs...)
}

func repeated(names []string) (twice []string) {
	sorted := slices.Sorted(slices.Values(names))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			twice = append(twice, sorted[i])
		}
	}
	return slices.Compact(twice)
}

func validateScenario(s results.Scenario) error {
	switch {
	case !validName.MatchString(s.Name):
		return fmt.Errorf("name: %q is not lower-case words joined by '-'", s.Name)
	case s.Shape != results.Drain && s.Shape != results.Sustain:
		return fmt.Errorf("shape: must be drain or sustain, not %q", s.Shape)
	case !slices.Contains([]results.Arrivals{results.Poisson, results.Constant, results.Bursts}, s.Arrivals):
		return fmt.Errorf("arrivals: must be poisson, constant or bursts, not %q", s.Arrivals)
	case !(s.Rate > 0) || math.IsInf(s.Rate, 0):
		return fmt.Errorf("rate: must be above 0 orders per second, not %v", s.Rate)
	case s.Duration <= 0 || s.Duration.D() > maxDuration:
		return fmt.Errorf("duration: must be above 0 and at most %v, not %v", maxDuration, s.Duration)
	case s.Rate*s.Duration.D().Seconds() < 1:
		return fmt.Errorf("rate and duration: %v/s for %v is not one order", s.Rate, s.Duration)
	case s.Rate*s.Duration.D().Seconds() > maxOrders:
		return fmt.Errorf("rate and duration: %.0f orders are more than the %d that a trial may have",
			s.Rate*s.Duration.D().Seconds(), maxOrders)
	case s.Shape == results.Drain && s.Stock < 1, s.Stock < 0, s.Stock > api.MaxStock:
		return fmt.Errorf("stock: must be 1 to %d, not %d", api.MaxStock, s.Stock)
	case s.Quantity < 1 || s.Quantity > api.MaxQuantity:
		return fmt.Errorf("quantity: must be 1 to %d, not %d", api.MaxQuantity, s.Quantity)
	case s.WarmUp < 0 || s.WarmUp.D() > maxDuration:
		return fmt.Errorf("warm_up: must be 0 to %v, not %v", maxDuration, s.WarmUp)
	case s.Timeout <= 0 || s.Timeout.D() > maxDuration:
		return fmt.Errorf("timeout: must be above 0 and at most %v, not %v", maxDuration, s.Timeout)
	case s.Lease.TTL.D() < time.Millisecond || s.Lease.Wait < 0 || s.Lease.Retry.D() < time.Millisecond:
		return fmt.Errorf("lease: ttl and retry must be at least 1ms and wait not negative, not %v, %v and %v",
			s.Lease.TTL, s.Lease.Retry, s.Lease.Wait)
	case s.Stall != nil && s.Stall.Validate() != nil:
		return fmt.Errorf("stall: %w", s.Stall.Validate())
	case s.Stall != nil && s.Stall.For.D() > maxStall:
		return fmt.Errorf("stall: for: must be at most %v, not %v", maxStall, s.Stall.For)
	case !(s.Gates.SentShare >= 0 && s.Gates.SentShare <= 1 && s.Gates.CPU >= 0) || s.Gates.LagP99 < 0 || s.Gates.Strikes < 0:
		return errors.New("gates: sent_share must be 0 to 1, the others not negative")
	}
	return nil
}

// maxOrders bounds a trial: each order costs the generator some 200 bytes of memory until the trial is written.
const maxOrders = 20_000_000

// A trial takes a day at most. A stall must be over when the target is waited for to come to rest.
const (
	maxDuration = 24 * time.Hour
	maxStall    = 10 * time.Second
)

// Arrange returns the plan with its seed drawn, if it has none, and its trials in order: randomised complete blocks.
// Each block runs every strategy once through every scenario, shuffled; within a block all strategies meet a scenario
// with the same arrivals and the same stalls.
func Arrange(p results.Plan) results.Plan {
	if p.Seed == 0 {
		p.Seed = rand.Uint64()>>11 + 1 // 53 bits, which every JSON reader keeps
	}
	p.Order = nil
	random := rand.New(rand.NewPCG(p.Seed, 0))
	for block := range p.Blocks {
		var cells []results.Cell
		for _, scenario := range p.Scenarios {
			seed := seedOf(p.Seed, block+1, scenario.Name)
			for _, strategy := range p.Strategies {
				cells = append(cells, results.Cell{Block: block + 1, Scenario: scenario.Name, Strategy: strategy, Seed: seed})
			}
		}
		random.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
		p.Order = append(p.Order, cells...)
	}
	return p
}

// seedOf returns the seed of a scenario in a block. It does not hang on what else is in the plan, so that a scenario that is
// run alone meets the same arrivals and stalls as among others.
func seedOf(plan uint64, block int, scenario string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(scenario))
	return rand.NewPCG(plan, h.Sum64()+uint64(block)).Uint64()>>11 + 1
}

// Overhead is about what a trial takes beside its warm-up and its attack: replicas start, the ledger is read and audited.
const Overhead = 1000 * time.Millisecond

func timeOf(s results.Scenario) time.Duration { return s.WarmUp.D() + s.Duration.D() + Overhead }

// TimeOf returns about how long a plan takes, retries and the stack's start aside.
func TimeOf(p results.Plan) (total time.Duration) {
	for _, s := range p.Scenarios {
		total += timeOf(s)
	}
	return total * time.Duration(len(p.Strategies)*p.Blocks)
}
