package idempotencytest

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/purge"
)

// longCases are about the callers of work that outlasts its call.
var longCases = map[string]func(*testing.T, Engine){
	"long work is answered 202 at once, then with its progress, then with its reply": func(t *testing.T, e Engine) {
		p, other := longWork(t, e.Store), longWork(t, e.Other)
		first := post(p, "k", `{}`)
		expect(t, first, http.StatusAccepted, `{"progress":null}`, false)
		if first.Header().Get("Retry-After") != "10" {
			t.Errorf("Retry-After is %q", first.Header().Get("Retry-After"))
		}
		ok(t, p.step(progress(map[string]int{"done": 7})))
		expect(t, post(other, "k", `{}`), http.StatusAccepted, `{"progress":{"done":7}}`, false)
		written(t, e, "paid", 0)
		ok(t, p.end(finish(e)))
		for _, h := range []http.Handler{p, other} {
			w := post(h, "k", `{}`)
			expect(t, w, http.StatusCreated, `"paid"`, true)
			if w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("Content-Type is %q", w.Header().Get("Content-Type"))
			}
		}
		written(t, e, "paid", 1)
		started(t, 1, p)
		started(t, 0, other)
	},
	"a crowd of first requests starts long work once": func(t *testing.T, e Engine) {
		p, other := longWork(t, e.Store), longWork(t, e.Other)
		for _, w := range crowd(8, func(i int) *httptest.ResponseRecorder { return post([]http.Handler{p, other}[i%2], "k", `{}`) }) {
			if w.Code != http.StatusAccepted && w.Code != http.StatusConflict {
				t.Errorf("answered %d %s", w.Code, w.Body)
			}
		}
		if n := p.started.Load() + other.started.Load(); n > 1 {
			t.Errorf("started %d times", n)
		}
	},
	"work that fails frees its key": func(t *testing.T, e Engine) {
		p := longWork(t, e.Store)
		for n, do := range []func(context.Context, *idempotency.Work) error{
			func(context.Context, *idempotency.Work) error { return errNo },
			finish(e),
		} {
			p.until(http.StatusAccepted, func() bool { return int(p.started.Load()) > n })
			_ = p.end(do)
		}
		expect(t, post(p, "k", `{}`), http.StatusCreated, "", true)
		written(t, e, "paid", 1)
	},
	"a final error is the reply of long work": func(t *testing.T, e Engine) {
		p, _ := working(t, e)
		_ = p.end(func(context.Context, *idempotency.Work) error { return idempotency.Final(errNo) })
		p.until(http.StatusUnprocessableEntity, nil)
		started(t, 1, p)
	},
	"long work that returns nil is done": func(t *testing.T, e Engine) {
		p, _ := working(t, e)
		ok(t, p.end(func(context.Context, *idempotency.Work) error { return nil }))
		p.until(http.StatusNoContent, nil)
		started(t, 1, p)
	},
	"another payload is refused while long work goes on, after it, and for a dead worker's key": func(t *testing.T, e Engine) {
		p, other := longWork(t, e.Store), longWork(t, e.Other)
		for n, before := range []func(){
			func() { expect(t, post(p, "k", `{}`), http.StatusAccepted, "", false) },
			func() { e.Age(key("k"), lease) },
			func() { ok(t, p.end(finish(e))) },
		} {
			before()
			if w := post(other, "k", `{"n":1}`); w.Code != http.StatusConflict || n > 3 {
				t.Errorf("state %d: answered %d %s", n, w.Code, w.Body)
			}
		}
		started(t, 0, other)
	},
	"a late request starts no long work, and takes none over": func(t *testing.T, e Engine) {
		late := []string{idempotency.HeaderSendBefore, time.Now().Add(-longDay).UTC().Format(time.RFC3339)}
		p := longWork(t, e.Store)
		expect(t, post(p, "k", `{}`, late...), http.StatusPreconditionFailed, idempotency.CodeTooLate, false)
		expect(t, post(p, "k", `{}`), http.StatusAccepted, "", false)
		expect(t, post(p, "k", `{}`, late...), http.StatusAccepted, "", false)
		e.Age(key("k"), lease)
		expect(t, post(p, "k", `{}`, late...), http.StatusPreconditionFailed, idempotency.CodeTooLate, false)
		ok(t, p.end(finish(e))) // nobody has taken it over
		expect(t, post(p, "k", `{}`, late...), http.StatusCreated, "", true)
		started(t, 1, p)
	},
	"an accepted key is in progress for the other entry points": func(t *testing.T, e Engine) {
		p, _ := working(t, e)
		h := kit(t, e.Other, wait(-1)).Handler(route, pay(e, http.StatusCreated, "paid"))
		expect(t, post(h, "k", `{}`), http.StatusConflict, idempotency.CodeInProgress, false)
		ok(t, p.end(finish(e)))
		expect(t, post(h, "k", `{}`), http.StatusCreated, `"paid"`, true)
		written(t, e, "paid", 1)
	},
	"a dead worker's key stays in progress for the other entry points, until long work takes it over or it expires": func(t *testing.T,
		e Engine) {
		p, other := longWork(t, e.Store), longWork(t, e.Other)
		k := kit(t, e.Other, wait(-1))
		h := k.Handler(route, pay(e, http.StatusCreated, "paid"))
		for _, name := range []string{"k", "expired"} {
			expect(t, post(p, name, `{}`), http.StatusAccepted, "", false)
			e.Age(key(name), lease)
			w := post(h, name, `{}`)
			expect(t, w, http.StatusConflict, idempotency.CodeInProgress, false)
			if w.Header().Get("Retry-After") == "" {
				t.Error("there is no Retry-After")
			}
		}
		expect(t, post(other, "k", `{}`), http.StatusAccepted, "", false)
		ok(t, other.end(finish(e)))
		expect(t, post(h, "k", `{}`), http.StatusCreated, `"paid"`, true)
		e.Age(key("expired"), longDay)
		expect(t, post(h, "expired", `{}`), http.StatusCreated, "paid", false)
		for range 2 { // the workers that were taken for dead
			if err := p.end(finish(e)); !errors.Is(err, idempotency.ErrLeaseLost) {
				t.Errorf("finished without the key: %v", err)
			}
		}
		written(t, e, "paid", 2)
	},
	"an event's accepted key is in progress for Do and Call, also when its worker is dead": func(t *testing.T, e Engine) {
		op := idempotency.Operation{Scope: key("1").Scope, Principal: key("1").Principal, Key: "1"}
		k, other := kit(t, e.Store), kit(t, e.Other, wait(-1))
		inProgress := func(after string) {
			t.Helper()
			if _, _, err := idempotency.Do(t.Context(), other, op,
				func(context.Context) (int, error) { return 0, errNo }); !errors.Is(err, idempotency.ErrInProgress) {
				t.Errorf("%s, Do: %v", after, err)
			}
			effect := idempotency.Effect[int]{Do: func(context.Context) (int, error) { return 0, errNo }}
			if _, _, err := idempotency.Call(t.Context(), other, op, effect); !errors.Is(err, idempotency.ErrInProgress) {
				t.Errorf("%s, Call: %v", after, err)
			}
		}
		_, err := k.DoLong(t.Context(), op, func(context.Context, *idempotency.Work) error {
			inProgress("while it works")
			e.Age(key("1"), lease)
			inProgress("after its lease")
			_, err := other.DoLong(t.Context(), op, finish(e))
			return err
		})
		if err != nil && !errors.Is(err, idempotency.ErrLeaseLost) {
			t.Error(err)
		}
		written(t, e, "paid", 1)
	},
	"an abandoned key expires and is purged": func(t *testing.T, e Engine) {
		p, other := longWork(t, e.Store), longWork(t, e.Other)
		for _, k := range []string{"k", "purged"} {
			expect(t, post(p, k, `{}`), http.StatusAccepted, "", false)
			e.Age(key(k), lease+longDay)
		}
		expect(t, post(other, "k", `{"another":"payload"}`), http.StatusAccepted, `{"progress":null}`, false)
		done, err := e.Store.(purge.Store).PurgeBatch(t.Context(), purge.Batch{Limit: 10})
		if err != nil || done.Rows != 1 {
			t.Errorf("purged %d rows, %v", done.Rows, err)
		}
		expect(t, post(other, "k", `{"another":"payload"}`), http.StatusAccepted, "", false)
	},
	"shutdown waits for long work and starts no more": func(t *testing.T, e Engine) {
		p, _ := working(t, e)
		down := make(chan error, 1)
		go func() { down <- p.kit.Shutdown(context.WithoutCancel(t.Context())) }()
		quick := p.kit.Accept(idempotency.Route{Scope: "route:POST_/quick"}, func(context.Context, *idempotency.Work) error { return nil })
		for deadline := time.Now().Add(maxWait); post(quick, rand.Text(), `{}`).Code != http.StatusServiceUnavailable; {
			if time.Now().After(deadline) {
				t.Fatal("work begins although the process shuts down")
			}
		}
		expect(t, post(p, "k", `{}`), http.StatusAccepted, "", false)
		ok(t, p.end(finish(e)))
		ok(t, <-down)
		written(t, e, "paid", 1)
	},
	"shutdown hands long work over at its deadline, without its progress": func(t *testing.T, e Engine) {
		p, other := working(t, e)
		ok(t, p.step(progress(7)))
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.kit.Shutdown(over); !errors.Is(err, idempotency.ErrShutdown) {
			t.Errorf("shutdown: %v", err)
		}
		expect(t, post(other, "k", `{}`), http.StatusAccepted, "", false)
		ok(t, other.end(func(ctx context.Context, w *idempotency.Work) error { // at once, not when the lease has ended
			if found, err := w.Previous(new(int)); found || err != nil {
				t.Errorf("progress of work that was given up: %t, %v", found, err)
			}
			return finish(e)(ctx, w)
		}))
		written(t, e, "paid", 1)
	},
	"an event with long work is done once": func(t *testing.T, e Engine) {
		op := idempotency.Operation{Scope: "event:report", Key: "1"}
		k, other := kit(t, e.Store), kit(t, e.Other)
		duplicate, err := k.DoLong(t.Context(), op, func(ctx context.Context, w *idempotency.Work) error {
			ok(t, w.Progress(ctx, 1))
			_, err := other.DoLong(ctx, op, func(context.Context, *idempotency.Work) error { return errNo })
			if !errors.Is(err, idempotency.ErrInProgress) {
				t.Errorf("a second delivery: %v", err)
			}
			return finish(e)(ctx, w)
		})
		if err != nil || duplicate {
			t.Fatal(duplicate, err)
		}
		duplicate, err = other.DoLong(t.Context(), op, func(context.Context, *idempotency.Work) error { return errNo })
		if err != nil || !duplicate {
			t.Error(duplicate, err)
		}
		op.Key = "2"
		for n := range 2 {
			duplicate, err = k.DoLong(t.Context(), op, func(context.Context, *idempotency.Work) error { return idempotency.Final(errNo) })
			if final := (*idempotency.FinalError)(nil); !errors.As(err, &final) || duplicate != (n > 0) {
				t.Errorf("final error, delivery %d: duplicate %t, %v", n, duplicate, err)
			}
		}
		op = idempotency.Operation{Scope: key("3").Scope, Principal: key("3").Principal, Key: "3"}
		_, err = k.DoLong(t.Context(), op, func(ctx context.Context, _ *idempotency.Work) error {
			e.Age(key("3"), lease)
			_, err := other.DoLong(ctx, op, func(context.Context, *idempotency.Work) error { return nil })
			ok(t, err)
			return idempotency.Final(errNo)
		})
		if final := (*idempotency.FinalError)(nil); errors.As(err, &final) || !errors.Is(err, idempotency.ErrLeaseLost) {
			t.Errorf("final error of a worker that lost its key: %v", err)
		}
		written(t, e, "paid", 1)
	},
	"a store that is down starts no long work": func(t *testing.T, e Engine) {
		p := longWork(t, e.Down)
		expect(t, post(p, "k", `{}`), http.StatusServiceUnavailable, idempotency.CodeUnavailable, false)
		started(t, 0, p)
	},
}
