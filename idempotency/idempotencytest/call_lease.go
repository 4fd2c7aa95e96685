package idempotencytest

import (
	"context"
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
		refused(t, kit(t, e.Store), charge, vendor(&charges, nil), idempotency.ErrOutcomeUnknown)
		charged(t, kit(t, e.Store), charge, reconciled(vendor(&charges, nil), 41, true, nil), 41, true)
		calls(t, charges, 0)
	},
	"a lease of no length has lapsed at once": func(t *testing.T, e Engine) {
		reserve(t, e, "dead process", 0)
		status, err := e.Store.Lookup(t.Context(), store.Claim{Key: chargeKey})
		if err != nil || !status.LeaseExpired {
			t.Fatalf("%+v, %v", status, err)
		}
	},
	"a call whose key was taken over meanwhile does not tell of its result": func(t *testing.T, e Engine) {
		var charges int
		slow := idempotency.Effect[int]{Do: func(context.Context) (int, error) {
			e.Age(chargeKey, time.Hour)
			_, _, err := idempotency.Call(t.Context(), kit(t, e.Other), charge, reconciled(vendor(&charges, nil), 41, true, nil))
			return 1, err
		}}
		refused(t, kit(t, e.Store), charge, slow, idempotency.ErrOutcomeUnknown)
		charged(t, kit(t, e.Store), charge, vendor(&charges, nil), 41, true)
		calls(t, charges, 0)
	},
	"a reservation whose answer was lost is no call": func(t *testing.T, e Engine) {
		var charges int
		refused(t, kit(t, lossy(e.Store)), charge, vendor(&charges, nil), idempotency.ErrUnavailable)
		charged(t, kit(t, e.Other, wait(-1)), charge, vendor(&charges, nil), 1, false)
	},
	"a lost call that could not be taken over stays unknown": func(t *testing.T, e Engine) {
		var charges int
		reserve(t, e, "dead process", 0)
		_, _, _ = idempotency.Call(t.Context(), kit(t, lossy(e.Store)), charge, reconciled(vendor(&charges, nil), 41, true, nil))
		refused(t, kit(t, e.Other, wait(-1)), charge, vendor(&charges, nil), idempotency.ErrOutcomeUnknown)
		calls(t, charges, 0)
		charged(t, kit(t, e.Other, wait(-1)), charge, reconciled(vendor(&charges, nil), 41, true, nil), 41, true)
	},
	"a process that was suspended over its reservation does not call any more": func(t *testing.T, e Engine) {
		var charges int
		suspended := suspended(e.Store, func() {
			e.Age(chargeKey, time.Hour)
			charged(t, kit(t, e.Other), charge, reconciled(vendor(&charges, nil), 0, false, nil), 1, false)
		})
		brief := kit(t, suspended, func(o *idempotency.Options) { o.MaxRun = time.Nanosecond })
		refused(t, brief, charge, vendor(&charges, nil), idempotency.ErrUnavailable)
		calls(t, charges, 1)
		charged(t, kit(t, e.Store), charge, vendor(&charges, nil), 1, true)
		calls(t, charges, 1)
	},
	"the time that a reservation takes counts towards MaxRun": func(t *testing.T, e Engine) {
		var reserved, ends time.Time
		reserving := suspended(e.Store, func() { reserved = time.Now() })
		_, _, err := idempotency.Call(t.Context(), kit(t, reserving, func(o *idempotency.Options) { o.MaxRun = maxWait }), charge,
			idempotency.Effect[int]{Do: func(ctx context.Context) (int, error) {
				ends, _ = ctx.Deadline()
				return 1, nil
			}})
		if err != nil || !ends.Before(reserved.Add(maxWait)) {
			t.Errorf("the call ends %v after the reservation, MaxRun is %v; %v", ends.Sub(reserved), maxWait, err)
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
		refused(t, k, charge, effect, idempotency.ErrNotDone)
		calls(t, charges, 0)
	},
	"an owner that lost its lease cannot complete": func(t *testing.T, e Engine) {
		stale := reserve(t, e, "stale", 0)
		fresh := stale
		fresh.Owner = "fresh"
		r := e.Store.(store.Reserver)
		if status, err := r.Reserve(t.Context(), fresh, time.Minute, true); err != nil || !status.Held {
			t.Fatal(status, err)
		}
		_, held, err := r.Complete(t.Context(), stale, idempotency.Reply{Body: []byte("1")})
		if err != nil || held {
			t.Errorf("Complete: held %t, %v", held, err)
		}
		for name, end := range map[string]func(context.Context, store.Claim) (bool, error){"MarkUnknown": r.MarkUnknown, "Release": r.Release} {
			if held, err := end(t.Context(), stale); err != nil || held {
				t.Errorf("%s: held %t, %v", name, held, err)
			}
		}
		if _, held, err := r.Complete(t.Context(), fresh, idempotency.Reply{Body: []byte("2")}); err != nil || !held {
			t.Errorf("the owner's own Complete: held %t, %v", held, err)
		}
	},
	"a lapsed lease is taken over by one": func(t *testing.T, e Engine) {
		c := reserve(t, e, "stale", 0)
		won := make(chan bool, 16)
		for n := range 16 {
			go func() {
				mine := c
				mine.Owner = fmt.Sprint("owner ", n)
				status, err := e.Store.(store.Reserver).Reserve(context.Background(), mine, time.Minute, true)
				if err != nil {
					t.Error(err)
				}
				won <- status.Held
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
		k := kit(t, e.Store)
		charged(t, k, long, vendor(&charges, nil), 1, false)
		e.Age(chargeKey, 47*time.Hour)
		charged(t, k, long, vendor(&charges, nil), 1, true)
		e.Age(chargeKey, time.Hour)
		charged(t, k, long, vendor(&charges, nil), 2, false)
	},
}

// reserve is a process that reserved the key and died.
func reserve(t *testing.T, e Engine, owner string, lease time.Duration) store.Claim {
	t.Helper()
	// The fingerprint is taken from a real call of the same operation.
	var c store.Claim
	spy := watched{e.Store, e.Store.(store.Reserver), func(seen store.Claim, _ *store.KeyStatus) error {
		c = seen
		return nil
	}}
	refused(t, kit(t, spy), charge, vendor(new(int), idempotency.ErrNotDone), idempotency.ErrNotDone)
	c.Owner = owner
	status, err := e.Store.(store.Reserver).Reserve(t.Context(), c, lease, false)
	if err != nil || !status.Held {
		t.Fatalf("%+v, %v", status, err)
	}
	return c
}

// watched is a store on which something happens after each Reserve.
type watched struct {
	store.Store
	store.Reserver
	after func(store.Claim, *store.KeyStatus) error
}

func (s watched) Reserve(ctx context.Context, c store.Claim, lease time.Duration, takeOver bool) (store.KeyStatus, error) {
	status, err := s.Reserver.Reserve(ctx, c, lease, takeOver)
	if err == nil {
		err = s.after(c, &status)
	}
	return status, err
}

// lossy loses the answer of every Reserve that got the key.
func lossy(s store.Store) store.Store {
	return watched{s, s.(store.Reserver), func(_ store.Claim, status *store.KeyStatus) error {
		if status.Held {
			*status = store.KeyStatus{}
			return idempotency.ErrUnavailable
		}
		return nil
	}}
}

// suspended is a process that is suspended between its reservation and the answer to it,
// while something happens.
func suspended(s store.Store, meanwhile func()) store.Store {
	return watched{s, s.(store.Reserver), func(_ store.Claim, status *store.KeyStatus) error {
		if status.Held {
			meanwhile()
		}
		return nil
	}}
}
