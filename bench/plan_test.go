package bench

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotsku/hotsku/results"
)

func TestBuiltInPlansAreValidAndArrangeTheSameFromOneSeed(t *testing.T) {
	for _, name := range PlanNames() {
		plan, err := LoadPlan(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if plan.Name != name {
			t.Errorf("the plan %s calls itself %s", name, plan.Name)
		}
		plan.Seed = 7
		a, b := Arrange(plan), Arrange(plan)
		if !slices.Equal(a.Order, b.Order) {
			t.Errorf("%s: one seed, two orders", name)
		}
		plan.Seed = 8
		if slices.Equal(a.Order, Arrange(plan).Order) {
			t.Errorf("%s: two seeds, one order", name)
		}
	}
}

func TestAPlanThatIsPrintedIsThePlan(t *testing.T) {
	for _, name := range PlanNames() {
		text, err := WholePlan(name)
		if err != nil {
			t.Fatal(err)
		}
		printed, err := DecodePlan(text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		if plan, err := LoadPlan(name); err != nil || !reflect.DeepEqual(plan, printed) {
			t.Errorf("%s: printed\n%+v\nbut it is\n%+v, %v", name, printed, plan, err)
		}
		for _, field := range []string{"rate: ", "duration: ", "ttl: ", "lag_p99: "} {
			if !strings.Contains(string(text), field) {
				t.Errorf("%s does not spell out %s", name, field)
			}
		}
	}
}

func TestBlocksAreCompleteAndShareTheirSeeds(t *testing.T) {
	plan, err := LoadPlan("default")
	if err != nil {
		t.Fatal(err)
	}
	plan = Arrange(plan)
	if plan.Seed == 0 {
		t.Error("no seed was drawn")
	}
	type place struct {
		block    int
		scenario string
	}
	seeds, met := map[place]uint64{}, map[results.Cell]bool{}
	size := len(plan.Strategies) * len(plan.Scenarios)
	for i, cell := range plan.Order {
		if want := i/size + 1; cell.Block != want {
			t.Errorf("trial %d is in block %d, want %d", i, cell.Block, want)
		}
		at := place{cell.Block, cell.Scenario}
		if seed, ok := seeds[at]; ok && seed != cell.Seed {
			t.Errorf("%+v: two strategies meet different arrivals", at)
		}
		seeds[at] = cell.Seed
		met[cell] = true
	}
	if len(met) != size*plan.Blocks {
		t.Errorf("%d cells, want %d", len(met), size*plan.Blocks)
	}
	if seeds[place{1, "calm"}] == seeds[place{2, "calm"}] {
		t.Error("two blocks have the same arrivals")
	}
	if seeds[place{1, "calm"}] == seeds[place{1, "sustain"}] {
		t.Error("two scenarios have the same arrivals")
	}
}

func TestAScenarioThatIsRunAloneMeetsTheSameArrivals(t *testing.T) {
	plan, err := LoadPlan("default")
	if err != nil {
		t.Fatal(err)
	}
	plan.Seed = 7
	seeds := func(p results.Plan) map[int]uint64 {
		found := map[int]uint64{}
		for _, cell := range Arrange(p).Order {
			if cell.Scenario == "sustain" {
				found[cell.Block] = cell.Seed
			}
		}
		return found
	}
	all := seeds(plan)
	plan.Scenarios = plan.Scenarios[2:]
	plan.Strategies = plan.Strategies[:1]
	if alone := seeds(plan); len(all) != 3 || !maps.Equal(alone, all) {
		t.Errorf("alone it has the seeds %v, among others %v", alone, all)
	}
}

const minimal = "name: mine\nblocks: 1\nstrategies: [none]\nscenarios:\n"

func TestAScenarioTakesFromTheBuiltInOneWhatItLeavesOut(t *testing.T) {
	plan, err := DecodePlan([]byte(minimal + "  - {name: stalled-holder, rate: 123, lease: {ttl: 1s}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	builtIn := Scenarios()[slices.IndexFunc(Scenarios(), func(s results.Scenario) bool { return s.Name == "stalled-holder" })]
	want := builtIn
	want.Rate, want.Lease.TTL = 123, results.Duration(time.Second)
	got := plan.Scenarios[0]
	if *got.Stall != *want.Stall {
		t.Errorf("stall %+v, want %+v", *got.Stall, *want.Stall)
	}
	got.Stall, want.Stall = nil, nil
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestPlansWithMistakesAreRefused(t *testing.T) {
	whole := "  - {name: own, shape: drain, arrivals: poisson, rate: 10, duration: 1s, stock: 5, quantity: 1, warm_up: 0s, timeout: 1s, lease: {ttl: 1s, wait: 1s, retry: 5ms}}\n"
	if _, err := DecodePlan([]byte(minimal + whole)); err != nil {
		t.Fatalf("a plan without a mistake: %v", err)
	}
	change := func(from, to string) string {
		changed := strings.Replace(minimal+whole, from, to, 1)
		if changed == minimal+whole {
			t.Fatalf("%q is not in the plan", from)
		}
		return changed
	}
	for name, row := range map[string]struct{ text, want string }{
		"an unknown key":                     {change("blocks", "blokcs"), `[2:1] unknown field "blokcs"`},
		"an unknown key in a scenario":       {change("rate: 10", "rat: 10"), `[5:50] unknown field "rat"`},
		"an unknown key in a lease":          {change("ttl", "tll"), `unknown field "tll"`},
		"a word for a number":                {change("blocks: 1", "blocks: one"), "[2:9]"},
		"a duration without a unit":          {change("timeout: 1s", "timeout: 1"), "duration"},
		"a rate of 0":                        {change("rate: 10", "rate: 0"), "rate: must be above 0"},
		"a rate of 0 beside a built-in name": {minimal + "  - {name: calm, rate: 0}\n", "rate: must be above 0"},
		"a negative rate":                    {change("rate: 10", "rate: -1"), "rate: must be above 0"},
		"an endless rate":                    {change("rate: 10", "rate: .inf"), "rate: must be above 0"},
		"a rate that is no number":           {change("rate: 10", "rate: .nan"), "rate: must be above 0"},
		"too many orders":                    {change("rate: 10", "rate: 1e9"), "more than the 20000000"},
		"a stock of 0 that must sell out":    {change("stock: 5", "stock: 0"), "stock: must be 1"},
		"a stock below 0":                    {change("stock: 5", "stock: -5"), "stock: must be 1"},
		"a quantity of 0":                    {change("quantity: 1", "quantity: 0"), "quantity: must be 1"},
		"a shape that is not there":          {change("drain", "flood"), "shape: must be drain or sustain"},
		"arrivals that are not there":        {change("poisson", "random"), "arrivals: must be poisson, constant or bursts"},
		"a lease that cannot be kept":        {change("ttl: 1s", "ttl: 1us"), "lease"},
		"no blocks":                          {change("blocks: 1", "blocks: 0"), "blocks: must be 1"},
		"a strategy twice":                   {change("[none]", "[none, none]"), "none is there twice"},
		"a scenario twice":                   {minimal + whole + whole, "own is there twice"},
		"a name in upper case":               {change("name: mine", "name: Mine"), "lower-case"},
		"a stall without a step":             {change("timeout", "stall: {for: 1s, probability: 0.1}, timeout"), "stall: before: must be the name of a step"},
		"a stall without an end of its name": {change("timeout", "stall: {before: 'x, ', for: 1s, probability: 1}, timeout"), "stall: before: must be"},
		"a stall of steps in one word":       {change("timeout", "stall: {before: 'x,y', for: 1s, probability: 1}, timeout"), "stall: before: must be the name of a step"},
		"a stall of a kind that is not there": {change("timeout", "stall: {kind: all, before: x, for: 1s, probability: 1}, timeout"),
			"stall: kind: must be order, replica or redis-memory"},
		"a stall whose least is its most": {change("timeout", "stall: {before: x, least: 2s, for: 1s, probability: 1}, timeout"),
			"stall: least: must be 0 to 1s"},
		"a stall that strikes more than all": {change("timeout", "stall: {before: x, for: 1s, probability: 1.5}, timeout"), "stall"},
		"a gate that no trial can pass":      {change("timeout", "gates: {sent_share: 2}, timeout"), "gates"},
		"a fraction of a block":              {change("blocks: 1", "blocks: 1.5"), "[2:9] blocks must be a whole number, not 1.5"},
		"a fraction of a unit":               {change("stock: 5", "stock: 5.5"), "stock must be a whole number"},
		"an alias":                           {change("blocks: 1", "blocks: &b 1\nretries: *b"), "[2:9] anchors"},
		"a second document":                  {minimal + whole + "---\nname: other\n---\n", "one YAML document"},
		"deep nesting":                       {strings.Repeat("[", 20_000), "nested more than 20 deep"},
		"a file that is too large":           {strings.Repeat("# \n", 400_000), "at most 1048576 bytes"},
		"less than one order":                {change("rate: 10", "rate: 0.01"), "is not one order"},
		"a trial that takes for ever":        {change("duration: 1s", "duration: 100h"), "at most 24h"},
		"a stall that takes for ever":        {change("timeout", "stall: {before: x, for: 1h, probability: 1}, timeout"), "stall"},
		"no YAML at all":                     {"\x00", ""},
		"nothing":                            {"", "strategies: name at least one"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodePlan([]byte(row.text))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v\nwant it to say %q", err, row.want)
			}
		})
	}
}

func FuzzDecodePlan(f *testing.F) {
	for _, name := range PlanNames() {
		text, err := PlanText(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(minimal + "  - {name: calm, rate: 0}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		plan, err := DecodePlan(text)
		if err == nil && ValidatePlan(plan) != nil {
			t.Errorf("a plan was decoded that is not valid: %v", ValidatePlan(plan))
		}
	})
}

func TestTheTimeThatAPlanTakesIsToldBeforehand(t *testing.T) {
	for name, limit := range map[string]time.Duration{"default": 5 * time.Minute, "quick": time.Minute} {
		plan, err := LoadPlan(name)
		if err != nil {
			t.Fatal(err)
		}
		if took := TimeOf(plan); took > limit {
			t.Errorf("%s takes %v, more than the %v that the README promises", name, took, limit)
		}
		plan = Arrange(plan)
		if left := TimeLeft(plan, 0); left != TimeOf(plan) {
			t.Errorf("%s: %v left at the start, of %v", name, left, TimeOf(plan))
		}
		if left := TimeLeft(plan, len(plan.Order)); left != 0 {
			t.Errorf("%s: %v left at the end", name, left)
		}
	}
}
