package plots

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hotsku/hotsku/results"
)

// A fact is a name and a value.
type fact struct{ Name, Value string }

type factGroup struct {
	Title string
	Facts []fact
}

// A serverFacts is a database or Redis with the settings that bear on the result.
type serverFacts struct {
	Name     string
	Short    string // brand and version
	Settings []fact
}

// A scenarioFacts is what every strategy went through alike.
type scenarioFacts struct {
	Name, Doc string
	Facts     []fact
}

// factsOf discloses where and how a run was made.
func factsOf(run results.Run) []factGroup {
	m, p := run.Machine, run.Plan
	where := "generator, replicas and servers on machines of their own, or unknown"
	if run.CoLocated {
		where = "generator, replicas and servers shared one machine"
	}
	return []factGroup{
		{"Run", []fact{
			{"id", run.ID}, {"started", date(run.Started)}, {"ended", date(run.Ended)}, {"state", string(run.State)},
			{"exit code", fmt.Sprint(run.Exit)}, {"command", strings.Join(run.Command, " ")}, {"hotsku", buildText(run.Build)},
		}},
		{"Machine", []fact{
			{"processor", m.CPU}, {"cores", fmt.Sprint(m.Cores)}, {"GOMAXPROCS", fmt.Sprint(m.GOMAXPROCS)},
			{"memory", memory(m.Memory)}, {"system", fmt.Sprintf("%s/%s, kernel %s", m.OS, m.Arch, m.Kernel)}, {"Go", m.Go},
			{"open files allowed", count(m.FileLimit)}, {"replicas", replicas(run)}, {"placement", where},
		}},
		{"Plan", []fact{
			{"name", p.Name}, {"purpose", cmp.Or(p.Doc, "–")}, {"seed", fmt.Sprint(p.Seed)},
			{"blocks", fmt.Sprint(p.Blocks)}, {"trials planned", fmt.Sprint(len(p.Order))},
			{"tries of a trial at most", fmt.Sprint(p.Retries + 1)},
			{"seeds of the blocks", blockSeeds(p)},
		}},
	}
}

func date(t time.Time) string {
	if t.IsZero() {
		return "not recorded"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func buildText(b results.Build) string {
	text := cmp.Or(b.Version, "unknown")
	if b.Revision != "" {
		text += ", revision " + b.Revision
	}
	if b.Modified {
		text += ", from modified sources"
	}
	return text
}

// gistOf says in a line what was run, and on what.
func gistOf(run results.Run, trials []results.Trial) string {
	parts := []string{
		plural(len(trials), "trial", "trials") + " of " +
			plural(len(run.Plan.Strategies), "strategy", "strategies") + " in " +
			plural(len(run.Plan.Scenarios), "scenario", "scenarios"),
		plural(run.Replicas, "replica", "replicas"),
	}
	for _, s := range serversOf(run) {
		parts = append(parts, s.Short)
	}
	machine := plural(run.Machine.Cores, "core", "cores")
	if run.CoLocated {
		machine = "all on one machine of " + machine
	}
	return strings.Join(append(parts, machine), " · ")
}

func memory(bytes int64) string {
	if bytes <= 0 {
		return "unknown"
	}
	return decimal(float64(bytes)/(1<<30), 3) + " GiB"
}

// blockSeeds lists the seed of arrivals and stalls of each block and scenario: all its strategies shared it.
func blockSeeds(p results.Plan) string {
	var seeds []string
	for _, c := range p.Order {
		s := fmt.Sprintf("%s block %d: %d", c.Scenario, c.Block, c.Seed)
		if !slices.Contains(seeds, s) {
			seeds = append(seeds, s)
		}
	}
	slices.Sort(seeds)
	return cmp.Or(strings.Join(seeds, "; "), "–")
}

// serversOf describes the servers, and those that are alike but once.
func serversOf(run results.Run) []serverFacts {
	var all []serverFacts
	for i := 0; i < len(run.Servers); {
		s, alike := run.Servers[i], 0
		for i < len(run.Servers) && reflect.DeepEqual(run.Servers[i], s) {
			alike++
			i++
		}
		origin := "given by the user"
		if s.Private {
			origin = "started for this run"
		}
		f := serverFacts{Name: fmt.Sprintf("%s: %s %s, %s", s.Store, s.Brand, s.Version, origin),
			Short: strings.TrimSpace(s.Brand + " " + s.Version)}
		if alike > 1 {
			f.Name, f.Short = fmt.Sprintf("%d × %s", alike, f.Name), fmt.Sprintf("%d × %s", alike, f.Short)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
			f.Settings = append(f.Settings, fact{name, cmp.Or(s.Settings[name], "(empty)")})
		}
		all = append(all, f)
	}
	return all
}

func scenarioFactsOf(scenes []scene) []scenarioFacts {
	var all []scenarioFacts
	for _, s := range scenes {
		stock := plural(s.Stock, "unit", "units")
		if s.Shape == results.Sustain && s.Stock == 0 {
			stock = "twice what can be asked for"
		}
		facts := []fact{
			{"shape", string(s.Shape)}, {"arrivals", fmt.Sprintf("%s, %s orders per second", s.Arrivals, decimal(s.Rate, 6))},
			{"schedule", formatDuration(s.Duration.D())}, {"stock", stock}, {"units of an order", unitsOfOrder(s.Quantity)},
			{"warm-up, not recorded", formatDuration(s.WarmUp.D())}, {"client's patience", formatDuration(s.Timeout.D())},
			{"lease", fmt.Sprintf("%s, waited for at most %s, tried every %s or so", formatDuration(s.Lease.TTL.D()),
				formatDuration(s.Lease.Wait.D()), formatDuration(s.Lease.Retry.D()))},
			{"stall", stallText(s.Stall)}, {"gates", gatesText(s.Gates)},
		}
		all = append(all, scenarioFacts{Name: s.Name, Doc: s.Doc, Facts: facts})
	}
	return all
}

func unitsOfOrder(most int) string {
	if most <= 1 {
		return "1"
	}
	return fmt.Sprintf("1 to %d", most)
}

func stallText(s *results.Stall) string {
	if s == nil {
		return "none"
	}
	length := formatDuration(s.For.D())
	if s.Least > 0 {
		length = formatDuration(s.Least.D()) + " to " + length
	}
	before := `before "` + strings.Join(s.Steps(), `" or "`) + `"`
	switch s.Kind {
	case results.StallReplica:
		return fmt.Sprintf("the whole replica, for %s %s, at %s of the orders", length, before, percent(s.Probability))
	case results.StallMemory:
		return fmt.Sprintf("Redis loses its memory and the order stalls %s %s, at %s of the orders", length, before, percent(s.Probability))
	}
	return fmt.Sprintf("%s %s, for %s of the orders", length, before, percent(s.Probability))
}

func gatesText(g results.Gates) string {
	var parts []string
	if g.SentShare > 0 {
		parts = append(parts, "sent at least "+percent(g.SentShare))
	}
	if g.LagP99 > 0 {
		parts = append(parts, "p99 of lag at most "+formatDuration(g.LagP99.D()))
	}
	if g.CPU > 0 {
		parts = append(parts, "generator's processor share at most "+percent(g.CPU))
	}
	if g.Strikes > 0 {
		parts = append(parts, "at least "+plural(g.Strikes, "stall", "stalls"))
	}
	return cmp.Or(strings.Join(parts, "; "), "the defaults")
}

func strategyRows(scenes []scene) [][]string {
	if len(scenes) == 0 {
		return nil
	}
	var rows [][]string
	for i, c := range scenes[0].cells {
		ran := slices.ContainsFunc(scenes, func(s scene) bool {
			return len(s.cells[i].trials)+len(s.cells[i].discarded) > 0
		})
		claim := roleOf(c.strategy, ran)
		if len(c.strategy.Breaks) > 0 {
			claim += ", known to break in " + list(c.strategy.Breaks)
		}
		rows = append(rows, []string{c.strategy.Name, claim, cmp.Or(c.strategy.Doc, "–")})
	}
	return rows
}

// trialRows is the ledger of all trials, in the order in which they ran.
func trialRows(trials []results.Trial) [][]string {
	var rows [][]string
	for _, t := range trials {
		rows = append(rows, []string{
			fmt.Sprint(t.Number), t.Cell.Scenario, t.Cell.Strategy, fmt.Sprint(t.Cell.Block), fmt.Sprint(t.Attempt),
			fmt.Sprintf("%s of %s", count(t.Attack.Sent), count(t.Attack.Planned)), count(t.Audit.Oversold),
			string(t.Verdict.State),
		})
	}
	return rows
}

func discardedRows(trials []results.Trial) [][]string {
	var rows [][]string
	for _, t := range trials {
		rows = append(rows, []string{t.ID, fmt.Sprint(t.Attempt),
			cmp.Or(strings.Join(t.Verdict.Reasons, "; "), "no reason is recorded")})
	}
	return rows
}

// replicas says how many there were and, where hotsku started them, how many threads each could use at once.
func replicas(run results.Run) string {
	if run.ReplicaProcs == 0 {
		return fmt.Sprint(run.Replicas)
	}
	return fmt.Sprintf("%d, GOMAXPROCS %d each", run.Replicas, run.ReplicaProcs)
}
