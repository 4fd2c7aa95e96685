// Package stripetest tests the kit with Stripe's own clients for Go and
// Node.js: they retry by themselves, send bare keys, and decide by the shape of
// an error's body or by a header. It is a module of its own, so that the client
// is not a dependency of the product.
package stripetest

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/cronce/cronce/idempotency"
)

// WriteProblem is an Options.WriteProblem for services whose callers use
// Stripe's client libraries.
//
// stripe-go goes by the body: it never repeats a call that was answered
// {"error": {...}}, whatever the status, except for 429 with the code
// lock_timeout; and it repeats every call that was answered any other body,
// even a 400. stripe-node repeats by the header Stripe-Should-Retry, and takes
// any body without an "error" for a success, even with a 503. It knows an
// idempotency error by the status 400, which is Stripe's for it.
//
// So a final problem has Stripe's shape, and a call in progress is a lock that timed
// out. Any other error that may pass by itself is the problem document with a member
// "error" that is a string.
func WriteProblem(w http.ResponseWriter, _ *http.Request, p idempotency.Problem) {
	switch p.Code {
	case idempotency.CodeInProgress:
		write(w, http.StatusTooManyRequests, true, stripeError("idempotency_error", "lock_timeout", p))
	case idempotency.CodeMismatch:
		write(w, http.StatusBadRequest, false, stripeError("idempotency_error", p.Code, p))
	case idempotency.CodeMissingKey, idempotency.CodeInvalidKey:
		write(w, p.Status, false, stripeError("idempotency_error", p.Code, p))
	case idempotency.CodeTxEnded, idempotency.CodeOutcomeUnknown, idempotency.CodeReplyTooLarge,
		idempotency.CodeMisplaced, idempotency.CodeBodyConsumed: // no repetition can change it
		write(w, p.Status, false, stripeError("api_error", p.Code, p))
	default:
		if p.Status < http.StatusInternalServerError {
			write(w, p.Status, false, stripeError("invalid_request_error", p.Code, p))
			return
		}
		write(w, p.Status, true, passing{p, p.Code, p.Detail})
	}
}

func stripeError(kind, code string, p idempotency.Problem) any {
	return map[string]any{"error": map[string]string{"type": kind, "code": code, "message": p.Detail}}
}

// passing is a problem that may pass by itself. Its error has the shape of
// OAuth's, which stripe-go cannot read and stripe-node can.
type passing struct {
	idempotency.Problem
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// write answers, and says whether to repeat the call.
func write(w http.ResponseWriter, status int, repeat bool, answer any) {
	body, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Stripe-Should-Retry", strconv.FormatBool(repeat))
	w.WriteHeader(status)
	w.Write(body)
}
