package idempotencytest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

// endedCases are about work that ends the kit's transaction behind its back.
// What it had written may stand, so that the key is used up, whatever becomes
// of the work afterwards.
var endedCases = map[string]func(*testing.T, Engine){
	"work that ends the transaction and then fails is never repeated": func(t *testing.T, e Engine) {
		ends := map[string]func(context.Context) error{
			"commit":   func(ctx context.Context) error { return e.End(ctx, true) },
			"rollback": func(ctx context.Context) error { return e.End(ctx, false) },
		}
		if e.CommitAndBegin != nil {
			ends["chain"] = e.CommitAndBegin
		}
		fails := map[string]http.HandlerFunc{
			"500":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
			"409":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) },
			"404":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
			"panic": func(http.ResponseWriter, *http.Request) { panic("oops") },
		}
		for ending, end := range ends {
			for failing, fail := range fails {
				name := ending + "-" + failing
				h := kit(t, e.Store).Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					ok(t, e.Write(r.Context(), name))
					ok(t, end(r.Context()))
					fail(w, r)
				}))
				for n := range 3 {
					func() {
						defer func() {
							if got := recover(); got != nil && n > 0 {
								t.Errorf("%s: call %d was run", name, n)
							}
						}()
						// The handler's own 404 was recorded for work that may stand.
						if w := post(h, name, `{}`); w.Code < 500 {
							t.Errorf("%s: call %d was answered %d", name, n, w.Code)
						}
					}()
				}
				usedUp(t, e, key(name), name)
			}
		}
	},
	"an error of Do after the end of its transaction uses the key up": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		for n := range 3 {
			_, err := k.Do(t.Context(), scope, "k", nil, func(ctx context.Context) error {
				ok(t, e.Write(ctx, "once"))
				ok(t, e.End(ctx, true))
				return errNo
			})
			if !errors.Is(err, idempotency.ErrTxEnded) || errors.Is(err, errNo) != (n == 0) {
				t.Errorf("call %d: %v", n, err)
			}
		}
		usedUp(t, e, idempotency.Key{Scope: scope, Principal: "-", Value: "k"}, "once")
	},
	"work over MaxRun that has ended its transaction uses the key up": func(t *testing.T, e Engine) {
		// A busy machine may take all of a short MaxRun to come to the end.
		for maxRun := 50 * time.Millisecond; maxRun <= maxWait; maxRun *= 2 {
			name, ended := maxRun.String(), false
			w := post(kit(t, e.Store).Handler(idempotency.Route{Scope: scope, MaxRun: maxRun},
				http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					ended = e.Write(r.Context(), name) == nil && e.End(r.Context(), true) == nil
					<-r.Context().Done()
				})), name, `{}`)
			if !ended {
				continue
			}
			expect(t, w, 500, "transaction_ended_by_handler", false)
			usedUp(t, e, key(name), name)
			return
		}
		t.Error("the work never came to its end")
	},
	"work that commits its transaction and loses its connection uses the key up": func(t *testing.T, e Engine) {
		for _, status := range []int{201, 500} {
			name := strconv.Itoa(status)
			h := kit(t, e.Store).Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ok(t, e.Write(r.Context(), name))
				ok(t, e.End(r.Context(), true))
				e.Kill(r.Context())
				w.WriteHeader(status)
			}))
			expect(t, post(h, name, `{}`), 500, "transaction_ended_by_handler", false)
			expect(t, post(h, name, `{}`), 500, "", true)
			usedUp(t, e, key(name), name)
		}
	},
	"work that ends its transaction and is cut short in a statement uses the key up": func(t *testing.T, e Engine) {
		if e.Sleep == nil {
			return
		}
		ends := map[string]func(context.Context) error{"commit": func(ctx context.Context) error { return e.End(ctx, true) }}
		if e.CommitAndBegin != nil {
			ends["chain"] = e.CommitAndBegin
		}
		for ending, end := range ends {
			for maxRun := 100 * time.Millisecond; maxRun <= maxWait; maxRun *= 2 {
				name, ended := ending+maxRun.String(), false
				h := kit(t, e.Store).Handler(idempotency.Route{Scope: scope, MaxRun: maxRun},
					http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
						if ended = e.Write(r.Context(), name) == nil && end(r.Context()) == nil; ended {
							_ = e.Sleep(r.Context(), 2*maxWait)
						}
					}))
				if w := post(h, name, `{}`); w.Code < 500 {
					t.Errorf("%s: answered %d", name, w.Code)
				}
				if ended {
					usedUp(t, e, key(name), name)
					break
				}
			}
		}
	},
}

// usedUp expects that a key has no more than one effect, that nothing runs under
// it again, and that its row is purged some day.
func usedUp(t *testing.T, e Engine, k idempotency.Key, name string) {
	t.Helper()
	if n := e.Written(name); n > 1 {
		t.Errorf("%s: %d effects", name, n)
	}
	status, err := e.Store.Lookup(t.Context(), store.Claim{Key: k})
	ok(t, err)
	if status.Record == nil || status.Record.State != store.StateOmitted || status.Record.ExpiresAt.IsZero() {
		t.Errorf("%s: its record is %+v", name, status.Record)
	}
}
