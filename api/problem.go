package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
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
		return problem(refused.Code.Status(), string(refused.Code), refused.Message)
	case errors.As(err, &denied):
		return problem(denied.Status, denied.Code, denied.Message)
	case errors.As(err, &tooLarge):
		return problem(http.StatusRequestEntityTooLarge, "request_too_large",
			"the body must be at most 1 MiB; shorten it, or split it into several requests")
	case errors.Is(err, idempotency.ErrInvalidKey):
		return problem(http.StatusBadRequest, idempotency.CodeInvalidKey, err.Error())
	case errors.Is(err, ledger.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return problem(http.StatusServiceUnavailable, "ledger_unavailable",
			"the ledger did not answer in time; repeat the request after Retry-After, a POST with the same key")
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
	case p.Status == http.StatusServiceUnavailable, p.Status == http.StatusTooManyRequests:
		h.Set("Retry-After", "1")
	case p.Status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="cronce"`)
	}
	writeJSON(w, "application/problem+json", p.Status, p)
}

// write answers with JSON; with a tag, a client that has it gets 304.
func (s *server) write(w http.ResponseWriter, r *http.Request, v any, tagged bool) {
	text, err := operations.Encode(v)
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

func writeJSON(w http.ResponseWriter, media string, status int, v any) {
	text, err := operations.Encode(v)
	if err != nil {
		http.Error(w, "internal", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	w.Write(text)
}
