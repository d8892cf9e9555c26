package strategies

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// This file is the line in which the orders of the strategy queue wait: the commands on the Redis Stream, and what is
// written into it and sent back. Nothing in here touches the stock.

// The bounds of a line, which nobody serves for ever and which may be forgotten by everybody.
const (
	lineBound = 10_000
	lineLife  = time.Hour
)

func (s *queue) leaderKey(sku string) string { return s.Prefix + "leader:{" + sku + "}" }

// lineKeys returns the keys of the stream and of the mark, the last entry that a leader was handed.
func (s *queue) lineKeys(sku string) []string {
	return []string{s.Prefix + "queue:{" + sku + "}", s.Prefix + "queue-mark:{" + sku + "}", s.leaderKey(sku)}
}

// The mark is begun anew only when the line is empty, so that a mark that Redis evicted is missing and not wrong. XADD
// comes as late as it can: after an error nothing is undone, and an error is to mean that the order is not in line.
var enqueueScript = script("enqueue", `
-- Puts an order in line, unless its entry is there already, and wakes the leader if the line was empty.
-- KEYS: stream, mark, leadership.
-- ARGV: its entry, '' for none; the order; its patience in ms; the most orders in line; the life of the line in ms.
-- Returns the entry, or nil if the line is full.
if ARGV[1] ~= '' and #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) == 1 then
  return ARGV[1]
end
local length = redis.call('XLEN', KEYS[1])
if length >= tonumber(ARGV[4]) then
  return false
end
if length == 0 then
  redis.call('SET', KEYS[2], '0-0', 'PX', ARGV[5])
  local channel, id = string.match(redis.call('GET', KEYS[3]) or '', '^(.+) (%S+)$')
  if channel then
    redis.call('PUBLISH', channel, id)
  end
end
local time = redis.call('TIME')
local limit = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3]
local entry = redis.call('XADD', KEYS[1], '*', 'order', ARGV[2], 'limit', limit)
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return entry
`)

var withdrawScript = script("withdraw", `
-- Takes an order out of the line if no leader was ever handed it.
-- KEYS: stream, mark, leadership.  ARGV: its entry.
-- Returns 1, or 0 if a leader may have been handed it.
local mark = redis.call('GET', KEYS[2])
if not mark then
  return 0
end
local newest = redis.call('XREVRANGE', KEYS[1], ARGV[1], '(' .. mark, 'COUNT', 1)[1]
if newest and newest[1] == ARGV[1] then
  return redis.call('XDEL', KEYS[1], ARGV[1])
end
return 0
`)

var takeScript = script("take", `
-- Hands the leader the orders that are first in line, and renews its leadership.
-- KEYS: stream, mark, leadership.  ARGV: owner, TTL in ms, the most orders to hand over, the life of the mark in ms.
-- Returns Redis's time in ms, the orders that may have been handed to a leader before, and those that were not; nil if
-- somebody else leads.
if redis.call('GET', KEYS[3]) ~= ARGV[1] then
  return false
end
redis.call('PEXPIRE', KEYS[3], ARGV[2])
local time, most = redis.call('TIME'), tonumber(ARGV[3])
local mark = redis.call('GET', KEYS[2])
local known, fresh = redis.call('XRANGE', KEYS[1], '-', mark or '+', 'COUNT', most), {}
if mark and #known < most then
  fresh = redis.call('XRANGE', KEYS[1], '(' .. mark, '+', 'COUNT', most - #known)
end
if #fresh > 0 then
  redis.call('SET', KEYS[2], fresh[#fresh][1], 'PX', ARGV[4])
end
return {time[1] * 1000 + math.floor(time[2] / 1000), known, fresh}
`)

var answerScript = script("answer", `
-- Takes orders out of the line and publishes the answers to them.
-- KEYS: stream, mark, leadership.
-- ARGV: the owner, if the answers are true only while it leads, or ''; then of each order the entry, channel and message.
-- Returns 1, or 0 if somebody else leads.
if ARGV[1] ~= '' and redis.call('GET', KEYS[3]) ~= ARGV[1] then
  return 0
end
for i = 2, #ARGV, 3 do
  redis.call('XDEL', KEYS[1], ARGV[i])
  redis.call('PUBLISH', ARGV[i + 1], ARGV[i + 2])
end
return 1
`)

// A ticket is an order as it stands in the line.
type ticket struct {
	Key           string
	Quantity      int
	Customer      string
	Channel, Mail string // where its answer is waited for
	Again         bool   // another entry of the same order was in line before
}

// A waiter is an order that waits for its answer.
type waiter struct {
	order Order
	mail  string        // the id that its answer comes under
	box   <-chan string // where it arrives
	limit time.Time     // of the wait for a leader
	entry string        // in the line; empty before it is there
	again bool          // more than one entry was written, so that taking back the last proves nothing
	// trouble is why this process could not lead, for want of the database, when the order gave up.
	trouble error
}

// newWaiter returns the order as one that waits. Call forget when it does not any more.
func (s *queue) newWaiter(ctx context.Context, o Order) (w *waiter, forget func()) {
	w = &waiter{order: o, mail: rand.Text(), limit: time.Now().Add(s.Lease.Wait)}
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(w.limit) {
		w.limit = deadline
	}
	w.box, forget = s.mail.expect(w.mail)
	return w, forget
}

// listen waits for the answer until limit, but not for longer than an order may go without looking after its entry.
func (w *waiter) listen(ctx context.Context, limit time.Time) (text string, ok bool) {
	timer := time.NewTimer(min(lookEvery, time.Until(limit)))
	defer timer.Stop()
	select {
	case text = <-w.box:
		return text, true
	case <-ctx.Done():
	case <-timer.C:
	}
	select {
	case text = <-w.box: // both at once
		return text, true
	default:
		return "", false
	}
}

// enqueue puts the order in line; later calls do so again if Redis has lost its entry. The order's key is unique in the
// ledger, so that a second entry cannot sell it twice. The error matches [ErrUnavailable] or [ErrContended] if the order is
// surely not in line, and none of the package's errors if it may be.
func (s *queue) enqueue(ctx context.Context, w *waiter) error {
	text, err := json.Marshal(ticket{
		Key: w.order.Key, Quantity: w.order.Quantity, Customer: w.order.Customer,
		Channel: s.mail.channel, Mail: w.mail, Again: w.entry != "",
	})
	if err != nil {
		return fmt.Errorf("%w: write the order: %w", ErrUnavailable, err)
	}
	// Not under the request's own context: when that ends on the way, the order could not be taken out of the line again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	entry, err := enqueueScript.Run(ctx, s.Redis, s.lineKeys(w.order.SKU),
		w.entry, text, time.Until(w.limit).Milliseconds(), lineBound, lineLife.Milliseconds()).Text()
	switch {
	case err == nil:
		w.again = w.again || w.entry != "" && w.entry != entry
		w.entry = entry
		return nil
	case w.entry != "":
		return fmt.Errorf("the outcome is unknown: look after the order in line: %w", err)
	case errors.Is(err, redis.Nil):
		return fmt.Errorf("%w: %d orders are in line", ErrContended, lineBound)
	case notExecuted(err):
		return fmt.Errorf("%w: put the order in line: %w", ErrUnavailable, err)
	}
	return fmt.Errorf("the outcome is unknown: put the order in line: %w", err)
}

// notExecuted reports whether a command that failed surely did nothing: there was no connection, or Redis said no.
func notExecuted(err error) bool {
	var dial *net.OpError
	var refused redis.Error
	return errors.As(err, &dial) && dial.Op == "dial" || errors.Is(err, redis.ErrPoolTimeout) || errors.As(err, &refused)
}

// withdraw tries to take an order out of the line. Its error matches [ErrContended], or [ErrUnavailable] for want of the database, if
// it is out and no leader was ever handed it, and none of the package's errors if Redis does not say. Without an error the order may be sold yet.
func (s *queue) withdraw(ctx context.Context, w *waiter) error {
	if w.entry == "" {
		return fmt.Errorf("%w: no time to wait in line", ErrContended)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	out, err := withdrawScript.Run(ctx, s.Redis, s.lineKeys(w.order.SKU), w.entry).Int64()
	if err != nil {
		return fmt.Errorf("the outcome is unknown: take the order out of the line: %w", err)
	}
	switch {
	case out == 1 && !w.again && w.trouble != nil:
		return fmt.Errorf("no leader read the order: %w", w.trouble)
	case out == 1 && !w.again:
		return fmt.Errorf("%w: no leader read the order in time", ErrContended)
	}
	return nil
}

// An entry is an order in the hands of a leader, and what became of it.
type entry struct {
	id      string
	order   Order
	channel string // where the answer is waited for
	mail    string
	late    bool // nobody waits for the answer any more
	fresh   bool // no leader was ever handed this order before

	receipt Receipt
	err     error // nil for a sale
}

// take hands over the orders that are first in line. Its error is [errLeaseLost] if the leader is none any more.
func (s *queue) take(ctx context.Context, l lease) ([]*entry, error) {
	answer, err := takeScript.Run(ctx, s.Redis, s.lineKeys(l.sku),
		l.owner, s.Lease.TTL.Milliseconds(), batchSize, lineLife.Milliseconds()).Slice()
	if errors.Is(err, redis.Nil) {
		return nil, errLeaseLost
	}
	if err != nil {
		return nil, fmt.Errorf("read the line: %w", err)
	}
	if len(answer) != 3 {
		return nil, fmt.Errorf("read the line: Redis says %v", answer)
	}
	now, _ := answer[0].(int64)
	known, _ := answer[1].([]any)
	fresh, _ := answer[2].([]any)
	var batch []*entry
	for i, raw := range append(known, fresh...) {
		e, err := readEntry(raw, l.sku, now)
		if err != nil { // nobody can be told
			s.Log.WarnContext(ctx, "an entry of the line cannot be read and is dropped", "sku", l.sku, "entry", e.id, "error", err)
			if err := s.Redis.XDel(ctx, s.lineKeys(l.sku)[0], e.id).Err(); err != nil {
				return nil, fmt.Errorf("drop an entry: %w", err)
			}
			continue
		}
		e.fresh = e.fresh && i >= len(known)
		batch = append(batch, e)
	}
	return batch, nil
}

// readEntry reads an entry as Redis writes it: its id, and the names and values of its fields in turns.
func readEntry(raw any, sku string, now int64) (*entry, error) {
	e := &entry{}
	pair, _ := raw.([]any)
	if len(pair) != 2 {
		return e, fmt.Errorf("%v is not an id and fields", raw)
	}
	e.id, _ = pair[0].(string)
	fields, _ := pair[1].([]any)
	if len(fields) != 4 {
		return e, fmt.Errorf("%v is not an order and a limit", fields)
	}
	var t ticket
	text, _ := fields[1].(string)
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return e, fmt.Errorf("the order %q: %w", text, err)
	}
	if t.Key == "" || t.Quantity < 1 {
		return e, fmt.Errorf("the order %q has no key or no quantity", text)
	}
	text, _ = fields[3].(string)
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return e, fmt.Errorf("the limit: %w", err)
	}
	e.order = Order{Key: t.Key, SKU: sku, Quantity: t.Quantity, Customer: t.Customer}
	e.channel, e.mail, e.late, e.fresh = t.Channel, t.Mail, now > limit, !t.Again
	return e, nil
}

// answer takes orders out of the line and tells them what became of them; if owner is not empty, only while it leads.
// Whatever fails leaves the orders in line, for the next look or the next leader.
func (s *queue) answer(ctx context.Context, l lease, entries []*entry, owner string) {
	if len(entries) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	args := []any{owner}
	for _, e := range entries {
		args = append(args, e.id, e.channel, e.mail+" "+writeReply(e))
	}
	if err := answerScript.Run(ctx, s.Redis, s.lineKeys(l.sku), args...).Err(); err != nil {
		s.Log.WarnContext(ctx, "orders were not answered and stay in line", "sku", l.sku, "orders", len(entries), "error", err)
	}
}

// A reply is the answer to an order as it is sent.
type reply struct {
	Refused string `json:",omitempty"` // a name of refusalNames, or empty for a sale
	Detail  string `json:",omitempty"`
	Receipt Receipt
}

// refusalNames are the errors that a leader may answer with.
var refusalNames = map[string]error{
	"sold-out": ErrSoldOut, "unknown-sku": ErrUnknownSKU, "duplicate": ErrDuplicate,
	"contended": ErrContended, "unavailable": ErrUnavailable,
}

func writeReply(e *entry) string {
	r := reply{Receipt: e.receipt}
	if e.err != nil {
		r = reply{Refused: "unknown"}
	}
	for name, refused := range refusalNames {
		if errors.Is(e.err, refused) {
			r = reply{Refused: name, Detail: strings.TrimPrefix(e.err.Error(), refused.Error()+": ")}
		}
	}
	text, _ := json.Marshal(r) // it has nothing that cannot be written
	return string(text)
}

func readReply(text string) (Receipt, error) {
	var r reply
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Receipt{}, fmt.Errorf("the outcome is unknown: read the answer %q: %w", text, err)
	}
	if r.Refused == "" {
		return r.Receipt, nil
	}
	if refused, ok := refusalNames[r.Refused]; ok {
		return Receipt{}, fmt.Errorf("%w: %s", refused, r.Detail)
	}
	return Receipt{}, fmt.Errorf("the outcome is unknown: the answer %q means nothing here", text)
}
