package idempotencytest

import (
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/idempotency/store"
)

// fill stores n completed keys, the n-th of which expired n minutes and an
// hour ago, in turn under two scopes.
func fill(t *testing.T, e Engine, n int) {
	t.Helper()
	k := kit(t, e.Store)
	for i := range n {
		name := fmt.Sprintf("expired-%d", i)
		s := []string{"scope-a", "scope-b"}[i%2]
		post(k.Handler(idempotency.Route{Scope: s}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), name, `{}`)
		e.Age(idempotency.Key{Scope: s, Principal: "caller", Value: name}, 25*time.Hour+time.Duration(i)*time.Minute)
	}
}

var purgeCases = map[string]func(*testing.T, Engine){
	"expired keys go in batches, oldest first, until fewer than a batch are left": func(t *testing.T, e Engine) {
		fill(t, e, 7)
		p := e.Store.(purge.Store)
		got := map[string]int64{}
		var after time.Time
		for _, want := range []int{3, 3, 1, 0} {
			done, err := p.PurgeBatch(t.Context(), purge.Batch{Limit: 3, After: after})
			ok(t, err)
			if done.Rows != want || done.Last.Before(after) {
				t.Fatalf("purged %+v after %v, want %d rows", done, after, want)
			}
			after = done.Last
			for s, n := range done.Scopes {
				got[s] += n
			}
		}
		if !maps.Equal(got, map[string]int64{"scope-a": 4, "scope-b": 3}) {
			t.Errorf("per scope: %v", got)
		}
	},
	"a purge can be of one scope": func(t *testing.T, e Engine) {
		fill(t, e, 4)
		done, err := e.Store.(purge.Store).PurgeBatch(t.Context(), purge.Batch{Scope: "scope-a", Limit: 10})
		if err != nil || !maps.Equal(done.Scopes, map[string]int64{"scope-a": 2}) {
			t.Error(done, err)
		}
	},
	"counting removes nothing and agrees with the purge": func(t *testing.T, e Engine) {
		fill(t, e, 5)
		p := e.Store.(purge.Store)
		for range 2 {
			counts, err := p.CountExpired(t.Context(), "")
			if err != nil || !maps.Equal(counts, map[string]int64{"scope-a": 3, "scope-b": 2}) {
				t.Fatal(counts, err)
			}
		}
		counts, err := p.CountExpired(t.Context(), "scope-b")
		if err != nil || !maps.Equal(counts, map[string]int64{"scope-b": 2}) {
			t.Error(counts, err)
		}
	},
	"an unexpired key, one in flight and an unknown one are never purged": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		post(k.Handler(route, pay(e, 200, "")), "live", `{}`)
		e.Age(key("live"), 23*time.Hour)
		c := reserve(t, e, "dead process", 0)
		e.Age(chargeKey, 1000*time.Hour)
		purge := func() {
			t.Helper()
			done, err := e.Other.(purge.Store).PurgeBatch(t.Context(), purge.Batch{Limit: 100})
			if err != nil || done.Rows != 0 {
				t.Fatal(done, err)
			}
		}
		purge()
		if held, err := e.Store.(store.Reserver).MarkUnknown(t.Context(), c); err != nil || !held {
			t.Fatal(held, err)
		}
		e.Age(chargeKey, 1000*time.Hour)
		purge()
		expect(t, post(k.Handler(route, pay(e, 200, "")), "live", `{}`), 200, "", true)
	},
	"what the purge takes for expired the claim does too": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		for _, age := range []time.Duration{24*time.Hour - 10*time.Minute, 24 * time.Hour, 24*time.Hour + time.Second} {
			name := age.String()
			post(k.Handler(route, pay(e, 200, "")), name, `{}`)
			e.Age(key(name), age)
			counts, err := e.Store.(purge.Store).CountExpired(t.Context(), scope)
			ok(t, err)
			status, err := e.Store.Lookup(t.Context(), store.Claim{Key: key(name)})
			ok(t, err)
			if expired := counts[scope] == 1; expired != (status.Record == nil) || expired != (age >= 24*time.Hour) {
				t.Errorf("aged %v: purge %t, claim %t", age, expired, status.Record == nil)
			}
			done, err := e.Store.(purge.Store).PurgeBatch(t.Context(), purge.Batch{Limit: 10})
			if err != nil || done.Rows != int(counts[scope]) {
				t.Error(done, err)
			}
		}
	},
	"two purges at once share the work": func(t *testing.T, e Engine) {
		fill(t, e, 40)
		total := make(chan int)
		for _, s := range []store.Store{e.Store, e.Other} {
			go func() {
				sum := 0
				defer func() { total <- sum }()
				for range 40 {
					done, err := s.(purge.Store).PurgeBatch(t.Context(), purge.Batch{Limit: 3})
					if err != nil {
						t.Error(err)
					}
					sum += done.Rows
				}
			}()
		}
		if sum := <-total + <-total; sum != 40 {
			t.Errorf("purged %d of 40", sum)
		}
	},
}
