package target

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target/api"
)

// adminTimeout bounds the administrator's short calls; ledgerTimeout those that stream.
const (
	adminTimeout  = 5 * time.Second
	ledgerTimeout = 2 * time.Minute
)

// putInventory creates a SKU.
func (s *Server) putInventory(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), adminTimeout)
	defer cancel()
	var asked api.NewInventory
	sku := r.PathValue("sku")
	switch {
	case !readBody(w, r, &asked):
		return
	case !goodSKU(w, sku):
		return
	case asked.Stock < 0 || asked.Stock > api.MaxStock:
		invalid(w, fmt.Sprintf("stock must be 0 to %d.", api.MaxStock))
		return
	}
	_, err := s.db.ExecContext(ctx, `INSERT INTO inventory (sku, stock) VALUES (?, ?)`, sku, asked.Stock)
	var duplicate *mysql.MySQLError
	if errors.As(err, &duplicate) && duplicate.Number == 1062 {
		problem(w, refusal{status: http.StatusConflict, code: api.CodeExists, title: "The SKU is there already"}, "")
		return
	}
	if err != nil {
		s.unavailable(ctx, w, err)
		return
	}
	reply(w, http.StatusCreated, api.Inventory{SKU: sku, Stock: asked.Stock})
}

// goodSKU checks a SKU; if it is not good, it has answered the request.
func goodSKU(w http.ResponseWriter, sku string) bool {
	if validSKU(sku) {
		return true
	}
	invalid(w, fmt.Sprintf("The SKU must be 1 to %d visible ASCII characters.", api.MaxSKU))
	return false
}

func (s *Server) getInventory(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), adminTimeout)
	defer cancel()
	i := api.Inventory{SKU: r.PathValue("sku")}
	if !goodSKU(w, i.SKU) {
		return
	}
	err := s.db.QueryRowContext(ctx, `SELECT stock, sold, fence FROM inventory WHERE sku = ?`, i.SKU).
		Scan(&i.Stock, &i.Sold, &i.Fence)
	if keeper, ok := s.strategy.(strategies.StockKeeper); ok && err == nil {
		i.Stock, i.Sold, err = keeper.Stock(ctx, i.SKU)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		problem(w, refusalOf(strategies.ErrUnknownSKU), "")
	case err != nil:
		s.unavailable(ctx, w, err)
	default:
		reply(w, http.StatusOK, i)
	}
}

// getLedger streams the orders of a SKU by position, in one consistent read.
func (s *Server) getLedger(w http.ResponseWriter, r *http.Request) {
	if !goodSKU(w, r.FormValue("sku")) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), ledgerTimeout)
	defer cancel()
	rows, err := s.db.QueryContext(ctx,
		`SELECT `+orderColumns+` FROM orders WHERE sku = ? ORDER BY position, id`, r.FormValue("sku"))
	if err != nil {
		s.unavailable(ctx, w, err)
		return
	}
	defer rows.Close()
	s.stream(w, func(line func(any) error) error {
		for rows.Next() {
			order, err := scanOrder(rows.Scan)
			if err != nil {
				return err
			}
			if err := line(order); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

func (s *Server) getTrace(w http.ResponseWriter, r *http.Request) {
	if !s.cfg.Trace {
		problem(w, refusal{status: http.StatusNotFound, code: api.CodeInvalid, title: "Steps are not kept"}, "Start the service with --trace.")
		return
	}
	traced, whole := s.records.steps(r.FormValue("sku"))
	if !whole {
		problem(w, refusal{status: http.StatusInsufficientStorage, title: "The trace is not whole"},
			fmt.Sprintf("More than %d steps were taken.", maxSteps))
		return
	}
	s.stream(w, func(line func(any) error) error {
		for _, step := range traced {
			if err := line(step); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Server) getExecutions(w http.ResponseWriter, r *http.Request) {
	if s.records == nil {
		problem(w, refusal{status: http.StatusNotFound, code: api.CodeInvalid, title: "Executions are not counted"}, "Start the service with --record.")
		return
	}
	sku := r.FormValue("sku")
	seen, struck := s.records.executions(sku), s.cfg.Stall.Tally(sku)
	seen.Stalled, seen.Frozen, seen.Lost = struck.Strikes, struck.Frozen.Nanoseconds(), struck.Lost
	reply(w, http.StatusOK, seen)
}

// stream writes one JSON line for each call of line. Once the first is sent, a failure can only be told by breaking the
// connection off, so that no reader takes a part for the whole.
func (s *Server) stream(w http.ResponseWriter, produce func(line func(any) error) error) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(ledgerTimeout)) // not every writer can
	buffer := bufio.NewWriterSize(w, 64<<10)
	encoder := json.NewEncoder(buffer)
	err := produce(encoder.Encode)
	if err == nil {
		err = buffer.Flush()
	}
	if err != nil {
		s.cfg.Log.Warn("a stream broke off", "error", err)
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) unavailable(ctx context.Context, w http.ResponseWriter, err error) {
	s.cfg.Log.WarnContext(ctx, "the database failed", "error", err)
	problem(w, refusalOf(strategies.ErrUnavailable), "The database does not answer.")
}
