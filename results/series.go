package results

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/hotsku/hotsku/target/api"
)

// A Second is what happened in one second of a trial: [k, k+1) seconds from its time zero.
type Second struct {
	Offered int // hits that the schedule wanted sent in it
	Sent    int // hits that were sent in it
	// Ended counts the hits that ended in it, indexed by their outcome.
	Ended []int
	// P50, P99 and Max are of the response times of the sales that were acknowledged in it. The percentiles are exact
	// (nearest rank) and describe just these sales, few as they may be; all three are unknown when there was none.
	P50, P99, Max Percentile
	InFlight      int // hits that were sent before its end and had not ended by then
}

// Series returns the seconds of a trial, from its time zero to its last answer. Hits that the schedule wanted and that
// were never sent are not among hits and so not in Offered: compare the trial's planned and sent counts.
func Series(hits []Hit) []Second {
	if len(hits) == 0 {
		return nil
	}
	var last int
	for _, h := range hits {
		last = max(last, secondOf(h.Intended), secondOf(h.Sent), secondOf(h.End))
	}
	seconds := make([]Second, last+1)
	for i := range seconds {
		seconds[i].Ended = make([]int, len(api.Outcomes()))
	}
	sales := make([][]time.Duration, len(seconds))
	for _, h := range hits {
		seconds[secondOf(h.Intended)].Offered++
		seconds[secondOf(h.Sent)].Sent++
		end := secondOf(h.End)
		seconds[end].Ended[h.Outcome]++
		if h.Outcome.Acknowledged() {
			sales[end] = append(sales[end], h.Response())
		}
	}
	open := 0
	for i := range seconds {
		s := &seconds[i]
		open += s.Sent
		for _, n := range s.Ended {
			open -= n
		}
		s.InFlight = open
		s.describe(sales[i])
	}
	return seconds
}

// secondOf returns the number of the second that an offset lies in. A hit that was sent a few µs early is in the first.
func secondOf(offset time.Duration) int { return int(max(offset, 0) / time.Second) }

func (s *Second) describe(sales []time.Duration) {
	if len(sales) == 0 {
		return
	}
	slices.Sort(sales)
	rank := func(perCent int) Percentile {
		return Known(Duration(sales[(len(sales)*perCent+99)/100-1]))
	}
	s.P50, s.P99, s.Max = rank(50), rank(99), rank(100)
}

// WriteSeries writes seconds as CSV, one row each: t_s (its start), offered, sent, a column for each outcome by the end
// of the hit, p50_ms, p99_ms and max_ms (empty when unknown), in_flight. See [Second].
func WriteSeries(w io.Writer, seconds []Second) error {
	b := bufio.NewWriter(w)
	b.WriteString("t_s,offered,sent,")
	for _, o := range api.Outcomes() {
		fmt.Fprintf(b, "%s,", o)
	}
	b.WriteString("p50_ms,p99_ms,max_ms,in_flight\n")
	for i, s := range seconds {
		fmt.Fprintf(b, "%d,%d,%d,", i, s.Offered, s.Sent)
		for _, n := range s.Ended {
			fmt.Fprintf(b, "%d,", n)
		}
		fmt.Fprintf(b, "%s,%s,%s,%d\n", cell(s.P50), cell(s.P99), cell(s.Max), s.InFlight)
	}
	return b.Flush() // a bufio.Writer keeps the first error
}

// cell returns p in ms, as a cell of a CSV file.
func cell(p Percentile) string {
	ms, known := p.Milliseconds()
	if !known {
		return ""
	}
	return strconv.FormatFloat(ms, 'f', -1, 64)
}
