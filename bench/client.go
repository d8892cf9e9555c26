package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hotsku/hotsku/target/api"
)

// A Target is the service under test, known by the addresses of its replicas.
type Target struct {
	Addresses []string // http://host:port, one for each replica
	Names     []string // of the replicas, in the same order
	Token     string   // of the administrator
}

// admin is the client of the administrator's calls. They are few, and none of them is timed.
var admin = &http.Client{Timeout: 2 * time.Minute}

// CreateSKU puts a SKU on sale.
func (t Target) CreateSKU(ctx context.Context, sku string, stock int64) error {
	return t.call(ctx, http.MethodPut, t.Addresses[0]+skuPath(sku), api.NewInventory{Stock: stock}, http.StatusCreated, nil)
}

// Inventory reads the inventory row of a SKU.
func (t Target) Inventory(ctx context.Context, sku string) (i api.Inventory, err error) {
	err = t.call(ctx, http.MethodGet, t.Addresses[0]+skuPath(sku), nil, http.StatusOK, decode(&i))
	return i, err
}

// Ledger reads all orders of a SKU.
func (t Target) Ledger(ctx context.Context, sku string) (orders []api.Order, err error) {
	err = t.call(ctx, http.MethodGet, t.Addresses[0]+query(api.PathLedger, sku), nil, http.StatusOK, lines(&orders))
	return orders, err
}

// Trace reads the steps that the replicas kept of a SKU. It returns nil if they keep none.
func (t Target) Trace(ctx context.Context, sku string) (all []api.Step, err error) {
	for _, address := range t.Addresses {
		var kept []api.Step
		err := t.call(ctx, http.MethodGet, address+query(api.PathTrace, sku), nil, http.StatusOK, lines(&kept))
		if isStatus(err, http.StatusNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, kept...)
	}
	return all, nil
}

// Executions reads what each replica saw of a SKU. It returns nil if the target does not offer the call.
func (t Target) Executions(ctx context.Context, sku string) (all []api.Executions, err error) {
	for _, address := range t.Addresses {
		var e api.Executions
		err := t.call(ctx, http.MethodGet, address+query(api.PathExecutions, sku), nil, http.StatusOK, decode(&e))
		if isStatus(err, http.StatusNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// Rest waits until no replica is at work on a checkout of the SKU, so that the ledger says the last word.
// A target that does not count its executions is waited for as long as patience lasts.
func (t Target) Rest(ctx context.Context, sku string, patience time.Duration) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		seen, err := t.Executions(ctx, sku)
		if err != nil {
			return err
		}
		busy := int64(0)
		for _, e := range seen {
			busy += e.InFlight
		}
		if seen != nil && busy == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline.C:
			if seen == nil {
				return nil
			}
			return fmt.Errorf("%d checkouts of %s are still under way %v after the last answer", busy, sku, patience)
		case <-look.C:
		}
	}
}

func skuPath(sku string) string {
	return strings.Replace(api.PathInventory, "{sku}", url.PathEscape(sku), 1)
}

func query(path, sku string) string { return path + "?sku=" + url.QueryEscape(sku) }

// statusError is an answer with another status than the one that was hoped for.
type statusError struct {
	call   string
	status int
	body   string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s answered %d: %s", e.call, e.status, e.body)
}

func isStatus(err error, status int) bool {
	var s *statusError
	return errors.As(err, &s) && s.status == status
}

// call sends one of the administrator's calls and gives the body of the answer to read, unless nil.
func (t Target) call(ctx context.Context, method, address string, body any, want int, read func(io.Reader) error) error {
	what := method + " " + address
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	request.Header.Set("Authorization", "Bearer "+t.Token)
	answer, err := admin.Do(request)
	if err != nil {
		return fmt.Errorf("the target: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != want {
		start, _ := io.ReadAll(io.LimitReader(answer.Body, 500)) // whatever there is of it is worth showing
		return &statusError{what, answer.StatusCode, strings.TrimSpace(string(start))}
	}
	if read == nil {
		return nil
	}
	if err := read(answer.Body); err != nil {
		return fmt.Errorf("%s: read the answer: %w", what, err)
	}
	return nil
}

func decode(into any) func(io.Reader) error {
	return func(r io.Reader) error { return json.NewDecoder(r).Decode(into) }
}

// lines reads one JSON value a line, to the end.
func lines[T any](into *[]T) func(io.Reader) error {
	return func(r io.Reader) error {
		decoder := json.NewDecoder(r)
		for {
			var line T
			if err := decoder.Decode(&line); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("line %d: %w", len(*into)+1, err)
			}
			*into = append(*into, line)
		}
	}
}
