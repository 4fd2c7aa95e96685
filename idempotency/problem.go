package idempotency

import (
	"encoding/json"
	"errors"
	"net/http"
)

// Problem is an error answer of the kit (RFC 9457).
type Problem struct {
	Type   string `json:"type"` // "about:blank"
	Title  string `json:"title"`
	Status int    `json:"status"` // the HTTP status
	Detail string `json:"detail"` // for people; it may change in any release
	Code   string `json:"code"`   // one of the Code constants; stable
}

// Codes of a [Problem], and the status of each.
const (
	CodeMissingKey      = "missing_idempotency_key"          // 400: the request has no key
	CodeInvalidKey      = "invalid_idempotency_key"          // 400: see ErrInvalidKey
	CodeInvalidRequest  = "invalid_idempotency_request"      // 400: another header, the body or the query cannot be read
	CodeNoPrincipal     = "unidentified_caller"              // 401: Options.Principal names no caller
	CodeRequestTooLarge = "request_too_large"                // 413: see Options.MaxRequestBody
	CodeBodyConsumed    = "request_body_consumed"            // 500: something before the kit has read the body
	CodeMisplaced       = "idempotency_handler_misplaced"    // 500: see Kit.Handler
	CodeMismatch        = "idempotency_key_payload_mismatch" // 409 or 422: see ErrMismatch and Options.MismatchStatus
	CodeInProgress      = "idempotency_key_in_progress"      // 409: see ErrInProgress
	CodeTooLate         = "run_too_late"                     // 412: see ErrTooLate
	CodeUnavailable     = "idempotency_store_unavailable"    // 503: see ErrUnavailable
	CodeOutcomeUnknown  = "idempotency_outcome_unknown"      // 409: see ErrOutcomeUnknown
	CodeRunTooLong      = "run_too_long"                     // 503: see ErrRunTooLong
	CodeReplyTooLarge   = "reply_too_large"                  // 500: see ErrReplyTooLarge
	CodeTxAborted       = "transaction_aborted"              // 500: see ErrTxAborted
	CodeTxEnded         = "transaction_ended_by_handler"     // 500: see ErrTxEnded
	CodeShutdown        = "service_shutting_down"            // 503: see ErrShutdown
	CodeFailed          = "operation_failed"                 // 422: the stored reply of long work that has failed for good
)

// WriteProblem writes p as application/problem+json. It is the default of
// Options.WriteProblem.
func WriteProblem(w http.ResponseWriter, _ *http.Request, p Problem) {
	body, err := json.Marshal(p)
	if err != nil {
		http.Error(w, p.Code, p.Status)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	w.Write(body)
}

func problem(status int, code, title, detail string) Problem {
	return Problem{Type: "about:blank", Title: title, Status: status, Code: code, Detail: detail}
}

// problemOf translates what [Kit.once] returned.
func (k *Kit) problemOf(err error) Problem {
	if m := misplaced(""); errors.As(err, &m) {
		return problem(http.StatusInternalServerError, CodeMisplaced, "Defect in the service", m.Error())
	}
	if errors.Is(err, ErrInvalidKey) {
		return problem(http.StatusBadRequest, CodeInvalidKey, "Invalid idempotency key", err.Error())
	}
	for _, p := range []struct { // in the order in which they count
		err                 error
		status              int
		code, title, detail string
	}{
		{ErrTxEnded, http.StatusInternalServerError, CodeTxEnded, "Defect in the service",
			"The operation ended its transaction itself. It is not known whether it was done, and it is not repeated under this key."},
		{ErrMismatch, k.opt.MismatchStatus, CodeMismatch, "Idempotency key used with another payload",
			"This key belongs to a request with another method, path, query or body. Repeat that request, or use a new key."},
		{ErrTooLate, http.StatusPreconditionFailed, CodeTooLate, "Too late",
			"The time in Cronce-Send-Before has passed and no reply is stored. Nothing was done."},
		{ErrOutcomeUnknown, http.StatusConflict, CodeOutcomeUnknown, "Outcome unknown",
			"A call to another system was made under this key and its outcome is not known. It is not repeated until that is settled."},
		{ErrInProgress, http.StatusConflict, CodeInProgress, "In progress",
			"The first request with this key is still running. Ask again with the same key after Retry-After."},
		{ErrShutdown, http.StatusServiceUnavailable, CodeShutdown, "Shutting down",
			"This process starts no more long work. Ask again with the same key."},
		{ErrRunTooLong, http.StatusServiceUnavailable, CodeRunTooLong, "Took too long",
			"The operation took longer than this service allows and was rolled back. Ask again with the same key."},
		{ErrReplyTooLarge, http.StatusInternalServerError, CodeReplyTooLarge, "Reply too large",
			"The operation's reply is larger than this service allows under an idempotency key. The operation was rolled back."},
		{ErrTxAborted, http.StatusInternalServerError, CodeTxAborted, "Not done",
			"The database refused to commit the operation and rolled it back. Ask again with the same key."},
	} {
		if errors.Is(err, p.err) {
			return problem(p.status, p.code, p.title, p.detail)
		}
	}
	return problem(http.StatusServiceUnavailable, CodeUnavailable, "Key store unavailable",
		"Whether this key was used before cannot be looked up now. Ask again with the same key.")
}

// retryable reports whether asking again soon may help.
func (p Problem) retryable() bool {
	return p.Code == CodeInProgress || p.Status == http.StatusServiceUnavailable
}
