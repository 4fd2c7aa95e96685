package vendorhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/internal/vendorkey"
	"github.com/cronce/cronce/idempotency/vendorhttp"
)

// fake is a vendor that answers each attempt with the next of its answers, and the last one
// for ever: a status, or 0 for a broken connection.
type fake struct {
	answers []int
	header  http.Header
	keys    []string
	bodies  []string
	at      []time.Duration
	start   time.Time
}

func (v *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	if v.start.IsZero() {
		v.start = time.Now()
	}
	n := min(len(v.keys), len(v.answers)-1)
	v.keys = append(v.keys, r.Header.Get("Idempotency-Key"))
	v.at = append(v.at, time.Since(v.start))
	if r.Body != nil {
		body, _ := io.ReadAll(r.Body)
		v.bodies = append(v.bodies, string(body))
	}
	if v.answers[n] == 0 {
		return nil, errors.New("connection reset")
	}
	return &http.Response{StatusCode: v.answers[n], Header: v.header, Body: io.NopCloser(strings.NewReader("answer"))}, nil
}

// post sends a request with the key of a Call, or with that of the context.
func post(t *testing.T, tr *vendorhttp.Transport, ctx context.Context) (int, error) {
	t.Helper()
	if vendorkey.Of(ctx) == "" {
		ctx = vendorkey.With(ctx, "key")
	}
	r, err := http.NewRequestWithContext(ctx, "POST", "http://vendor.test/charges", io.NopCloser(strings.NewReader("amount=100")))
	if err != nil {
		t.Fatal(err)
	}
	w, err := (&http.Client{Transport: tr}).Do(r)
	if err != nil {
		return 0, err
	}
	defer w.Body.Close()
	if body, err := io.ReadAll(w.Body); err != nil || string(body) != "answer" {
		t.Errorf("read %q, %v", body, err)
	}
	return w.StatusCode, nil
}

func TestTransportRetriesWhatMayPassAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		name     string
		answers  []int
		header   http.Header
		status   int
		attempts int
	}{
		{"200 is final", []int{200}, nil, 200, 1},
		{"400 is final", []int{400}, nil, 400, 1},
		{"402 is final", []int{402}, nil, 402, 1},
		{"409 is final", []int{409}, nil, 409, 1},
		{"409 with Retry-After is not", []int{409, 200}, http.Header{"Retry-After": {"1"}}, 200, 2},
		{"422 is final", []int{422}, nil, 422, 1},
		{"302 is final", []int{302}, nil, 302, 1},
		{"broken connections, then 200", []int{0, 0, 200}, nil, 200, 3},
		{"500, 429, 408, 425, then 200", []int{500, 429, 408, 425, 200}, nil, 200, 5},
		{"503 to the end", []int{503}, nil, 503, 5},
		{"500, then 402", []int{500, 402}, nil, 402, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &fake{answers: c.answers, header: c.header}
				status, err := post(t, &vendorhttp.Transport{Base: v}, t.Context())
				if err != nil || status != c.status || len(v.keys) != c.attempts {
					t.Errorf("%d after %d attempts (%v), want %d after %d", status, len(v.keys), err, c.status, c.attempts)
				}
				for i, key := range v.keys {
					if key == "" || key != v.keys[0] || v.bodies[i] != "amount=100" {
						t.Errorf("attempt %d: key %q body %q", i, key, v.bodies[i])
					}
				}
			})
		})
	}
}

func TestTransportWaitsAsConfiguredOrAsAsked(t *testing.T) {
	for _, c := range []struct {
		name       string
		retryAfter string
		want       []time.Duration
	}{
		{"the backoff", "", []time.Duration{0, 500 * time.Millisecond, 2500 * time.Millisecond, 7500 * time.Millisecond, 37500 * time.Millisecond}},
		{"Retry-After in seconds when longer", "3", []time.Duration{0, 3 * time.Second, 6 * time.Second, 11 * time.Second, 41 * time.Second}},
		{"Retry-After as a date", "Sat, 01 Jan 2000 00:00:10 GMT", []time.Duration{0, 10 * time.Second, 12 * time.Second, 17 * time.Second, 47 * time.Second}},
		{"Retry-After up to MaxRetryAfter", "999999", []time.Duration{0, time.Minute, 2 * time.Minute, 3 * time.Minute, 4 * time.Minute}},
		{"nonsense is ignored", "soon", []time.Duration{0, 500 * time.Millisecond, 2500 * time.Millisecond, 7500 * time.Millisecond, 37500 * time.Millisecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &fake{answers: []int{503}, header: http.Header{"Retry-After": {c.retryAfter}}}
				tr := &vendorhttp.Transport{Base: v, Jitter: -1, MaxRetryAfter: time.Minute}
				if _, err := post(t, tr, t.Context()); err != nil {
					t.Fatal(err)
				}
				for i, at := range v.at {
					if at != c.want[i] {
						t.Errorf("attempt %d after %v, want %v", i, at, c.want[i])
					}
				}
			})
		})
	}
}

func TestTransportJitterStaysInItsBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 50 {
			v := &fake{answers: []int{503, 200}}
			if _, err := post(t, &vendorhttp.Transport{Base: v}, t.Context()); err != nil {
				t.Fatal(err)
			}
			if at := v.at[1]; at < 400*time.Millisecond || at > 600*time.Millisecond {
				t.Errorf("waited %v", at)
			}
			seen[v.at[1]] = true
		}
		if len(seen) < 10 {
			t.Errorf("only %d different waits", len(seen))
		}
	})
}

func TestTransportDoesNotWaitPastTheCallersDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		v := &fake{answers: []int{503}}
		status, err := post(t, &vendorhttp.Transport{Base: v, Jitter: -1}, ctx)
		if err != nil || status != 503 || len(v.keys) != 2 || time.Since(v.start) > time.Second {
			t.Errorf("%d %v, %d attempts, %v", status, err, len(v.keys), time.Since(v.start))
		}
	})
}

// One operation's retries say nothing of the next operation.
func TestTransportSendsAnOperationWhoseHostHasFailedAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &fake{answers: []int{503, 503, 503, 503, 503, 200}}
		tr := &vendorhttp.Transport{Base: v}
		for _, want := range []int{503, 200} {
			if status, err := post(t, tr, t.Context()); err != nil || status != want {
				t.Errorf("%d %v, want %d", status, err, want)
			}
		}
	})
}

// breaker is one of the user's own: it refuses the attempts that are false, and
// breaks the connection of those that are true.
type breaker struct{ attempts []bool }

func (b *breaker) RoundTrip(*http.Request) (*http.Response, error) {
	sent := b.attempts[0]
	b.attempts = b.attempts[1:]
	if sent {
		return nil, errors.New("connection reset")
	}
	return nil, fmt.Errorf("%w: the circuit breaker is open", idempotency.ErrNotDone)
}

// An attempt that was refused before it was sent says nothing of those before it.
func TestTransportIsNotDoneOnlyIfNoAttemptWasSent(t *testing.T) {
	for _, c := range []struct {
		attempts []bool
		notDone  bool
	}{
		{[]bool{false, false, false, false, false}, true},
		{[]bool{true, false, false, false, false}, false},
		{[]bool{false, false, true, false, false}, false},
		{[]bool{false, false, false, false, true}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, err := post(t, &vendorhttp.Transport{Base: &breaker{c.attempts}}, t.Context())
			if err == nil || errors.Is(err, idempotency.ErrNotDone) != c.notDone {
				t.Errorf("%v: %v, certainly not done: want %t", c.attempts, err, c.notDone)
			}
		})
	}
}

// A Call is not certainly not made if one of its requests was sent, or is under way.
func TestTransportIsNotDoneOnlyIfNoRequestOfTheCallWasSent(t *testing.T) {
	for _, c := range []struct {
		first   string // the method of the request before
		sent    bool
		notDone bool
	}{{"POST", true, false}, {"POST", false, true}, {"GET", true, true}} {
		ctx := vendorkey.With(t.Context(), "order")
		tr := &vendorhttp.Transport{Base: &breaker{[]bool{c.sent, false}}, Backoff: []time.Duration{}}
		var err error
		for _, method := range []string{c.first, "POST"} {
			r, _ := http.NewRequestWithContext(ctx, method, "http://vendor.test/", nil)
			_, err = tr.RoundTrip(r)
		}
		if err == nil || errors.Is(err, idempotency.ErrNotDone) != c.notDone {
			t.Errorf("after a %s, sent: %t: %v, certainly not done: want %t", c.first, c.sent, err, c.notDone)
		}
	}
}

func TestTransportKeepsTheKeyOfARequest(t *testing.T) {
	v := &fake{answers: []int{200}}
	r, _ := http.NewRequestWithContext(vendorkey.With(t.Context(), "order"), "POST", "http://vendor.test/", nil)
	r.Header.Set("Idempotency-Key", "mine")
	g, _ := http.NewRequest("GET", "http://vendor.test/", nil)
	for _, r := range []*http.Request{r, g} {
		if _, err := (&vendorhttp.Transport{Base: v}).RoundTrip(r); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"mine", ""}; !slices.Equal(v.keys, want) {
		t.Errorf("keys %q, want %q", v.keys, want)
	}
}

// A caller that repeats a request without a key would do it twice, whatever key the transport drew.
func TestTransportRefusesARequestWithoutAKey(t *testing.T) {
	v := &fake{answers: []int{200}}
	r, _ := http.NewRequest("POST", "http://vendor.test/", strings.NewReader("amount=100"))
	_, err := (&vendorhttp.Transport{Base: v}).RoundTrip(r)
	if !errors.Is(err, vendorhttp.ErrNoKey) || errors.Is(err, idempotency.ErrNotDone) || len(v.keys) > 0 {
		t.Errorf("%v, keys %q; want ErrNoKey alone: a Call that forgot the context may have sent a request before", err, v.keys)
	}
}

// A retry of the call sends them in the same order, and so under the same keys.
func TestTransportNumbersTheRequestsOfOneCall(t *testing.T) {
	v := &fake{answers: []int{200}}
	tr := &vendorhttp.Transport{Base: v}
	for range 2 {
		ctx := vendorkey.With(t.Context(), "order")
		for range 2 {
			if _, err := post(t, tr, ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := []string{"order", "order-2", "order", "order-2"}; !slices.Equal(v.keys, want) {
		t.Errorf("keys %q, want %q", v.keys, want)
	}
}

// regions is a vendor whose first region loses the answer to a request, and then redirects to the second.
type regions struct {
	breaker bool // refuses what is sent to the second
	keys    []string
}

func (v *regions) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == "b.test" && v.breaker {
		return nil, fmt.Errorf("%w: the circuit breaker is open", idempotency.ErrNotDone)
	}
	v.keys = append(v.keys, r.Header.Get("Idempotency-Key"))
	switch {
	case len(v.keys) == 1:
		return nil, errors.New("connection reset")
	case r.URL.Host == "b.test":
		return &http.Response{StatusCode: 201, Body: io.NopCloser(strings.NewReader("answer"))}, nil
	}
	header := http.Header{"Location": {"http://b.test/charges"}}
	return &http.Response{StatusCode: 307, Header: header, Body: http.NoBody}, nil
}

func charge(t *testing.T, tr http.RoundTripper) (*http.Response, error) {
	r, err := http.NewRequestWithContext(vendorkey.With(t.Context(), "order"), "POST", "http://a.test/charges", strings.NewReader("amount=100"))
	if err != nil {
		t.Fatal(err)
	}
	return (&http.Client{Transport: tr}).Do(r)
}

// A redirected request is the same operation: under another key the vendor would do it twice.
func TestTransportKeepsTheKeyThroughARedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &regions{}
		w, err := charge(t, &vendorhttp.Transport{Base: v})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Body.Close()
		if want := []string{"order", "order", "order"}; !slices.Equal(v.keys, want) || w.Request.Context().Err() != nil {
			t.Errorf("keys %q, want %q; context of the request: %v", v.keys, want, w.Request.Context().Err())
		}
	})
}

// What is not done after a redirect may have been done before it.
func TestTransportIsNotCertainlyNotDoneAfterARedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tr := range map[string]http.RoundTripper{
			"refused by the breaker": &vendorhttp.Transport{Base: &regions{breaker: true}},
			"the key was lost":       unkeyed{&vendorhttp.Transport{Base: &regions{}}},
		} {
			if _, err := charge(t, tr); err == nil || errors.Is(err, idempotency.ErrNotDone) {
				t.Errorf("%s: %v, want an error that is not ErrNotDone", name, err)
			}
		}
	})
}

// unkeyed answers with the caller's request, which has no key.
type unkeyed struct{ base http.RoundTripper }

func (u unkeyed) RoundTrip(r *http.Request) (*http.Response, error) {
	w, err := u.base.RoundTrip(r)
	if err == nil {
		w.Request = r
	}
	return w, err
}
