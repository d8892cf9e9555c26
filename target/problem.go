package target

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/hotsku/hotsku/strategies"
	"github.com/hotsku/hotsku/target/api"
)

// A refusal is how an error is told to a client.
type refusal struct {
	status int
	code   api.Code
	// retryAfter is in seconds; 0 means that trying again is of no use. The shortest that the header can say is 1.
	retryAfter string
	title      string
}

// refusals maps the strategies' errors to replies: the only place where this is decided.
var refusals = []struct {
	err error
	refusal
}{
	{strategies.ErrSoldOut, refusal{http.StatusConflict, api.CodeSoldOut, "", "Sold out"}},
	{strategies.ErrFenced, refusal{http.StatusConflict, api.CodeFenced, "1", "The lease went to a newer holder"}},
	{strategies.ErrContended, refusal{http.StatusLocked, api.CodeContended, "1", "No turn in time"}},
	{strategies.ErrUnknownSKU, refusal{http.StatusNotFound, api.CodeUnknownSKU, "", "No such SKU"}},
	{strategies.ErrUnavailable, refusal{http.StatusServiceUnavailable, api.CodeUnavailable, "1", "A dependency does not work"}},
}

// unknownOutcome is what every other error of a checkout means. It carries no code: the client must not take it for
// a refusal.
var unknownOutcome = refusal{status: http.StatusInternalServerError, title: "The outcome is unknown; ask again with the same key"}

// refusalOf returns the reply for an error of a checkout.
func refusalOf(err error) refusal {
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return r.refusal
		}
	}
	return unknownOutcome
}

// problem writes a refusal. The detail is for people and holds nothing that came from a driver or a server.
func problem(w http.ResponseWriter, r refusal, detail string) {
	w.Header().Set("Content-Type", api.ProblemType)
	if r.retryAfter != "" {
		w.Header().Set("Retry-After", r.retryAfter)
	}
	w.WriteHeader(r.status)
	// The status is sent; a client that has gone cannot be told anything more.
	_ = json.NewEncoder(w).Encode(api.Problem{Type: "about:blank", Title: r.title, Status: r.status, Detail: detail, Code: r.code})
}

func invalid(w http.ResponseWriter, detail string) {
	problem(w, refusal{http.StatusBadRequest, api.CodeInvalid, "", "The request is not valid"}, detail)
}

// reply writes a body that is no refusal.
func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // see problem
}
