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
		if c.Valid != c.Blocks {
			all = append(all, fmt.Sprintf("%s in %s has %s, and %d were planned.", c.Strategy.Name, c.Scenario,
				plural(c.Valid, "valid trial", "valid trials"), c.Blocks))
		}
	}
	repeats := 0
	for _, t := range trials {
		if t.Attempt > 1 {
			repeats++
		}
	}
	if repeats > 0 {
		all = append(all, plural(repeats, "trial repeats", "trials repeat")+" an invalid one.")
	}
	all = append(all, lossesOf(trials)...)
	if run.Build.Modified {
		all = append(all, "hotsku was built from modified sources: its revision alone does not reproduce this run.")
	}
	return append(all, unchecked(trials)...)
}

// lossesOf lists what the valid trials lost at the generator, within what the gates let pass.
func lossesOf(trials []results.Trial) []string {
	var clamped, sockets, never int
	for _, t := range trials {
		if t.Valid() {
			clamped += t.Attack.Clamped
			sockets += t.Attack.SocketErrors
			never += max(0, t.Attack.Planned-t.Attack.Sent)
		}
	}
	var all []string
	if never > 0 {
		all = append(all, plural(never, "planned order was", "planned orders were")+
			" never sent in valid trials; the figures of what customers were told show when.")
	}
	if clamped > 0 {
		all = append(all, plural(clamped, "time", "times")+
			" lay beyond the range of the histograms and count as its edge.")
	}
	if sockets > 0 {
		all = append(all, plural(sockets, "order", "orders")+
			" failed on the generator's own side, out of ports or files.")
	}
	return all
}

// An omission is an invariant that was not checked, for one reason.
type omission struct {
	invariant results.Invariant
	note      string
	trials    int
	names     []string // of the strategies
}

// unchecked lists the invariants that were not checked, with the reason and the strategies.
func unchecked(trials []results.Trial) []string {
	var omissions []*omission
	for _, t := range trials {
		if !t.Valid() {
			continue
		}
		for _, c := range t.Audit.Checks {
			if c.State == results.Intact || c.State == results.Violated {
				continue
			}
			i := slices.IndexFunc(omissions, func(o *omission) bool { return o.invariant == c.Invariant && o.note == c.Note })
			if i < 0 {
				i = len(omissions)
				omissions = append(omissions, &omission{invariant: c.Invariant, note: c.Note})
			}
			omissions[i].add(t.Cell.Strategy)
		}
	}
	var all []string
	for _, o := range omissions {
		all = append(all, o.String())
	}
	return all
}

func (o *omission) add(strategy string) {
	o.trials++
	if !slices.Contains(o.names, strategy) {
		o.names = append(o.names, strategy)
	}
}

func (o *omission) String() string {
	text := fmt.Sprintf("Not checked in %s of %s: %s", plural(o.trials, "valid trial", "valid trials"), list(o.names),
		o.invariant)
	if o.note != "" {
		text += " (" + o.note + ")"
	}
	return text + "."
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
		all = append(all, fmt.Sprintf("That no trial broke is no proof: zero in %s still allows, at 95 %% confidence, "+
			"that up to %s of such trials would break.", plural(least, "valid trial", "valid trials"),
			percent(results.UpperBound(0, least))))
	}
	return append(all,
		"One hot SKU, one machine room: slow networks, many SKUs in one order and failing databases were measured only "+
			"where a scenario says so.",
		"Statistics are between trials. Orders within one trial queue behind each other and are not independent, so no "+
			"confidence interval is drawn from them.",
		"A strategy is compared with others at the same offered load, not each at the load that it could bear.")
}
