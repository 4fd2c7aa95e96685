// Package verify checks that a call was signed by a cronce registry, for this service,
// and with this body. Use its middleware in front of the kit's handlers. [Principal] then
// returns the registry's name:
//
//	keys := verify.RemoteKeys("https://cronce.internal/.well-known/jwks.json")
//	signed := verify.JWT{Issuer: "acme-platform", Audience: "membership", Keys: keys}
//	kit, err := idempotency.New(store, idempotency.Options{Principal: verify.Principal})
//	mux.Handle("POST /v1/release", signed.Middleware(kit.Handler(...)))
//
// [JWT] checks the auth type jwt, [HMAC] the auth type hmac (Standard Webhooks). Both
// sign the idempotency key. So a recorded call that is sent again has the same key and no
// second effect; with another key it is refused. Neither signs the route: use TLS.
//
// The package needs only the standard library and the kit.
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

// ErrRefused reports that the signature of a call is not valid for its sender, this
// service or its body. Errors that wrap it say why, and contain nothing of the call.
var ErrRefused = errors.New("signature refused")

// ErrUnavailable reports that a call cannot be verified at the moment, because the keys
// cannot be read.
var ErrUnavailable = errors.New("keys unavailable")

// CodeUnavailable is the code of the problem with status 503 for a call that cannot be
// verified, because the keys cannot be read.
const CodeUnavailable = "verification_keys_unavailable"

// CodeRefused is the code of the problem with status 401 for a refused call.
const CodeRefused = "signature_refused"

type principalKey struct{}

// Principal returns the caller that a middleware of this package has verified. It is
// for [idempotency.Options]. Without a middleware of this package it returns an error.
func Principal(r *http.Request) (string, error) {
	if p, ok := r.Context().Value(principalKey{}).(string); ok {
		return p, nil
	}
	return "", errors.New("the request is not verified; wrap the handler in the Middleware of verify.JWT or verify.HMAC")
}

// verifier verifies a request whose body is read.
type verifier interface {
	verify(r *http.Request, body []byte) (principal string, err error)
}

// middleware reads the body, at most limit bytes, lets v verify the request, and
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
			refuse(w, r, http.StatusRequestEntityTooLarge, idempotency.CodeRequestTooLarge,
				"Request too large", "the body is longer than this service reads")
			return
		case err != nil:
			refuse(w, r, http.StatusBadRequest, idempotency.CodeInvalidRequest, "Incomplete request", "the body could not be read")
			return
		}
		principal, err := v.verify(r, body)
		switch {
		case errors.Is(err, ErrUnavailable):
			w.Header().Set("Retry-After", retryAfter)
			refuse(w, r, http.StatusServiceUnavailable, CodeUnavailable,
				"Keys unavailable", "the caller's keys cannot be read at the moment; send the same request again")
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
