package results

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// benchUnits are the units of the figures in bench.txt. Oversold units and broken invariants are exact: benchstat's
// median would turn one oversell in ten trials into 0.
const benchUnits = `Unit p50-ns better=lower
Unit p99-ns better=lower
Unit p999-ns better=lower
Unit goodput-orders/s better=higher
Unit oversold-units better=lower assume=exact
Unit broken-invariants better=lower assume=exact
`

// WriteBench writes the valid trials in the Go benchmark format (go.dev/design/14313-benchmark-format), a line for each
// trial, so that benchstat compares them:
//
//	benchstat -col /strategy -row .name,/scenario bench.txt
//
// The count of a line is the hits that the trial sent; its percentiles are those of [Trial.Sales]. A figure that is
// unknown is left out of its line. Invalid trials have no line. The run's ID is a comment: as a key it would make
// benchstat put each run into a table of its own, beside the run that it is to be compared with.
func WriteBench(w io.Writer, run Run, trials []Trial) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# hotsku-run: %s\n", run.ID)
	for _, pair := range [][2]string{{"goos", run.Machine.OS}, {"goarch", run.Machine.Arch}, {"cpu", run.Machine.CPU}} {
		if value := strings.Join(strings.Fields(pair[1]), " "); value != "" {
			fmt.Fprintf(b, "%s: %s\n", pair[0], value)
		}
	}
	b.WriteString(benchUnits)
	for _, t := range trials {
		if !t.Valid() {
			continue
		}
		if err := checkCell(t.Cell.Scenario, t.Cell.Strategy); err != nil {
			return fmt.Errorf("trial %s: %w", t.ID, err)
		}
		benchLine(b, t)
	}
	return b.Flush() // a bufio.Writer keeps the first error
}

func benchLine(b *bufio.Writer, t Trial) {
	fmt.Fprintf(b, "BenchmarkCheckout/scenario=%s/strategy=%s %d", t.Cell.Scenario, t.Cell.Strategy, t.Attack.Sent)
	sales, _ := t.Sales() // without sales all percentiles are unknown
	for _, p := range []struct {
		value Percentile
		unit  string
	}{{sales.P50, "p50-ns"}, {sales.P99, "p99-ns"}, {sales.P999, "p999-ns"}} {
		if p.value.Known {
			fmt.Fprintf(b, " %d %s", int64(p.value.Value), p.unit)
		}
	}
	if goodput, ok := t.Goodput(); ok {
		fmt.Fprintf(b, " %.6g goodput-orders/s", goodput)
	}
	fmt.Fprintf(b, " %d oversold-units %d broken-invariants\n", t.Audit.Oversold, len(t.Audit.Broke()))
}
