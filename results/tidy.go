package results

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/hotsku/hotsku/target/api"
)

// WriteSummary writes the figures of the trials as a tidy table in CSV, a row for each figure, with the columns
// scenario, strategy, block, trial, metric, value and unit.
//
// Every trial has the row "valid", 1 or 0. An invalid trial has no other, for its figures are no result. An empty value
// is unknown, which is not 0. Percentiles are those of [Trial.Sales]; "committed" and "left" are read from the target,
// "hits_<outcome>" are counted by the client.
func WriteSummary(w io.Writer, trials []Trial) error {
	c := csv.NewWriter(w)
	if err := c.Write([]string{"scenario", "strategy", "block", "trial", "metric", "value", "unit"}); err != nil {
		return err
	}
	for _, t := range trials {
		for _, m := range metricsOf(t) {
			row := []string{t.Cell.Scenario, t.Cell.Strategy, strconv.Itoa(t.Cell.Block), t.ID, m.name, m.value, m.unit}
			if err := c.Write(row); err != nil {
				return err
			}
		}
	}
	c.Flush()
	return c.Error()
}

// A metric is a row of the tidy table, as text.
type metric struct{ name, value, unit string }

func metricsOf(t Trial) []metric {
	if !t.Valid() {
		return []metric{{"valid", "0", "bool"}}
	}
	sales, _ := t.Sales() // without sales all percentiles are unknown
	metrics := []metric{
		{"valid", "1", "bool"},
		count("broken", len(t.Audit.Broke()), "invariants"),
		count("oversold", t.Audit.Oversold, "units"),
		count("committed", t.Audit.Sold, "units"),
		count("left", t.Audit.Left, "units"),
		figure("goodput", "orders/s")(t.Goodput()),
		figure("p50", "ms")(sales.P50.Milliseconds()),
		figure("p99", "ms")(sales.P99.Milliseconds()),
		figure("p999", "ms")(sales.P999.Milliseconds()),
		count("planned", t.Attack.Planned, "hits"),
		count("sent", t.Attack.Sent, "hits"),
	}
	for _, o := range api.Outcomes() {
		metrics = append(metrics, count("hits_"+o.String(), t.Attack.Outcomes[o], "hits"))
	}
	return append(metrics, count("strikes", t.Strikes, "stalls"), count("refusals", t.Refusals, "writes"))
}

func count[N int | int64](name string, n N, unit string) metric {
	return metric{name, fmt.Sprint(n), unit}
}

// figure returns a function that makes the metric from a figure that may be unknown.
func figure(name, unit string) func(value float64, known bool) metric {
	return func(value float64, known bool) metric {
		if !known {
			return metric{name, "", unit}
		}
		return metric{name, strconv.FormatFloat(value, 'f', -1, 64), unit}
	}
}
