// Package verify lets a service check who calls it: that a call was signed by a
// cronce registry, for this service, and with this body. Its middleware stands
// before the kit's handlers, and [Principal] gives them the registry's name:
//
//	signed := verify.JWT{Issuer: "acme-platform", Audience: "membership", Keys: verify.RemoteKeys("https://cronce.internal/.well-known/jwks.json")}
//	kit := idempotency.New(store, idempotency.Options{Principal: verify.Principal})
//	mux.Handle("POST /v1/release", signed.Middleware(kit.Handler(...)))
//
// [JWT] checks auth type jwt, [HMAC] auth type hmac (Standard Webhooks). Both bind
// the idempotency key: a call that is sent again as it was is a repeat of the same
// key, which the kit answers without a second effect, and under another key it is
// refused. Neither binds the route: serve over TLS.
//
// The package uses the standard library alone.
package verify

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/cronce/cronce/idempotency"
)

const (
	// defaultSkew is how far the clocks may be apart.
	defaultSkew = time.Minute
	// defaultMaxBody is the longest body that is read.
	defaultMaxBody = 1 << 20
	// retryAfter is when a caller may try again whose key could not be looked up.
	retryAfter = "5"
)

// ErrRefused is the error of a call whose signature is not valid for its sender,
// this service or its body. Its text says why and repeats nothing of the call.
var ErrRefused = errors.New("signature refused")

// ErrUnavailable is the error of a call that cannot be verified at the moment,
// because the keys could not be read.
var ErrUnavailable = errors.New("keys unavailable")

// CodeUnavailable is the code of the problem that answers a call with 503 while the
// keys cannot be read.
const CodeUnavailable = "verification_keys_unavailable"

// CodeRefused is the code of the problem that answers a refused call, with 401.
const CodeRefused = "signature_refused"

type principalKey struct{}

// Principal returns the caller that a middleware of this package has verified. It is
// for [idempotency.Options]. Without a middleware of this package it returns an error.
func Principal(r *http.Request) (string, error) {
	if p, ok := r.Context().Value(principalKey{}).(string); ok {
		return p, nil
	}
	return "", errors.New("no middleware of package verify stands before this handler")
}

// verifier judges a request whose body is read.
type verifier interface {
	verify(r *http.Request, body []byte) (principal string, err error)
}

// middleware reads the body, at most limit bytes, lets v judge the request, and
// hands it on with its body and its principal.
func middleware(v verifier, limit int64, next http.Handler) http.Handler {
	if limit <= 0 {
		limit = defaultMaxBody
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
		var long *http.MaxBytesError
		switch {
		case errors.As(err, &long):
			refuse(w, r, http.StatusRequestEntityTooLarge, idempotency.CodeRequestTooLarge, "Request too large", "the body is longer than this service reads")
			return
		case err != nil:
			refuse(w, r, http.StatusBadRequest, idempotency.CodeInvalidRequest, "Incomplete request", "the body could not be read")
			return
		}
		principal, err := v.verify(r, body)
		switch {
		case errors.Is(err, ErrUnavailable):
			w.Header().Set("Retry-After", retryAfter)
			refuse(w, r, http.StatusServiceUnavailable, CodeUnavailable, "Keys unavailable", "the caller's keys cannot be read at the moment; send the same request again")
		case err != nil:
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			refuse(w, r, http.StatusUnauthorized, CodeRefused, "Signature refused", err.Error())
		default:
			r = r.WithContext(context.WithValue(r.Context(), principalKey{}, principal))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			next.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, r *http.Request, status int, code, title, detail string) {
	idempotency.WriteProblem(w, r, idempotency.Problem{Type: "about:blank", Title: title, Status: status, Code: code, Detail: detail})
}
