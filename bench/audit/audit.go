// Package audit finds out what became of a trial's orders.
//
// It joins what the clients saw (the hits) with what the target kept (the ledger) on the idempotency key, resolves
// the unknown outcomes by the ledger, and checks every invariant of [results.Invariant]. What was broken is named
// with its evidence; what could not be checked is neither passed nor failed.
//
// The checks lean on one reading of a trial: a SKU is a counter that starts at the stock, and a checkout of q units
// either takes them all or, when fewer than q are left, is told sold out. Each order happens at one moment between
// its Sent and its answer; one that was never answered happens at any moment after its Sent, if the ledger has it.
// All checks together say whether such moments exist (the trial is linearizable), and where not, why not. A finding
// is certain under that reading: where the evidence allows an innocent explanation, the audit takes it.
//
// Every check is O(n log n) in the number of hits, orders and steps, provided that the tries of one order, and the
// orders of one key, are few: they are compared one by one.
package audit

import (
	"slices"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

// A Case is all that is known of one trial's sales. Hits, Ledger, Steps and Executions may come in any order; none
// of them is changed.
type Case struct {
	SKU   string
	Stock int64 // units at the start
	// KeyPrefix begins every key of the trial: the order of a hit has the key KeyPrefix + its Seq in decimal. Hits
	// that share a Seq are tries of one order.
	KeyPrefix string
	Inventory api.Inventory // at rest, after the last answer
	Hits      []results.Hit
	Ledger    []api.Order // all orders of the SKU, at rest
	Steps     []api.Step  // nil: not traced
	// Executions holds one entry per replica that offers the call; nil: not offered.
	Executions []api.Executions
	Zero       time.Time // the wall clock at the offset 0 of all hits
	Replicas   []string  // the replicas' names, by Hit.Replica
}

// checkers holds every invariant with its checker, in the order of the invariants' declaration.
var checkers = []struct {
	invariant results.Invariant
	check     func(*trial) result
}{
	{results.Oversold, checkOversold},
	{results.Conservation, checkConservation},
	{results.NegativeStock, checkNegativeStock},
	{results.LostUpdate, checkLostUpdate},
	{results.RealTimeOrder, checkRealTimeOrder},
	{results.FalseSoldOut, checkFalseSoldOut},
	{results.Stranded, checkStranded},
	{results.DuplicateOrder, checkDuplicateOrder},
	{results.LostOrder, checkLostOrder},
	{results.PhantomOrder, checkPhantomOrder},
	{results.FenceOrder, checkFenceOrder},
	{results.BelievedOverlap, checkBelievedOverlap},
	{results.EffectiveOverlap, checkEffectiveOverlap},
	{results.HiddenResend, checkHiddenResend},
}

// Invariants lists what [Audit] checks, in the order of its Checks.
func Invariants() []results.Invariant {
	all := make([]results.Invariant, len(checkers))
	for i, c := range checkers {
		all[i] = c.invariant
	}
	return all
}

// Audit judges a trial. The audit has a check for every invariant, in the order of [Invariants]; the anomalies are the
// evidence of the broken ones, in the same order and within each by time. At most [MaxAnomalies] are kept of an
// invariant, while its Count is always complete. The same case gives the same result, in whatever order its hits,
// orders and steps are listed.
func Audit(c Case) (results.Audit, []results.Anomaly) {
	t := join(c)
	a := results.Audit{
		Sold:     t.sold,
		Orders:   int64(len(c.Ledger)),
		Left:     c.Inventory.Stock,
		Oversold: t.oversold(),
	}
	a.ResolvedSold, a.ResolvedNotSold = t.resolved()
	a.LongestGap, a.FirstOversell = t.pace()

	var anomalies []results.Anomaly
	for _, checker := range checkers {
		r := checker.check(t)
		r.check.Invariant = checker.invariant
		a.Checks = append(a.Checks, r.check)
		for i := range r.anomalies {
			r.anomalies[i].Invariant = checker.invariant
		}
		anomalies = append(anomalies, r.anomalies...)
	}
	return a, slices.Clip(anomalies)
}
