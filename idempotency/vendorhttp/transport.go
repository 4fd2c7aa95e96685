// Package vendorhttp provides an HTTP transport that sends and retries requests with
// idempotency keys. Use it in an [idempotency.Call] to a payment provider or another
// service that understands such keys.
package vendorhttp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/pause"
	"github.com/cronce/cronce/idempotency/internal/vendorkey"
	"github.com/cronce/cronce/idempotency/retryafter"
)

// Transport is an [http.RoundTripper] for services that understand idempotency keys. It
// sends a key with every request that is not a GET, HEAD, OPTIONS or TRACE, the same on
// each retry and through redirects. That is the key that the request already has, or the
// key of the [idempotency.Call] whose context it carries. Without either it refuses the
// request with [ErrNoKey] and sends nothing: under a random key a caller that repeats the
// request, after an error or a crash, would get a second effect.
//
// It retries network errors, attempts that exceed AttemptTimeout, 408, 425, 429 and 5xx,
// and a 409 with Retry-After. It returns every other answer, and the last one when no
// retry is left. The zero Transport is ready to use. A Transport is safe for concurrent
// use.
//
// The body of a request is read into memory, for the retries.
//
// It has no circuit breaker. Use one as Base, where it counts the attempts of all
// operations. Only the error with which the breaker refuses a request, before sending it,
// must wrap [idempotency.ErrNotDone].
type Transport struct {
	Base http.RoundTripper // default http.DefaultTransport
	// Header is the name of the header with the key; default Idempotency-Key.
	Header string
	// Backoff is the wait before each retry; default 500ms, 2s, 5s, 30s. An
	// empty, non-nil slice: no retries.
	Backoff []time.Duration
	// Jitter is the largest random change of each wait, as a fraction in both
	// directions; default 0.2. Negative: none.
	Jitter float64
	// MaxRetryAfter is the longest wait that a vendor may ask for; default 5m.
	MaxRetryAfter time.Duration
	// AttemptTimeout is the time limit of one attempt, with reading the body; default
	// 30s.
	AttemptTimeout time.Duration
}

// ErrNoKey refuses a request that changes something and has no key.
var ErrNoKey = errors.New("the request has no idempotency key and was not sent; send it in idempotency.Call with the context of Do, or set its " +
	"header to a key that each repetition has again")

// RoundTrip sends a request and its retries, as the Transport describes. It implements
// [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := vendorkey.Sent(r.Context())
	if r.Response != nil {
		sent.Add(1) // the request that was redirected
	}
	response, err := t.send(r, sent)
	if errors.Is(err, idempotency.ErrNotDone) && sent.Load() > 0 {
		err = errors.New(err.Error()) // it is about this attempt: an earlier one may have been heard
	}
	return response, err
}

// send sends a request until it needs no retry, or has none left.
func (t *Transport) send(r *http.Request, sent *atomic.Int64) (*http.Response, error) {
	body, err := readAll(r)
	if err != nil {
		return nil, err
	}
	header := cmp.Or(t.Header, idempotency.HeaderKey)
	key := keyOf(r, header)
	if key == "" && mutates(r.Method) {
		return nil, ErrNoKey
	}
	backoff := t.Backoff
	if backoff == nil {
		backoff = []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second, 30 * time.Second}
	}
	for n := 0; ; n++ {
		if mutates(r.Method) {
			sent.Add(1)
		}
		response, err := t.attempt(r, header, key, body)
		if mutates(r.Method) && errors.Is(err, idempotency.ErrNotDone) {
			sent.Add(-1)
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

// keyOf returns the key of a request. One to which a client was redirected is the same operation as the request
// before it.
func keyOf(r *http.Request, header string) string {
	switch key := r.Header.Get(header); {
	case key != "" || !mutates(r.Method):
		return key
	case r.Response == nil:
		return vendorkey.Next(r.Context())
	case r.Response.Request == nil:
		return ""
	default:
		return r.Response.Request.Header.Get(header)
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
	response.Request = attempt.WithContext(r.Context()) // with the key, for keyOf
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
