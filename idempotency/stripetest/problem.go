// Package stripetest holds the kit against Stripe's own client for Go: it
// retries by itself, sends bare keys, and decides by the shape of an error's
// body. It is a module of its own, so that the client is not a dependency of
// the product.
package stripetest

import (
	"encoding/json"
	"net/http"

	"github.com/cronce/cronce/idempotency"
)

// WriteProblem is an Options.WriteProblem for services whose callers use
// Stripe's client libraries.
//
// stripe-go never repeats a call that was answered {"error": {...}}, whatever
// the status, except for 429 with the code lock_timeout; and it repeats every
// call that was answered any other body, even a 400. So what is final has
// Stripe's shape, what is in progress is a lock that timed out, and what else
// may pass by itself stays application/problem+json.
func WriteProblem(w http.ResponseWriter, r *http.Request, p idempotency.Problem) {
	status, kind, code := p.Status, "invalid_request_error", p.Code
	switch {
	case p.Code == idempotency.CodeInProgress:
		status, kind, code = http.StatusTooManyRequests, "idempotency_error", "lock_timeout"
	case p.Code == idempotency.CodeMismatch, p.Code == idempotency.CodeMissingKey, p.Code == idempotency.CodeInvalidKey:
		kind = "idempotency_error"
	case p.Code == idempotency.CodeTxEnded, p.Code == idempotency.CodeOutcomeUnknown:
		kind = "api_error" // final: no repetition can change it
	case p.Status >= http.StatusInternalServerError:
		idempotency.WriteProblem(w, r, p)
		return
	}
	body, err := json.Marshal(map[string]any{"error": map[string]string{"type": kind, "code": code, "message": p.Detail}})
	if err != nil {
		http.Error(w, p.Code, p.Status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}
