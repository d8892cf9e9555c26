package results

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/hotsku/hotsku/target/api"
)

// WriteHits writes the hits of trial t, one line of JSON each, in their order.
//
// A line has the fields of vegeta's JSON results, with "timestamp" the wall-clock time at which the schedule wanted the
// hit sent, and "latency" its response time in ns, so that vegeta's reports, which would else start the clock at the
// moment of sending, show what customers waited. Bodies, headers and byte counts are not kept. The other fields are
// hotsku's: "service_ns" and "lag_ns" (see [Hit]), "outcome", "replica" (its index), "order_id", "position", "fence",
// "quantity" and "key". Invalid UTF-8 in an error is replaced.
//
// It takes 0.2 µs for each hit, and 1.4 µs with the compression of the file, on one 2-core cloud machine.
func WriteHits(w io.Writer, t Trial, hits []Hit) error {
	e := newHitEncoder(t)
	for _, h := range hits {
		line, err := e.line(h)
		if err != nil {
			return fmt.Errorf("hit %d: %w", h.Seq, err)
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// A hitEncoder appends by hand what is the same in every line, and what is a number. The rest is left to encoding/json,
// once per distinct value.
type hitEncoder struct {
	zero   time.Time
	head   string            // the first field, and the name of the second
	urls   []string          // by replica, as JSON
	noURL  string            // of a replica that the trial does not name
	prefix string            // the start of every key as JSON, without its closing quote
	quoted map[string]string // errors as JSON
	buffer []byte
}

func newHitEncoder(t Trial) *hitEncoder {
	e := &hitEncoder{
		zero:   t.Zero.UTC(),
		head:   `{"attack":` + quote(t.ID) + `,"seq":`,
		noURL:  quote(api.PathCheckouts),
		prefix: strings.TrimSuffix(quote(t.KeyPrefix), `"`),
		quoted: map[string]string{"": `""`},
	}
	for _, address := range t.Addresses {
		e.urls = append(e.urls, quote(address+api.PathCheckouts))
	}
	return e
}

// quote returns s as JSON. Marshalling a string cannot fail.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// line returns the line of h; it is valid until the next call.
func (e *hitEncoder) line(h Hit) ([]byte, error) {
	if err := checkOffsets(h); err != nil {
		return nil, err
	}
	outcome, err := h.Outcome.MarshalText()
	if err != nil {
		return nil, err
	}
	b := append(e.buffer[:0], e.head...)
	b = strconv.AppendUint(b, h.Seq, 10)
	b = append(b, `,"code":`...)
	b = strconv.AppendUint(b, uint64(h.Code), 10)
	b = append(b, `,"timestamp":"`...)
	b = e.zero.Add(h.Intended).AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","latency":`...)
	b = strconv.AppendInt(b, int64(h.Response()), 10)
	b = append(b, `,"bytes_out":0,"bytes_in":0,"error":`...)
	b = append(b, e.error(h.Error)...)
	b = append(b, `,"body":null,"method":"POST","url":`...)
	b = append(b, e.url(h.Replica)...)
	b = append(b, `,"headers":null,"service_ns":`...)
	b = strconv.AppendInt(b, int64(h.Service()), 10)
	b = append(b, `,"lag_ns":`...)
	b = strconv.AppendInt(b, int64(h.Lag()), 10)
	b = append(b, `,"outcome":"`...)
	b = append(b, outcome...)
	b = append(b, `","replica":`...)
	b = strconv.AppendUint(b, uint64(h.Replica), 10)
	b = append(b, `,"order_id":`...)
	b = strconv.AppendInt(b, h.Order, 10)
	b = append(b, `,"position":`...)
	b = strconv.AppendInt(b, h.Position, 10)
	b = append(b, `,"fence":`...)
	b = strconv.AppendInt(b, h.Fence, 10)
	b = append(b, `,"quantity":`...)
	b = strconv.AppendInt(b, int64(h.Quantity), 10)
	b = append(b, `,"key":`...)
	b = append(b, e.prefix...)
	b = strconv.AppendUint(b, h.Seq, 10)
	e.buffer = append(b, '"', '}', '\n')
	return e.buffer, nil
}

func (e *hitEncoder) url(replica uint8) string {
	if int(replica) < len(e.urls) {
		return e.urls[replica]
	}
	return e.noURL
}

func (e *hitEncoder) error(message string) string {
	text, ok := e.quoted[message]
	if !ok {
		text = quote(message)
		e.quoted[message] = text
	}
	return text
}
