package idempotencytest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/idempotency/store"
)

// crowd makes n calls at once and collects their replies.
func crowd(n int, call func(i int) *httptest.ResponseRecorder) []*httptest.ResponseRecorder {
	replies := make([]*httptest.ResponseRecorder, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			replies[i] = call(i)
		})
	}
	close(start)
	all.Wait()
	return replies
}

// arriving is the payload {}, which tells that its call is about to wait.
type arriving struct{ here *sync.WaitGroup }

func (a arriving) MarshalJSON() ([]byte, error) {
	a.here.Done()
	return []byte("{}"), nil
}

var raceCases = map[string]func(*testing.T, Engine){
	"64 duplicates at once: one effect and 63 identical replies": func(t *testing.T, e Engine) {
		long := wait(time.Minute)
		h := []http.Handler{
			kit(t, e.Store, long).Handler(route, pay(e, 201, "paid once")),
			kit(t, e.Other, long).Handler(route, pay(e, 201, "paid once")),
		}
		fresh := 0
		for _, w := range crowd(64, func(i int) *httptest.ResponseRecorder { return post(h[i%2], "k", `{}`) }) {
			if w.Code != 201 || w.Body.String() != "paid once" || w.Header().Get("Content-Type") != "text/plain" {
				t.Errorf("answered %d %q", w.Code, w.Body)
			}
			if w.Header().Get("Idempotent-Replayed") == "" {
				fresh++
			}
		}
		if fresh != 1 {
			t.Errorf("%d replies were not replays", fresh)
		}
		written(t, e, "paid", 1)
	},
	"a duplicate with another payload is refused when it has waited too": func(t *testing.T, e Engine) {
		for _, other := range []store.Store{e.Store, e.Other} {
			first := kit(t, e.Store)
			second := first
			if other != e.Store {
				second = kit(t, other)
			}
			name := map[bool]string{true: "here", false: "there"}[other == e.Store]
			inside, duplicate := make(chan struct{}), make(chan *httptest.ResponseRecorder)
			go func() {
				<-inside
				duplicate <- post(second.Handler(route, pay(e, 200, "")), name, `{"amount":2}`)
			}()
			post(first.Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(inside)
				ok(t, e.Write(r.Context(), name))
			})), name, `{"amount":1}`)
			expect(t, <-duplicate, 409, "idempotency_key_payload_mismatch", false)
			written(t, e, name, 1)
		}
		written(t, e, "paid", 0)
	},
	"a reply that is stored is given to all who ask at once, even without a wait": func(t *testing.T, e Engine) {
		h := kit(t, e.Store, wait(-1)).Handler(route, pay(e, 201, "paid"))
		expect(t, post(h, "k", `{}`), 201, "paid", false)
		for _, w := range crowd(64, func(int) *httptest.ResponseRecorder { return post(h, "k", `{}`) }) {
			if w.Code != 201 {
				t.Errorf("answered %d %s", w.Code, w.Body)
			}
		}
		for _, w := range crowd(8, func(int) *httptest.ResponseRecorder { return post(h, "k", `[]`) }) {
			if !strings.Contains(w.Body.String(), "payload_mismatch") {
				t.Errorf("answered %d %s", w.Code, w.Body)
			}
		}
	},
	"a duplicate that has waited long enough is told to ask again": func(t *testing.T, e Engine) {
		first := kit(t, e.Store, wait(50*time.Millisecond))
		other := e.Other
		if e.ShortLockWait != nil {
			other = e.ShortLockWait
		}
		for _, second := range []*idempotency.Kit{first, kit(t, other, wait(50*time.Millisecond))} {
			expect(t, post(first.Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				again := post(second.Handler(route, pay(e, 200, "")), "k", `{}`)
				// SQLite cannot tell whose the write lock is.
				if again.Code != 409 && again.Code != 503 || again.Header().Get("Retry-After") == "" {
					t.Errorf("answered %d, Retry-After %q", again.Code, again.Header().Get("Retry-After"))
				}
				w.WriteHeader(http.StatusBadGateway)
			})), "k", `{}`), 502, "", false)
		}
		written(t, e, "paid", 0)
	},
	"the key of work that has fallen silent is free after MaxRun": func(t *testing.T, e Engine) {
		if e.OneWriter {
			t.Skip("this store's lock is its process's")
		}
		// A busy machine may take all of a short MaxRun to write.
		for maxRun := time.Second; !freedAfter(t, e, maxRun); maxRun *= 2 {
			if maxRun > maxWait {
				t.Fatal("the silent work does not come to its write")
			}
		}
	},
	"a handler that blocks for ever does not keep its key from its process": func(t *testing.T, e Engine) {
		if e.OneWriter {
			t.Skip("this store's lock is its process's")
		}
		k := kit(t, e.Store, wait(100*time.Millisecond), func(o *idempotency.Options) { o.StoreTimeout = 2 * time.Second })
		blocked, release, first := make(chan struct{}), make(chan struct{}), make(chan *httptest.ResponseRecorder)
		stuck := k.Handler(idempotency.Route{Scope: scope, MaxRun: time.Second}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(blocked)
			<-release
		}))
		go func() { first <- post(stuck, "k", `{}`) }()
		select {
		case <-blocked:
		case w := <-first:
			t.Fatalf("answered %d %s before it blocked", w.Code, w.Body)
		}
		h := k.Handler(route, pay(e, 201, "paid"))
		for end := time.Now().Add(maxWait); post(h, "k", `{}`).Code != 201; {
			if time.Now().After(end) {
				t.Fatal("the key is not free")
			}
		}
		close(release)
		expect(t, <-first, 503, "", false)
		expect(t, post(h, "k", `{}`), 201, "paid", true)
		written(t, e, "paid", 1)
	},
	"after a failure one of those who wait does the work": func(t *testing.T, e Engine) {
		var mu sync.Mutex
		runs := 0
		h := kit(t, e.Store, wait(time.Minute)).Handler(route, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			runs++
			fail := runs <= 3
			mu.Unlock()
			ok(t, e.Write(r.Context(), "paid"))
			if fail {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}))
		failed := 0
		for _, w := range crowd(16, func(int) *httptest.ResponseRecorder { return post(h, "k", `{}`) }) {
			if w.Code == 500 {
				failed++
			} else if w.Code != 200 {
				t.Errorf("answered %d %s", w.Code, w.Body)
			}
		}
		if failed != 3 || runs != 4 {
			t.Errorf("%d failed in %d runs, want 3 in 4", failed, runs)
		}
		written(t, e, "paid", 1)
	},
	"a look-up sees nothing that is not committed": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		ok(t, e.InTx(true, func(ctx context.Context) error {
			_, err := k.Do(ctx, "s", "k", nil, e.write("inner"))
			ok(t, err)
			for _, asks := range []context.Context{t.Context(), ctx} {
				status, err := e.Store.Lookup(asks, store.Claim{Key: idempotency.Key{Scope: "s", Principal: "-", Value: "k"}})
				if err != nil || status.Record != nil {
					t.Errorf("looked up %+v, %v", status.Record, err)
				}
			}
			return nil
		}))
		written(t, e, "inner", 1)
	},
	"those who wait for work in the caller's transaction learn what becomes of that": func(t *testing.T, e Engine) {
		k := kit(t, e.Store, wait(time.Minute))
		for _, commits := range []bool{true, false} {
			name := map[bool]string{true: "committed", false: "rolled-back"}[commits]
			did, here := make(chan bool, 8), &sync.WaitGroup{}
			ok(t, e.InTx(commits, func(ctx context.Context) error {
				_, err := k.Do(ctx, "s", name, "{}", func(ctx context.Context) error {
					here.Add(cap(did))
					for range cap(did) {
						go func() {
							duplicate, err := k.Do(t.Context(), "s", name, arriving{here}, e.write(name))
							if err != nil {
								t.Error(err)
							}
							did <- !duplicate
						}()
					}
					here.Wait()
					return e.Write(ctx, name)
				})
				return err
			}))
			again := 0
			for range cap(did) {
				if <-did {
					again++
				}
			}
			if want := map[bool]int{true: 0, false: 1}[commits]; again != want {
				t.Errorf("%s: done by %d of those who waited, want %d", name, again, want)
			}
			written(t, e, name, 1)
		}
	},
	"one reclaims an expired key while it is being purged": func(t *testing.T, e Engine) {
		k := kit(t, e.Store, wait(time.Minute))
		h := k.Handler(route, pay(e, 200, ""))
		const rounds = 10
		for n := range rounds {
			post(h, "k", `{}`)
			e.Age(key("k"), 25*time.Hour)
			// Some batches beside the calls; a purge without end would be all
			// that an engine with one writer does.
			purged := make(chan error, 1)
			go func() {
				var failed error
				for range 50 {
					_, err := e.Other.(purge.Store).PurgeBatch(t.Context(), purge.Batch{Limit: 10})
					failed = errors.Join(failed, err)
				}
				purged <- failed
			}()
			for _, w := range crowd(8, func(int) *httptest.ResponseRecorder { return post(h, "k", `{}`) }) {
				expect(t, w, 200, "", w.Header().Get("Idempotent-Replayed") == "true")
			}
			ok(t, <-purged)
			written(t, e, "paid", 2*(n+1))
			e.Age(key("k"), 25*time.Hour)
			_, err := e.Store.(purge.Store).PurgeBatch(t.Context(), purge.Batch{Limit: 10})
			ok(t, err)
		}
	},
}
