package idempotencytest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/store"
)

// callLeaseCases are about a call that outlasts its lease or MaxRun.
var callLeaseCases = map[string]func(*testing.T, Engine){
	"a lapsed lease does not repeat the call": func(t *testing.T, e Engine) {
		var charges int
		reserve(t, e, "dead process", time.Minute)
		e.Age(chargeKey, time.Hour)
		if _, _, err := idempotency.Call(t.Context(), kit(t, e.Store), charge,
			vendor(&charges, nil)); !errors.Is(err, idempotency.ErrOutcomeUnknown) {
			t.Fatal(err)
		}
		got, duplicate, err := idempotency.Call(t.Context(), kit(t, e.Store), charge, reconciled(vendor(&charges, nil), 41, true, nil))
		if err != nil || got != 41 || !duplicate {
			t.Fatal(got, duplicate, err)
		}
		if charges != 0 {
			t.Errorf("charged %d times", charges)
		}
	},
	"a lease of no length has lapsed at once": func(t *testing.T, e Engine) {
		reserve(t, e, "dead process", 0)
		look, err := e.Store.Lookup(t.Context(), store.Claim{Key: chargeKey})
		if err != nil || !look.LeaseExpired {
			t.Fatalf("%+v, %v", look, err)
		}
	},
	"a call whose key was taken over meanwhile does not tell of its result": func(t *testing.T, e Engine) {
		var charges int
		slow := idempotency.Effect[int]{Do: func(context.Context) (int, error) {
			e.Age(chargeKey, time.Hour)
			_, _, err := idempotency.Call(t.Context(), kit(t, e.Other), charge, reconciled(vendor(&charges, nil), 41, true, nil))
			return 1, err
		}}
		if _, _, err := idempotency.Call(t.Context(), kit(t, e.Store), charge, slow); !errors.Is(err, idempotency.ErrOutcomeUnknown) {
			t.Error(err)
		}
		got, duplicate, err := idempotency.Call(t.Context(), kit(t, e.Store), charge, vendor(&charges, nil))
		if err != nil || got != 41 || !duplicate || charges != 0 {
			t.Error(got, duplicate, err, charges)
		}
	},
	"a reservation whose answer was lost is no call": func(t *testing.T, e Engine) {
		var charges int
		lossy := lossy{e.Store, e.Store.(store.Reserver)}
		if _, _, err := idempotency.Call(t.Context(), kit(t, lossy), charge, vendor(&charges, nil)); !errors.Is(err, idempotency.ErrUnavailable) {
			t.Fatal(err)
		}
		got, duplicate, err := idempotency.Call(t.Context(), kit(t, e.Other, wait(-1)), charge, vendor(&charges, nil))
		if err != nil || got != 1 || duplicate {
			t.Fatal(got, duplicate, err)
		}
	},
	"a lost call that could not be taken over stays unknown": func(t *testing.T, e Engine) {
		var charges int
		reserve(t, e, "dead process", 0)
		lossy := lossy{e.Store, e.Store.(store.Reserver)}
		_, _, _ = idempotency.Call(t.Context(), kit(t, lossy), charge, reconciled(vendor(&charges, nil), 41, true, nil))
		if _, _, err := idempotency.Call(t.Context(), kit(t, e.Other, wait(-1)), charge,
			vendor(&charges, nil)); !errors.Is(err, idempotency.ErrOutcomeUnknown) || charges != 0 {
			t.Fatal(err, charges)
		}
		got, duplicate, err := idempotency.Call(t.Context(), kit(t, e.Other, wait(-1)), charge, reconciled(vendor(&charges, nil), 41, true, nil))
		if err != nil || got != 41 || !duplicate {
			t.Fatal(got, duplicate, err)
		}
	},
	"a process that was suspended over its reservation does not call any more": func(t *testing.T, e Engine) {
		var charges int
		suspended := suspended{e.Store, e.Store.(store.Reserver), func() {
			e.Age(chargeKey, time.Hour)
			_, _, err := idempotency.Call(t.Context(), kit(t, e.Other), charge, reconciled(vendor(&charges, nil), 0, false, nil))
			ok(t, err)
		}}
		brief := kit(t, suspended, func(o *idempotency.Options) { o.MaxRun = time.Nanosecond })
		if _, _, err := idempotency.Call(t.Context(), brief, charge, vendor(&charges, nil)); !errors.Is(err, idempotency.ErrUnavailable) ||
			charges != 1 {
			t.Fatal(err, charges)
		}
		got, duplicate, err := idempotency.Call(t.Context(), kit(t, e.Store), charge, vendor(&charges, nil))
		if err != nil || got != 1 || !duplicate || charges != 1 {
			t.Error(got, duplicate, err, charges)
		}
	},
	"the time that a reservation takes counts towards MaxRun": func(t *testing.T, e Engine) {
		var reserved, ends time.Time
		reserving := suspended{e.Store, e.Store.(store.Reserver), func() { reserved = time.Now() }}
		_, _, err := idempotency.Call(t.Context(), kit(t, reserving, func(o *idempotency.Options) { o.MaxRun = patience }), charge,
			idempotency.Effect[int]{Do: func(ctx context.Context) (int, error) {
				ends, _ = ctx.Deadline()
				return 1, nil
			}})
		if err != nil || !ends.Before(reserved.Add(patience)) {
			t.Errorf("the call ends %v after the reservation, MaxRun is %v; %v", ends.Sub(reserved), patience, err)
		}
	},
	"a reconciliation that outlasts MaxRun does not call any more": func(t *testing.T, e Engine) {
		var charges int
		reserve(t, e, "dead process", 0)
		k := kit(t, e.Store, func(o *idempotency.Options) { o.MaxRun = 10 * time.Millisecond })
		effect := vendor(&charges, nil)
		effect.Reconcile = func(ctx context.Context) (int, bool, error) {
			<-ctx.Done()
			return 0, false, nil
		}
		if _, _, err := idempotency.Call(t.Context(), k, charge, effect); !errors.Is(err, idempotency.ErrNotDone) || charges != 0 {
			t.Error(err, charges)
		}
	},
	"an owner that lost its lease cannot complete": func(t *testing.T, e Engine) {
		stale := reserve(t, e, "stale", 0)
		fresh := stale
		fresh.Owner = "fresh"
		r := e.Store.(store.Reserver)
		if look, err := r.Reserve(t.Context(), fresh, time.Minute, true); err != nil || !look.Held {
			t.Fatal(look, err)
		}
		_, held, err := r.Complete(t.Context(), stale, idempotency.Reply{Body: []byte("1")})
		if err != nil || held {
			t.Errorf("Settle: held %t, %v", held, err)
		}
		for name, end := range map[string]func(context.Context, store.Claim) (bool, error){"Doubt": r.MarkUnknown, "Free": r.Release} {
			if held, err := end(t.Context(), stale); err != nil || held {
				t.Errorf("%s: held %t, %v", name, held, err)
			}
		}
		if _, held, err := r.Complete(t.Context(), fresh, idempotency.Reply{Body: []byte("2")}); err != nil || !held {
			t.Errorf("the owner's own Settle: held %t, %v", held, err)
		}
	},
	"a lapsed lease is taken over by one": func(t *testing.T, e Engine) {
		c := reserve(t, e, "stale", 0)
		won := make(chan bool, 16)
		for n := range 16 {
			go func() {
				mine := c
				mine.Owner = fmt.Sprint("owner ", n)
				look, err := e.Store.(store.Reserver).Reserve(context.Background(), mine, time.Minute, true)
				if err != nil {
					t.Error(err)
				}
				won <- look.Held
			}()
		}
		winners := 0
		for range 16 {
			if <-won {
				winners++
			}
		}
		if winners != 1 {
			t.Errorf("%d took it over", winners)
		}
	},
	"the lease is not the TTL": func(t *testing.T, e Engine) {
		var charges int
		long := charge
		long.TTL = 48 * time.Hour
		k := kit(t, e.Store, func(o *idempotency.Options) { o.MaxRun = time.Second })
		_, _, err := idempotency.Call(t.Context(), k, long, vendor(&charges, nil))
		ok(t, err)
		e.Age(chargeKey, 47*time.Hour)
		_, duplicate, err := idempotency.Call(t.Context(), k, long, vendor(&charges, nil))
		if err != nil || !duplicate {
			t.Error("forgotten before its TTL", err)
		}
		e.Age(chargeKey, time.Hour)
		_, duplicate, err = idempotency.Call(t.Context(), k, long, vendor(&charges, nil))
		if err != nil || duplicate {
			t.Error("remembered after its TTL", err)
		}
	},
}

// reserve is a process that reserved the key and died.
func reserve(t *testing.T, e Engine, owner string, lease time.Duration) store.Claim {
	t.Helper()
	// The fingerprint is taken from a real call of the same operation.
	var c store.Claim
	spy := spy{Reserver: e.Store.(store.Reserver), Store: e.Store, seen: &c}
	_, _, err := idempotency.Call(t.Context(), kit(t, spy), charge, vendor(new(int), idempotency.ErrNotDone))
	if !errors.Is(err, idempotency.ErrNotDone) {
		t.Fatal(err)
	}
	c.Owner = owner
	look, err := e.Store.(store.Reserver).Reserve(t.Context(), c, lease, false)
	if err != nil || !look.Held {
		t.Fatalf("%+v, %v", look, err)
	}
	return c
}

// spy notes the claim of the last Reserve.
type spy struct {
	store.Store
	store.Reserver
	seen *store.Claim
}

func (s spy) Reserve(ctx context.Context, c store.Claim, lease time.Duration, takeOver bool) (store.KeyStatus, error) {
	*s.seen = c
	return s.Reserver.Reserve(ctx, c, lease, takeOver)
}

// lossy loses the answer of every Reserve that got the key.
type lossy struct {
	store.Store
	store.Reserver
}

func (s lossy) Reserve(ctx context.Context, c store.Claim, lease time.Duration, takeOver bool) (store.KeyStatus, error) {
	look, err := s.Reserver.Reserve(ctx, c, lease, takeOver)
	if err == nil && look.Held {
		return store.KeyStatus{}, idempotency.ErrUnavailable
	}
	return look, err
}

// suspended is a process that is suspended between its reservation and the
// answer to it, while something happens.
type suspended struct {
	store.Store
	store.Reserver
	meanwhile func()
}

func (s suspended) Reserve(ctx context.Context, c store.Claim, lease time.Duration, takeOver bool) (store.KeyStatus, error) {
	look, err := s.Reserver.Reserve(ctx, c, lease, takeOver)
	if err == nil && look.Held {
		s.meanwhile()
	}
	return look, err
}
