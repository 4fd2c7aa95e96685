package idempotencytest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

var handlerCases = map[string]func(*testing.T, Engine){
	"another payload under the key is refused": func(t *testing.T, e Engine) {
		h := kit(t, e.Store).Handler(route, pay(e, 200, ""))
		post(h, "k", `{"amount":1}`)
		expect(t, post(h, "k", `{"amount":2}`), 409, "idempotency_key_payload_mismatch", false)
		draft := kit(t, e.Store, func(o *idempotency.Options) { o.MismatchStatus = 422 }).Handler(route, pay(e, 200, ""))
		expect(t, post(draft, "k", `{"amount":2}`), 422, "idempotency_key_payload_mismatch", false)
		written(t, e, "paid", 1)
	},
	"the same JSON in another order and spacing is the same payload": func(t *testing.T, e Engine) {
		h := kit(t, e.Store).Handler(route, pay(e, 200, ""))
		post(h, "k", `{"a":1,"b":[true,null]}`)
		expect(t, post(h, "k", "{ \"b\": [true, null],\n\"a\": 1.0 }"), 200, "", true)
	},
	"a key is bound to its route": func(t *testing.T, e Engine) {
		k, mux := kit(t, e.Store), http.NewServeMux()
		mux.Handle("POST /pay", k.Handler(idempotency.Route{}, pay(e, 200, "")))
		mux.Handle("POST /refund", k.Handler(idempotency.Route{}, pay(e, 200, "")))
		expect(t, post(mux, "k", `{}`), 200, "", false)
		r := request("k", `{}`)
		r.URL.Path = "/refund"
		expect(t, do(mux, r), 200, "", false)
		written(t, e, "paid", 2)
	},
	"two principals' keys never meet": func(t *testing.T, e Engine) {
		h := kit(t, e.Store).Handler(route, pay(e, 200, ""))
		expect(t, post(h, "k", `{}`, "X-Caller", "alice"), 200, "", false)
		expect(t, post(h, "k", `{}`, "X-Caller", "bob"), 200, "", false)
		expect(t, post(h, "k", `{}`, "X-Caller", "alice"), 200, "", true)
		written(t, e, "paid", 2)
	},
	"keys, scopes and principals are compared byte by byte": func(t *testing.T, e Engine) {
		h := kit(t, e.Store).Handler(route, pay(e, 200, ""))
		for _, k := range []string{"k", "K", `"k "`} {
			expect(t, post(h, k, `{}`), 200, "", false)
		}
		expect(t, post(h, "k", `{}`, "X-Caller", "caller "), 200, "", false)
		written(t, e, "paid", 4)
	},
	"errors that may pass leave the key free and no effect": func(t *testing.T, e Engine) {
		for _, status := range []int{401, 403, 409, 425, 429, 500, 503} {
			name := strconv.Itoa(status)
			k := kit(t, e.Store)
			expect(t, post(k.Handler(route, pay(e, status, "")), name, `{}`), status, "", false)
			written(t, e, "paid", 0)
			if found, err := e.Store.Lookup(t.Context(), store.Claim{Key: key(name)}); err != nil || found.Record != nil {
				t.Errorf("%d was stored (%v)", status, err)
			}
		}
	},
	"final errors are stored without the handler's writes": func(t *testing.T, e Engine) {
		for _, status := range []int{400, 404, 410, 413, 415, 422} {
			h := kit(t, e.Store).Handler(route, pay(e, status, "no"))
			name := strconv.Itoa(status)
			expect(t, post(h, name, `{}`), status, "no", false)
			expect(t, post(h, name, `{}`), status, "no", true)
		}
		written(t, e, "paid", 0)
	},
	"a policy decides what is stored": func(t *testing.T, e Engine) {
		all := idempotency.Route{Scope: scope, Policy: func(int) idempotency.Disposition { return idempotency.Commit }}
		h := kit(t, e.Store).Handler(all, pay(e, 503, "kept"))
		post(h, "k", `{}`)
		expect(t, post(h, "k", `{}`), 503, "kept", true)
		written(t, e, "paid", 1)
	},
	"a panic leaves the key free and no effect, and goes on": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		func() {
			defer func() {
				if recover() != "oops" {
					t.Error("the panic was swallowed")
				}
			}()
			post(k.Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ok(t, e.Write(r.Context(), "paid"))
				panic("oops")
			})), "k", `{}`)
		}()
		written(t, e, "paid", 0)
		expect(t, post(k.Handler(route, pay(e, 200, "")), "k", `{}`), 200, "", false)
	},
	"a status that HTTP does not have leaves the key free and no effect": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		for _, status := range []int{-1, 0, 99, 1000} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("status %d was let pass", status)
					}
				}()
				post(k.Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					ok(t, e.Write(r.Context(), "paid"))
					w.WriteHeader(status)
				})), "k", `{}`)
			}()
		}
		written(t, e, "paid", 0)
		expect(t, post(k.Handler(route, pay(e, 200, "")), "k", `{}`), 200, "", false)
	},
	"a client that leaves does not stop the work": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		ctx, leave := context.WithCancel(t.Context())
		do(k.Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			leave()
			ok(t, e.Write(r.Context(), "paid"))
		})), request("k", `{}`).WithContext(ctx))
		written(t, e, "paid", 1)
		expect(t, post(k.Handler(route, pay(e, 200, "")), "k", `{}`), 200, "", true)
	},
	"work past MaxRun is rolled back and answered 503": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		// A busy machine may take all of a short MaxRun to write.
		for maxRun, wrote := 50*time.Millisecond, errNo; wrote != nil; maxRun *= 2 {
			if maxRun > maxWait {
				t.Fatal(wrote)
			}
			expect(t, post(k.Handler(idempotency.Route{Scope: scope, MaxRun: maxRun}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				wrote = e.Write(r.Context(), "paid")
				<-r.Context().Done()
			})), "k", `{}`), 503, "run_too_long", false)
			written(t, e, "paid", 0)
		}
		expect(t, post(k.Handler(route, pay(e, 200, "")), "k", `{}`), 200, "", false)
	},
	"a call past its send-before time starts nothing": func(t *testing.T, e Engine) {
		h := kit(t, e.Store).Handler(route, pay(e, 200, ""))
		past := time.Now().Add(-time.Second).UTC().Format(time.RFC3339Nano)
		expect(t, post(h, "k", `{}`, "Cronce-Send-Before", past), 412, "run_too_late", false)
		written(t, e, "paid", 0)
		future := time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
		expect(t, post(h, "k", `{}`, "Cronce-Send-Before", future), 200, "", false)
		// Nothing is done for a reply that is known: the caller learns the truth.
		expect(t, post(h, "k", `{}`, "Cronce-Send-Before", past), 200, "", true)
		expect(t, post(h, "k2", `{}`, "Cronce-Send-Before", "soon"), 400, "invalid_idempotency_request", false)
	},
	"a late call for an expired key is refused, not run again": func(t *testing.T, e Engine) {
		h := kit(t, e.Store).Handler(route, pay(e, 200, ""))
		post(h, "k", `{}`)
		e.Age(key("k"), 25*time.Hour)
		past := time.Now().Add(-time.Second).UTC().Format(time.RFC3339Nano)
		expect(t, post(h, "k", `{}`, "Cronce-Send-Before", past), 412, "run_too_late", false)
		written(t, e, "paid", 1)
	},
	"an expired key is reclaimed before it is purged": func(t *testing.T, e Engine) {
		h := kit(t, e.Store).Handler(route, pay(e, 200, ""))
		post(h, "k", `{"first":1}`)
		e.Age(key("k"), 24*time.Hour) // exactly at its expiry time, or a moment later
		expect(t, post(h, "k", `{"second":1}`), 200, "", false)
		expect(t, post(h, "k", `{"second":1}`), 200, "", true)
		written(t, e, "paid", 2)
	},
	// Its reply would be sent before that transaction is committed.
	"a handler in the caller's transaction is refused": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		ok(t, e.InTx(true, func(ctx context.Context) error {
			w := do(k.Handler(route, pay(e, 201, "")), request("k", `{}`).WithContext(ctx))
			expect(t, w, 500, "idempotency_handler_misplaced", false)
			return nil
		}))
		written(t, e, "paid", 0)
		expect(t, post(k.Handler(route, pay(e, 201, "")), "k", `{}`), 201, "", false)
	},
	"a kit that is mounted twice says so at once": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		inner := k.Handler(route, pay(e, 201, ""))
		for _, outer := range []idempotency.Route{route, {Scope: "route:*"}} {
			expect(t, post(k.Handler(outer, inner), "k", `{}`), 500, "idempotency_handler_misplaced", false)
		}
		written(t, e, "paid", 0)
		expect(t, post(inner, "k", `{}`), 201, "", false)
	},
	"a commit whose answer is lost is known by its owner": func(t *testing.T, e Engine) {
		h := kit(t, deaf{e.Store}).Handler(route, pay(e, 201, "paid"))
		expect(t, post(h, "k", `{}`), 201, "paid", false)
		expect(t, post(h, "k", `{}`), 201, "paid", true)
		written(t, e, "paid", 1)
	},
	"a store that is down refuses mutations and lets reads pass": func(t *testing.T, e Engine) {
		h := kit(t, e.Down).Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("read")) }))
		w := post(h, "k", `{}`)
		expect(t, w, 503, "idempotency_store_unavailable", false)
		if w.Header().Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			if w := do(h, httptest.NewRequest(method, "/pay", nil)); w.Code != 200 {
				t.Errorf("%s: %d", method, w.Code)
			}
		}
	},
	"a connection lost in mid-work leaves neither effect nor key": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		w := post(k.Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ok(t, e.Write(r.Context(), "paid"))
			e.Kill(r.Context())
		})), "k", `{}`)
		if w.Code < 500 {
			t.Fatalf("answered %d for work that cannot have been committed", w.Code)
		}
		written(t, e, "paid", 0)
		expect(t, post(k.Handler(route, pay(e, 200, "")), "k", `{}`), 200, "", false)
		written(t, e, "paid", 1)
	},
	"work that ends the kit's transaction itself is never repeated": func(t *testing.T, e Engine) {
		for _, commit := range []bool{true, false} {
			name := map[bool]string{true: "committed", false: "rolled-back"}[commit]
			k := kit(t, e.Store)
			end := k.Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ok(t, e.Write(r.Context(), name))
				ok(t, e.End(r.Context(), commit))
			}))
			expect(t, post(end, name, `{}`), 500, "transaction_ended_by_handler", false)
			if w := post(k.Handler(route, pay(e, 200, "")), name, `{}`); w.Code < 400 {
				t.Errorf("%s: repeated with %d", name, w.Code)
			}
			if n := e.Written(name); n > 1 {
				t.Errorf("%s: %d effects", name, n)
			}
		}
		written(t, e, "paid", 0)
	},
}

// deaf does not hear the answer to a commit.
type deaf struct{ store.Store }

func (s deaf) Begin(ctx context.Context, c store.Claim) (store.Tx, store.KeyStatus, error) {
	tx, status, err := s.Store.Begin(ctx, c)
	return deafTx{tx}, status, err
}

type deafTx struct{ store.Tx }

func (t deafTx) Commit(ctx context.Context, c store.Claim, r store.Reply) (time.Time, error) {
	if _, err := t.Tx.Commit(ctx, c, r); err != nil {
		return time.Time{}, err
	}
	return time.Time{}, store.ErrUnavailable
}
