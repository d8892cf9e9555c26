package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/api"
)

const (
	// dialTimeout bounds the opening of a connection: a replica that does not accept within it is down.
	dialTimeout = 2 * time.Second
	// idleTimeout closes an unused connection before a server does, 5 s being the shortest habit of servers: a hit on a
	// connection that the server is closing ends in an unknown outcome.
	idleTimeout = 4 * time.Second
)

// A courier makes a request of each of vegeta's empty hits, takes it to its replica, and writes down the answer.
//
// vegeta tells a hit's place in the schedule to nobody but the transport, in a header, so that the order can be made no
// earlier.
type courier struct {
	ctx       context.Context // its end gives up the hits under way
	transport *http.Transport
	addresses []*url.URL
	orders    orders
	timeout   time.Duration
	// hits has a place for each hit of the schedule. A hit's place is written by the goroutine that carries it and,
	// once vegeta has passed its result on, by the record; so nobody needs a lock.
	hits []results.Hit
}

var _ http.RoundTripper = (*courier)(nil)

func newTransport(maxConnections int) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		MaxIdleConnsPerHost: 1 << 20, // keep all: to close what a burst opened would cost ports
		MaxConnsPerHost:     maxConnections,
		IdleConnTimeout:     idleTimeout,
		DisableCompression:  true,
		Protocols:           protocols,
	}
}

// RoundTrip implements [http.RoundTripper]. The reply that it returns has a status and nothing else: vegeta would keep
// its body and its header, and could follow a redirect.
func (c *courier) RoundTrip(blank *http.Request) (*http.Response, error) {
	seq, err := strconv.ParseUint(blank.Header.Get(api.HeaderSeq), 10, 64)
	if err != nil || seq >= uint64(len(c.hits)) {
		return nil, fmt.Errorf("attack: %s %q is no place in a schedule of %d hits",
			api.HeaderSeq, blank.Header.Get(api.HeaderSeq), len(c.hits))
	}
	one, hit := c.orders.at(seq), &c.hits[seq]
	body, err := json.Marshal(one.checkout)
	if err != nil {
		return nil, fmt.Errorf("attack: order %s: %w", one.key, err)
	}
	hit.Quantity, hit.Replica = int32(one.checkout.Quantity), uint8(one.replica)

	ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
	defer cancel()
	reply, err := c.transport.RoundTrip(c.request(blank.WithContext(ctx), one, body))
	if err != nil {
		hit.Error = c.trouble(err)
		return nil, err
	}
	defer reply.Body.Close()
	hit.Code = uint16(reply.StatusCode)
	if err := take(hit, one, reply); err != nil {
		hit.Error = c.trouble(err)
		return nil, err
	}
	return &http.Response{StatusCode: reply.StatusCode, Status: reply.Status, Body: http.NoBody, Request: blank}, nil
}

// trouble names err, which is whatever the attack was cancelled with if that is what the hit met.
func (c *courier) trouble(err error) string {
	if c.ctx.Err() != nil && errors.Is(err, context.Cause(c.ctx)) {
		return cancelled
	}
	return trouble(err)
}

// request makes request, a copy of vegeta's empty hit, the request for one. It is left without a GetBody, without which
// net/http cannot send it again: with one, it would by itself repeat a request that bears an idempotency key, and no
// record would show the second.
func (c *courier) request(request *http.Request, one order, body []byte) *http.Request {
	request.URL = c.addresses[one.replica]
	request.Host = request.URL.Host
	request.Header = maps.Clone(request.Header)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(api.HeaderKey, one.key)
	request.Body = io.NopCloser(bytes.NewReader(body))
	request.ContentLength = int64(len(body))
	request.GetBody = nil
	return request
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// take reads a reply to its end and writes down what it means. Where it cannot be read to its end the outcome stays
// unknown, whatever its status says.
func take(hit *results.Hit, one order, reply *http.Response) error {
	if reply.StatusCode == http.StatusSwitchingProtocols {
		hit.Error = otherProtocol // what follows has no end, and no timeout reaches it
		return nil
	}
	body := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(body)
	body.Reset()
	length, err := body.ReadFrom(io.LimitReader(reply.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if length > maxAnswer {
		hit.Error = tooLong
		return nil
	}
	a := read(one, reply.StatusCode, reply.Header, body.Bytes())
	hit.Outcome, hit.Order, hit.Position, hit.Fence, hit.Error = a.outcome, a.order, a.position, a.fence, a.trouble
	return nil
}
