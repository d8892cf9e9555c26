package plots

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotsku/hotsku/results"
)

// eventRows says of every strategy in every scenario what happened on the way of its orders, over its valid trials. Where
// nothing is known to have happened there is no row.
func eventRows(s results.Summary) [][]string {
	var rows [][]string
	for _, c := range s.Cells {
		if stalls, events := stallsText(c), eventsText(c.Events); stalls+events != "" {
			rows = append(rows, []string{c.Scenario, c.Strategy.Name, fmt.Sprint(c.Valid), stalls, events})
		}
	}
	return rows
}

// stallsText says what the stalls of a cell did.
func stallsText(c results.CellSummary) string {
	var parts []string
	if c.Strikes > 0 {
		parts = append(parts, count(c.Strikes)+" struck")
	}
	if c.Frozen > 0 {
		parts = append(parts, "replicas stood still for "+formatDuration(c.Frozen.D()))
	}
	if c.Lost > 0 {
		parts = append(parts, plural(c.Lost, "key", "keys")+" lost")
	}
	return strings.Join(parts, ", ")
}

// eventsText lists events by name.
func eventsText(events map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(events)) {
		parts = append(parts, fmt.Sprintf("%s %s", name, count(events[name])))
	}
	return strings.Join(parts, ", ")
}

// eventNames defines the events that hotsku's own strategies tell of.
func eventNames() []term {
	return []term{
		{"deadlock", "The database ended a transaction to break a deadlock; it was tried again."},
		{"lock-wait-timeout", "A row was locked for longer than the database lets a transaction wait."},
		{"conflict", "A compare-and-set found that another order had been there first."},
		{"looked-again", "Too few units were free, but some were only locked or reserved for the moment: the order looked again " +
			"instead of calling it sold out."},
		{"granted", "A lease was handed to an order that waited for it."},
		{"lease-lost", "A holder learned during its work that its lease had ended."},
		{"fence-raised", "A fence counter that Redis had lost was raised to the highest that the database has seen."},
		{"loaded", "A stock was loaded from the inventory row into where it is sold from."},
		{"returned", "Units that had been taken in Redis were given back."},
		{"took-over", "A new leader began to sell."},
		{"merged", "Several orders were sold in one transaction."},
	}
}
