package plots

import (
	"fmt"
	"slices"

	"github.com/hotsku/hotsku/results"
)

// deviationsOf lists what did not go by the plan, or was not looked at.
func deviationsOf(run results.Run, trials []results.Trial, s results.Summary) []string {
	var all []string
	for _, c := range s.Cells {
		if c.Short() {
			all = append(all, fmt.Sprintf("%s in %s has %d valid of %d planned trials.", c.Strategy.Name, c.Scenario,
				c.Valid, c.Blocks))
		}
		if c.Valid > c.Blocks {
			all = append(all, fmt.Sprintf("%s in %s has %d valid trials, more than the %d planned.", c.Strategy.Name,
				c.Scenario, c.Valid, c.Blocks))
		}
	}
	var repeats, clamped, sockets, unsentOrders int
	for _, t := range trials {
		if t.Attempt > 1 {
			repeats++
		}
		if t.Valid() {
			clamped += t.Attack.Clamped
			sockets += t.Attack.SocketErrors
			unsentOrders += max(0, t.Attack.Planned-t.Attack.Sent)
		}
	}
	if repeats > 0 {
		all = append(all, plural(repeats, "trial repeats", "trials repeat")+" an invalid one.")
	}
	if unsentOrders > 0 {
		all = append(all, plural(unsentOrders, "planned order was", "planned orders were")+
			" never sent in valid trials; the figures of outcomes show when.")
	}
	if clamped > 0 {
		all = append(all, plural(clamped, "time", "times")+" lay beyond the range of the histograms and count as its edge.")
	}
	if sockets > 0 {
		all = append(all, plural(sockets, "order", "orders")+" failed on the generator's own side, out of ports or files.")
	}
	if run.Build.Modified {
		all = append(all, "hotsku was built from modified sources: its revision alone does not reproduce this run.")
	}
	return append(all, unchecked(trials)...)
}

// unchecked lists the invariants that were not checked, with the reason and the strategies.
func unchecked(trials []results.Trial) []string {
	type group struct {
		invariant results.Invariant
		note      string
		n         int
		names     []string
	}
	var groups []*group
	for _, t := range trials {
		if !t.Valid() {
			continue
		}
		for _, c := range t.Audit.Checks {
			if c.State == results.Intact || c.State == results.Violated {
				continue
			}
			i := slices.IndexFunc(groups, func(g *group) bool { return g.invariant == c.Invariant && g.note == c.Note })
			if i < 0 {
				i = len(groups)
				groups = append(groups, &group{invariant: c.Invariant, note: c.Note})
			}
			groups[i].n++
			if !slices.Contains(groups[i].names, t.Cell.Strategy) {
				groups[i].names = append(groups[i].names, t.Cell.Strategy)
			}
		}
	}
	var all []string
	for _, g := range groups {
		text := fmt.Sprintf("Not checked in %s of %s: %s", plural(g.n, "valid trial", "valid trials"), list(g.names), g.invariant)
		if g.note != "" {
			text += " (" + g.note + ")"
		}
		all = append(all, text+".")
	}
	return all
}

// limitsOf says what the run does not show.
func limitsOf(run results.Run, s results.Summary) []string {
	var all []string
	if run.CoLocated {
		all = append(all, "Generator, replicas and servers shared one machine and took its processors from each other. "+
			"Compare strategies within this run; read no absolute figure as a capacity.")
	}
	least := 0
	for _, c := range s.Cells {
		if c.Valid > 0 && c.Broken == 0 && (least == 0 || c.Valid < least) {
			least = c.Valid
		}
	}
	if least > 0 {
		all = append(all, fmt.Sprintf("That no trial broke is no proof: zero in %s still allows, at 95 %% confidence, that up to %s "+
			"of such trials would break.", plural(least, "valid trial", "valid trials"), percent(results.UpperBound(0, least))))
	}
	return append(all,
		"One hot SKU, one machine room: slow networks, many SKUs in one order and failing databases were measured only where a "+
			"scenario says so.",
		"Statistics are between trials. Orders within one trial queue behind each other and are not independent, so no "+
			"confidence interval is drawn from them.",
		"A strategy is compared with others at the same offered load, not each at the load that it could bear.")
}
