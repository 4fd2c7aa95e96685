package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/cronce/cronce/api/access"
	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/ledger"
)

// Problem is an error answer (RFC 9457). Its code is stable.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

func problem(status int, code, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

func invalid(detail string) *Problem {
	return problem(http.StatusBadRequest, string(operations.Invalid), detail)
}

var refusals = map[operations.Code]int{
	operations.Invalid:    http.StatusBadRequest,
	operations.UnknownJob: http.StatusNotFound,
	operations.UnknownRun: http.StatusNotFound, operations.UnknownIncident: http.StatusNotFound,
	operations.NotServed: http.StatusConflict,
	operations.Conflict:  http.StatusConflict,
}

// problemOf translates an error. What nobody outside needs to know stays in the log.
func problemOf(err error) *Problem {
	var p *Problem
	var refused *operations.Error
	var denied *access.DeniedError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &refused):
		return problem(refusals[refused.Code], string(refused.Code), refused.Message)
	case errors.As(err, &denied):
		return problem(denied.Status, denied.Code, denied.Message)
	case errors.As(err, &tooLarge):
		return problem(http.StatusRequestEntityTooLarge, "request_too_large", "the body is larger than 1 MiB; select fewer runs at once")
	case errors.Is(err, idempotency.ErrInvalidKey):
		return problem(http.StatusBadRequest, idempotency.CodeInvalidKey, err.Error())
	case errors.Is(err, idempotency.ErrMismatch):
		return problem(http.StatusConflict, idempotency.CodeMismatch, "this key belongs to a request with another path or body; repeat that request, or use a new key")
	case errors.Is(err, idempotency.ErrInProgress):
		return problem(http.StatusConflict, idempotency.CodeInProgress, "the first request with this key is still running; repeat it with the same key after Retry-After")
	case errors.Is(err, idempotency.ErrReplyTooLarge):
		return problem(http.StatusInternalServerError, idempotency.CodeReplyTooLarge, "the action was done, and its answer is too large to be kept; ask for the runs")
	case errors.Is(err, idempotency.ErrOutcomeUnknown), errors.Is(err, idempotency.ErrUnavailable), errors.Is(err, ledger.ErrUnavailable),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return problem(http.StatusServiceUnavailable, "ledger_unavailable", "the ledger did not answer in time; repeat the request after Retry-After, a POST with the same key")
	}
	return problem(http.StatusInternalServerError, "internal", "the server failed; its log says why")
}

// fail answers with the problem that an error is.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	gone := errors.Is(err, context.Canceled) && r.Context().Err() != nil // the client, before its answer
	if p.Status >= http.StatusInternalServerError && !gone {
		s.log.Error("API request failed", "method", r.Method, "path", r.URL.Path, "status", p.Status, "code", p.Code, "error", err)
	}
	writeProblem(w, p)
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	h := w.Header()
	switch {
	case p.Status == http.StatusServiceUnavailable, p.Status == http.StatusTooManyRequests, p.Code == idempotency.CodeInProgress:
		h.Set("Retry-After", "1")
	case p.Status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="cronce"`)
	}
	writeJSON(w, "application/problem+json", p.Status, p)
}

// write answers with JSON; with a tag, a client that has it gets 304.
func (s *server) write(w http.ResponseWriter, r *http.Request, v any, tagged bool) {
	text, err := encode(v)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if tagged {
		sum := sha256.Sum256(text)
		tag := `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
		w.Header().Set("ETag", tag)
		if hasTag(r, tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(text)
}

// hasTag reports whether the client has the representation of a tag: If-None-Match is
// * or lists the tag, in the weak comparison of RFC 9110, section 13.1.2.
func hasTag(r *http.Request, tag string) bool {
	list := strings.Join(r.Header.Values("If-None-Match"), ",")
	if list == "*" {
		return true
	}
	for given := range strings.SplitSeq(list, ",") {
		if strings.TrimPrefix(strings.TrimSpace(given), "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// encode returns a value as JSON that is safe to print: who reads an answer on a terminal
// sees what people, targets and callers wrote, escaped.
func encode(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return plaintext.JSON(text), err
}

func writeJSON(w http.ResponseWriter, media string, status int, v any) {
	text, err := encode(v)
	if err != nil {
		http.Error(w, "internal", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	w.Write(text)
}
