// Package idempotencytest is the test suite of idempotency stores. Run it in the tests of
// an engine of your own; the kit's engines pass it. Each case is named after the rule that
// it tests.
package idempotencytest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

// Engine is an empty database with a store on it, which one case uses, and functions that
// act on the database.
type Engine struct {
	// Store is under test. It must be a [store.Reserver], a [store.Worker],
	// a [store.Checker] and a [purge.Store] too.
	Store store.Store
	// Other is a second store on the same table, as in another process.
	Other store.Store
	// ShortLockWait is like Other, but waits only briefly for a lock of another process.
	// Nil: Other is used.
	ShortLockWait store.Store
	// Down is a store whose database cannot be reached.
	Down store.Store
	// Write makes the effect called name in the transaction that ctx carries.
	// Making one twice is allowed, so that it can be counted.
	Write func(ctx context.Context, name string) error
	// Written counts the committed effects called name.
	Written func(name string) int
	// Age moves all times of a key's row into the past.
	Age func(k idempotency.Key, by time.Duration)
	// Kill breaks the connection of the transaction that ctx carries, so that
	// nothing more can be sent on it.
	Kill func(ctx context.Context)
	// End commits the transaction that ctx carries, or rolls it back, behind
	// the kit's back.
	End func(ctx context.Context, commit bool) error
	// InTx runs fn under a transaction of the caller's own, handed to the
	// store, and then commits or rolls back.
	InTx func(commit bool, fn func(context.Context) error) error
	// CommitAndBegin ends the transaction that ctx carries with a COMMIT, behind the kit's
	// back, and begins another.
	CommitAndBegin func(ctx context.Context) error
	// Sleep runs a statement that takes d, in the transaction that ctx carries. Nil: the
	// database runs in the process itself.
	Sleep func(ctx context.Context, d time.Duration) error
	// ReadLarge reads a result that is larger than the buffers of the network. Nil: as
	// for Sleep.
	ReadLarge func(ctx context.Context) error
	// OneWriter reports whether only one transaction at a time can write.
	OneWriter bool
}

// Run runs all cases in parallel. It calls open once for each case.
func Run(t *testing.T, open func(*testing.T) Engine) {
	for _, group := range []map[string]func(*testing.T, Engine){
		handlerCases, replyCases, headerCases, endedCases, doCases, raceCases, callCases, callLeaseCases,
		longCases, longWorkerCases, purgeCases, readyCases,
	} {
		for rule, check := range group {
			t.Run(rule, func(t *testing.T) {
				t.Parallel()
				check(t, open(t))
			})
		}
	}
}

// maxWait is the time after which a case fails that waits for something. It is long, since
// a busy machine is slow.
const maxWait = time.Minute

// kit makes a kit whose principal is the request's X-Caller, or "caller".
func kit(t *testing.T, s store.Store, change ...func(*idempotency.Options)) *idempotency.Kit {
	t.Helper()
	o := idempotency.Options{Principal: func(r *http.Request) (string, error) {
		if who := r.Header.Get("X-Caller"); who != "" {
			return who, nil
		}
		return "caller", nil
	}, Logger: slog.New(slog.DiscardHandler), Wait: maxWait, StoreTimeout: maxWait}
	for _, c := range change {
		c(&o)
	}
	k, err := idempotency.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func wait(d time.Duration) func(*idempotency.Options) {
	return func(o *idempotency.Options) { o.Wait = d }
}

const scope = "route:POST_/pay"

var route = idempotency.Route{Scope: scope}

func key(value string) idempotency.Key {
	return idempotency.Key{Scope: scope, Principal: "caller", Value: value}
}

// post is one call with a key and a body, and pairs of more headers.
func post(h http.Handler, key, body string, headers ...string) *httptest.ResponseRecorder {
	return do(h, request(key, body, headers...))
}

func request(key, body string, headers ...string) *http.Request {
	r := httptest.NewRequest("POST", "/pay", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// pay is a handler that makes the effect "paid" and then answers.
func pay(e Engine, status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := e.Write(r.Context(), "paid"); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(status)
		w.Write([]byte(body))
	}
}

// expect checks a reply: its status, its problem code or "", and whether it was
// replayed.
func expect(t *testing.T, w *httptest.ResponseRecorder, status int, code string, replayed bool) {
	t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), code) {
		t.Fatalf("answered %d %q, want %d with %q in it", w.Code, w.Body, status, code)
	}
	if got := w.Header().Get("Idempotent-Replayed") == "true"; got != replayed {
		t.Fatalf("replayed: %t, want %t (answer %d %q)", got, replayed, w.Code, w.Body)
	}
}

func written(t *testing.T, e Engine, name string, want int) {
	t.Helper()
	if got := e.Written(name); got != want {
		t.Fatalf("the effect %q was made %d times, want %d", name, got, want)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
