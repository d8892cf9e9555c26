package plots

import "github.com/hotsku/hotsku/results"

// A term is a word of the report with its meaning.
type term struct{ Name, Meaning string }

// terms defines every word that the report uses in a sense of its own.
func terms() []term {
	return []term{
		{"order", "A request for some units of the one hot SKU. Its idempotency key tells a retry from a second " +
			"purchase."},
		{"strategy", "A way to sell a limited stock to orders that arrive at the same time, at any of the replicas."},
		{"safe", "The strategy claims never to break an invariant, whatever fault strikes."},
		{"control", "A strategy that is known to break in some scenario. It must be caught there, or the " +
			"measurement proves nothing."},
		{"scenario", "Load, stock and faults: what every strategy goes through alike. In a drain the stock sells " +
			"out midway; in a sustain it never does."},
		{"trial", "One strategy through one scenario, once."},
		{"block", "A round in which every strategy goes through every scenario once, in shuffled order and with " +
			"the same arrivals."},
		{"valid", "The generator kept its schedule and every fault that was ordered did strike. A trial that fails " +
			"such a gate is discarded: its times are no result. What the ledger says of it stays true."},
		{"held, broken", "The fate of a safe claim: every valid trial held every invariant; or an invariant broke " +
			"in at least one trial."},
		{"caught, not caught, unharmed", "The fate of a control: an invariant broke; none did where the strategy " +
			"is known to break; none did where it is not known to."},
		{"no result", "Nothing broke, but fewer trials are valid than were planned."},
		{"oversold", "Units committed beyond the stock, counted in the ledger. Of several trials the worst is " +
			"shown."},
		{"broke, k of n", "Valid trials in which an invariant broke, of all valid trials."},
		{"95 % bound", "The share of such trials that could break and still, with a chance of one in twenty, show " +
			"so few: the upper end of a one-sided 95 % interval after Clopper and Pearson."},
		{"response", "From the moment the schedule wanted an order sent until its answer. A late generator cannot " +
			"hide in it. All latencies are responses unless they say otherwise."},
		{"service", "From the moment an order was really sent until its answer."},
		{"p50, p99", "The time that 50 % or 99 % of sales do not exceed. It is given only where at least 10 sales " +
			"are slower: a p99 takes 1,000 sales in a trial. Of several trials the median is shown, and the lowest " +
			"and highest."},
		{"sales, while stock was left", "Percentiles are of sold orders in the phase in which there was something " +
			"to sell, lest quick refusals flatter them."},
		{"goodput", "Sales acknowledged per second in that phase."},
		{"stall", "A pause between two steps of an order, as a garbage collection or a slow dependency would cause. Some stop " +
			"the whole replica, in which nothing renews a lease then; before others Redis loses all that it holds of the run."},
		{"fence, refused", "A number that grows with every lease granted; the database refuses a write under an " +
			"older one. “Refused” counts those writes."},
		{"sold", "The customer was told that the order is sold."},
		{"replayed", "A retry of a sold order, answered with that order."},
		{"sold-out", "Refused: fewer units were left than were asked for."},
		{"contended", "Refused: no turn came within the wait limit. Nothing was sold."},
		{"fenced", "Refused: the lease was lost to a newer holder. Nothing was sold."},
		{"unavailable", "Refused: a dependency was down. Nothing was sold."},
		{"invalid", "Refused: the request itself was wrong."},
		{"unknown", "No answer, a reset, a timeout or an error that does not tell. Neither sold nor refused: only " +
			"the ledger knows."},
		{"unsent", "The generator should have sent the order and did not. No record tells when it was due: it is " +
			"drawn evenly between the orders before and after."},
		{"invariant", "What must hold of every sale. They are listed below, each with what it counts when broken."},
		{"anomaly", "A broken invariant with the orders that show it."},
	}
}

// invariants defines what must hold of every sale, each with what it counts when it is broken.
func invariants() []term {
	return []term{
		{string(results.Oversold), "No more units are committed than the stock held. Counts the units beyond it."},
		{string(results.Conservation), "Units at the start less units sold are the units left. Counts the units by " +
			"which they differ."},
		{string(results.NegativeStock), "The inventory never goes below zero. Counts the units that it is below."},
		{string(results.LostUpdate), "The positions of the orders cover 1, 2, 3 … once each. Counts orders that " +
			"overlap another or leave a gap before them."},
		{string(results.RealTimeOrder), "An order that was sent after another was answered has the higher " +
			"position. Counts those that have not."},
		{string(results.FalseSoldOut), "No order is told sold-out while enough units are left throughout. Counts " +
			"those answers."},
		{string(results.Stranded), "No unit is left at rest although an order for no more was told sold-out. " +
			"Counts the units."},
		{string(results.DuplicateOrder), "An idempotency key has one order at most. Counts the orders beyond the " +
			"first."},
		{string(results.LostOrder), "What a customer was told is sold stands in the ledger, with the same figures. " +
			"Counts the orders that do not."},
		{string(results.PhantomOrder), "What was surely refused, or never asked for, does not stand in the ledger. " +
			"Counts the orders that do."},
		{string(results.FenceOrder), "Fences never fall from one position to the next. Counts the orders whose fence " +
			"is below the one before."},
		{string(results.BelievedOverlap), "No two holders believe in their lease at once. This is observed and " +
			"breaks nothing: it is what a fence is for."},
		{string(results.EffectiveOverlap), "No two orders that sold overlap between their first statement and " +
			"their COMMIT. Counts those that do."},
		{string(results.HiddenResend), "No order reaches a replica more often than it was sent. Counts those that " +
			"did."},
	}
}
