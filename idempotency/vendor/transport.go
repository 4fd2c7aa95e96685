// Package vendor sends requests to services that understand idempotency keys.
package vendor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/pause"
	"github.com/cronce/cronce/idempotency/internal/vendorkey"
	"github.com/cronce/cronce/idempotency/retryafter"
)

// Transport is an [http.RoundTripper] for vendors that understand an
// idempotency key. Every mutation gets one, the same on each of its retries:
// the key that the request has already, else that of the [idempotency.Call] whose context it
// carries, else a random one.
//
// Retried are network errors, attempts past AttemptTimeout, 408, 425, 429 and
// 5xx, and a 409 that says when to come back. Every other answer is final and
// returned as it is; so is the last one when the retries are used up. The zero
// Transport is ready, and safe for concurrent use.
//
// It has no circuit breaker: put one into Base, where it counts attempts of all
// operations, and let its refusal wrap [idempotency.ErrNotDone].
type Transport struct {
	Base http.RoundTripper // default http.DefaultTransport
	// Header carries the key; default Idempotency-Key.
	Header string
	// Backoff is the wait before each retry; default 500ms, 2s, 5s, 30s. An
	// empty, non-nil slice: no retries.
	Backoff []time.Duration
	// Jitter spreads each wait by up to this fraction either way; default 0.2,
	// negative: none.
	Jitter float64
	// MaxRetryAfter caps what a vendor may ask for in Retry-After; default 5m.
	MaxRetryAfter time.Duration
	// AttemptTimeout bounds one attempt, its body's reading included; default
	// 30s.
	AttemptTimeout time.Duration
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readAll(r)
	if err != nil {
		return nil, err
	}
	header := cmp.Or(t.Header, idempotency.HeaderKey)
	key := r.Header.Get(header)
	if key == "" && mutates(r.Method) {
		key = cmp.Or(vendorkey.Next(r.Context()), rand.Text())
	}
	backoff := t.Backoff
	if backoff == nil {
		backoff = []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second, 30 * time.Second}
	}
	sent := false
	for n := 0; ; n++ {
		response, err := t.attempt(r, header, key, body)
		if refused := errors.Is(err, idempotency.ErrNotDone); !refused {
			sent = true
		} else if sent {
			err = errors.New(err.Error()) // it is about this attempt: an earlier one may have been heard
		}
		if n == len(backoff) || !retryable(response, err) || r.Context().Err() != nil {
			return response, err
		}
		idle := t.pause(backoff[n], response)
		if deadline, ok := r.Context().Deadline(); ok && time.Until(deadline) < idle {
			return response, err
		}
		discard(response)
		if !pause.For(r.Context(), idle) {
			return nil, context.Cause(r.Context())
		}
	}
}

// attempt sends the request once.
func (t *Transport) attempt(r *http.Request, header, key string, body []byte) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), cmp.Or(t.AttemptTimeout, 30*time.Second))
	attempt := r.Clone(ctx)
	if key != "" {
		attempt.Header.Set(header, key)
	}
	if body != nil {
		attempt.Body = io.NopCloser(bytes.NewReader(body))
		attempt.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		attempt.ContentLength = int64(len(body))
	}
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	response, err := base.RoundTrip(attempt)
	if err != nil {
		cancel()
		return nil, err
	}
	response.Request = r
	response.Body = &timedBody{response.Body, cancel}
	return response, nil
}

func (t *Transport) pause(d time.Duration, response *http.Response) time.Duration {
	jitter := cmp.Or(t.Jitter, 0.2)
	if jitter > 0 {
		d += time.Duration(float64(d) * jitter * (2*mathrand.Float64() - 1))
	}
	if response == nil {
		return d
	}
	asked := retryafter.Parse(response.Header.Get("Retry-After"), time.Now())
	return max(d, min(asked, cmp.Or(t.MaxRetryAfter, 5*time.Minute)))
}

func retryable(response *http.Response, err error) bool {
	if err != nil {
		return true
	}
	switch s := response.StatusCode; s {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusConflict:
		return response.Header.Get("Retry-After") != ""
	default:
		return s >= 500
	}
}

func mutates(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return false
	}
	return true
}

// readAll takes the body, which must be sent perhaps several times.
func readAll(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: read the request's body: %w", idempotency.ErrNotDone, err)
	}
	return body, nil
}

// discard frees an answer's connection for the next attempt.
func discard(response *http.Response) {
	if response != nil {
		_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
		_ = response.Body.Close()
	}
}

// timedBody ends its attempt's context when it is closed.
type timedBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *timedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
