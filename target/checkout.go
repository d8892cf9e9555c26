package target

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target/api"
	"github.com/hotsku/hotsku/target/steps"
)

// checkout answers POST /v1/checkouts.
func (s *Server) checkout(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	asked, key, ok := readCheckout(w, r)
	if !ok {
		s.metrics.checkout(api.Invalid, time.Since(start))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Timeout)
	defer cancel()
	ctx, order := steps.Begin(ctx, key, asked.SKU)

	s.records.begin(order, r.Header.Get(api.HeaderSeq))
	sold, replayed, err := s.sell(ctx, asked, key)
	s.records.end(order, err)
	switch {
	case err != nil:
		s.metrics.checkout(s.refuse(ctx, w, order, err), time.Since(start))
	case replayed:
		w.Header().Set(api.HeaderReplayed, "true")
		reply(w, http.StatusOK, sold)
		s.metrics.checkout(api.Replayed, time.Since(start))
	default:
		reply(w, http.StatusCreated, sold)
		s.metrics.checkout(api.Sold, time.Since(start))
	}
}

// errKeyReused means that the key belongs to a sold order with another body.
var errKeyReused = errors.New("target: the key belongs to another order")

// sell sells the order, or finds the sale that its key stands for already.
//
// The unique key on orders decides between a first and a second sale; it is looked at only after a refusal, so that
// a sale pays nothing for it. A strategy may refuse a retry of a sold order for any reason, sold out above all.
func (s *Server) sell(ctx context.Context, asked api.Checkout, key string) (o api.Order, replayed bool, err error) {
	receipt, err := s.strategy.Checkout(ctx, strategies.Order{
		Key: key, SKU: asked.SKU, Quantity: asked.Quantity, Customer: asked.Customer,
	})
	if err == nil {
		return api.Order{
			ID: receipt.ID, SKU: asked.SKU, Quantity: asked.Quantity, Position: receipt.Position,
			Customer: asked.Customer, Key: key, Fence: receipt.Fence, Replica: s.cfg.Replica, CreatedAt: receipt.Created,
		}, false, nil
	}
	before, found, lookup := s.orderByKey(ctx, key)
	switch {
	case lookup != nil:
		// This try sold nothing, or err is unknown and stays so; whether an earlier one did cannot be told now.
		if refusalOf(err) == unknownOutcome {
			return o, false, errors.Join(err, lookup)
		}
		return o, false, fmt.Errorf("%w: %v; look the key up: %w", strategies.ErrUnavailable, err, lookup)
	case !found && errors.Is(err, strategies.ErrDuplicate):
		return o, false, fmt.Errorf("%w: the key's order was withdrawn meanwhile: %w", strategies.ErrContended, err)
	case !found:
		return o, false, err
	case asked != (api.Checkout{SKU: before.SKU, Quantity: before.Quantity, Customer: before.Customer}):
		return o, false, errKeyReused
	}
	return before, true, nil
}

// refuse tells the client why it was not sold to, and returns the outcome that this is.
func (s *Server) refuse(ctx context.Context, w http.ResponseWriter, order *steps.Order, err error) api.Outcome {
	if errors.Is(err, errKeyReused) {
		problem(w, refusal{status: http.StatusUnprocessableEntity, code: api.CodeKeyReused, title: "The key belongs to another order"},
			"A key stands for one order; take a new one for another SKU, quantity or customer.")
		return api.Invalid
	}
	r := refusalOf(err)
	if r.status >= http.StatusInternalServerError {
		s.cfg.Log.WarnContext(ctx, "checkout failed", "key", order.Key, "sku", order.SKU, "status", r.status, "error", err)
	}
	problem(w, r, "")
	return api.Classify(r.status, w.Header(), r.code)
}

const orderColumns = `id, sku, quantity, position, customer, idempotency_key, fence, replica, created_at`

func scanOrder(scan func(...any) error) (o api.Order, err error) {
	err = scan(&o.ID, &o.SKU, &o.Quantity, &o.Position, &o.Customer, &o.Key, &o.Fence, &o.Replica, &o.CreatedAt)
	return o, err
}

func (s *Server) orderByKey(ctx context.Context, key string) (o api.Order, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	row := s.db.QueryRowContext(ctx, `SELECT `+orderColumns+` FROM orders WHERE idempotency_key = ?`, key)
	o, err = scanOrder(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return o, false, nil
	}
	return o, err == nil, err
}

var validText = regexp.MustCompile(`^[!-~]+$`) // visible ASCII

func validSKU(sku string) bool { return len(sku) <= api.MaxSKU && validText.MatchString(sku) }
func validKey(key string) bool { return len(key) <= api.MaxKey && validText.MatchString(key) }
func validName(name string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`).MatchString(name)
}

// readCheckout reads and checks a request; if it is not ok, it has answered it.
func readCheckout(w http.ResponseWriter, r *http.Request) (asked api.Checkout, key string, ok bool) {
	if !readBody(w, r, &asked) {
		return asked, "", false
	}
	keys := r.Header.Values(api.HeaderKey)
	switch {
	case len(keys) != 1 || !validKey(keys[0]):
		invalid(w, fmt.Sprintf("Give one %s header of 1 to %d visible ASCII characters.", api.HeaderKey, api.MaxKey))
	case !validSKU(asked.SKU):
		invalid(w, fmt.Sprintf("sku must be 1 to %d visible ASCII characters.", api.MaxSKU))
	case asked.Quantity < 1 || asked.Quantity > api.MaxQuantity:
		invalid(w, fmt.Sprintf("quantity must be 1 to %d.", api.MaxQuantity))
	case !validCustomer(asked.Customer):
		invalid(w, fmt.Sprintf("customer must be 1 to %d characters.", api.MaxCustomer))
	default:
		return asked, keys[0], true
	}
	return asked, "", false
}

func validCustomer(customer string) bool {
	n := 0
	for _, r := range customer {
		if r < ' ' || r == '\uFFFD' {
			return false
		}
		n++
	}
	return n >= 1 && n <= api.MaxCustomer
}

// readBody decodes a small JSON body strictly; if it cannot, it has answered the request.
func readBody(w http.ResponseWriter, r *http.Request, into any) bool {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, api.MaxBody))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil {
		if _, err = decoder.Token(); errors.Is(err, io.EOF) {
			return true
		}
		if err == nil {
			err = errors.New("something follows the JSON object")
		}
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		problem(w, refusal{status: http.StatusRequestEntityTooLarge, code: api.CodeTooLarge, title: "The body is too large"},
			"A body may have "+strconv.Itoa(api.MaxBody)+" bytes.")
		return false
	}
	invalid(w, "The body is not the JSON object that the contract wants.")
	return false
}
