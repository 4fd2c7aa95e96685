package idempotencytest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
)

// charge is the operation of every case here, at a vendor who counts.
var charge = idempotency.Operation{Scope: "vendor:charge", Key: "order-7", Payload: "100 EUR"}

var chargeKey = idempotency.Key{Scope: "vendor:charge", Principal: "-", Value: "order-7"}

// vendor answers with the number of the charge, or as told.
func vendor(charges *int, err error) idempotency.Effect[int] {
	return idempotency.Effect[int]{Do: func(context.Context) (int, error) {
		*charges++
		return *charges, err
	}}
}

// reconciled is a vendor that can be asked what became of a charge.
func reconciled(e idempotency.Effect[int], result int, done bool, err error) idempotency.Effect[int] {
	e.Reconcile = func(context.Context) (int, bool, error) { return result, done, err }
	return e
}

var callCases = map[string]func(*testing.T, Engine){
	"a vendor is called once and its result returned to every repetition": func(t *testing.T, e Engine) {
		var charges int
		for n := range 3 {
			got, duplicate, err := idempotency.Call(t.Context(), kit(t, e.Store), charge, vendor(&charges, nil))
			if err != nil || got != 1 || duplicate != (n > 0) {
				t.Fatalf("call %d: %d, duplicate %t, %v", n, got, duplicate, err)
			}
		}
	},
	"another payload is refused before and after completion": func(t *testing.T, e Engine) {
		var charges int
		other := charge
		other.Payload = "200 EUR"
		k := kit(t, e.Store, wait(10*time.Millisecond))
		_, _, err := idempotency.Call(t.Context(), k, charge, idempotency.Effect[int]{Do: func(ctx context.Context) (int, error) {
			_, _, err := idempotency.Call(ctx, kit(t, e.Other, wait(10*time.Millisecond)), other, vendor(&charges, nil))
			if !errors.Is(err, idempotency.ErrMismatch) {
				t.Errorf("in flight: %v", err)
			}
			return 1, nil
		}})
		ok(t, err)
		if _, _, err := idempotency.Call(t.Context(), k, other, vendor(&charges, nil)); !errors.Is(err, idempotency.ErrMismatch) {
			t.Errorf("completed: %v", err)
		}
		if charges != 0 {
			t.Errorf("charged %d times more", charges)
		}
	},
	"a call in flight is not made again": func(t *testing.T, e Engine) {
		var charges int
		_, _, err := idempotency.Call(t.Context(), kit(t, e.Store), charge, idempotency.Effect[int]{Do: func(ctx context.Context) (int, error) {
			_, _, err := idempotency.Call(ctx, kit(t, e.Other, wait(30*time.Millisecond)), charge, vendor(&charges, nil))
			if !errors.Is(err, idempotency.ErrInProgress) {
				t.Error(err)
			}
			return 1, nil
		}})
		ok(t, err)
		if charges != 0 {
			t.Errorf("charged %d times", charges)
		}
	},
	"a call whose outcome is unknown is never made again by itself": func(t *testing.T, e Engine) {
		var charges int
		k := kit(t, e.Store)
		for range 3 {
			if _, _, err := idempotency.Call(t.Context(), k, charge, vendor(&charges, errNo)); !errors.Is(err, idempotency.ErrOutcomeUnknown) {
				t.Fatal(err)
			}
		}
		if charges != 1 {
			t.Errorf("charged %d times", charges)
		}
	},
	"a reconciliation that finds nothing done calls again": func(t *testing.T, e Engine) {
		var charges int
		reserve(t, e, "dead process", 0)
		got, duplicate, err := idempotency.Call(t.Context(), kit(t, e.Store), charge, reconciled(vendor(&charges, nil), 0, false, nil))
		if err != nil || got != 1 || duplicate || charges != 1 {
			t.Fatal(got, duplicate, err, charges)
		}
	},
	"a reconciliation that finds nothing done too late does not call": func(t *testing.T, e Engine) {
		var charges int
		reserve(t, e, "dead process", 0)
		late := charge
		late.SendBefore = time.Now().Add(-time.Second)
		_, _, err := idempotency.Call(t.Context(), kit(t, e.Store), late, reconciled(vendor(&charges, nil), 0, false, nil))
		if !errors.Is(err, idempotency.ErrTooLate) || charges != 0 {
			t.Fatal(err, charges)
		}
	},
	"a reconciliation that fails leaves the outcome unknown": func(t *testing.T, e Engine) {
		var charges int
		reserve(t, e, "dead process", 0)
		for _, err := range []error{errNo, fmt.Errorf("%w: it says", idempotency.ErrNotDone)} {
			_, _, got := idempotency.Call(t.Context(), kit(t, e.Store), charge, reconciled(vendor(&charges, nil), 0, false, err))
			if !errors.Is(got, idempotency.ErrOutcomeUnknown) {
				t.Fatal(got)
			}
		}
		if charges != 0 {
			t.Errorf("charged %d times", charges)
		}
	},
	"a call that was certainly not made leaves the key free": func(t *testing.T, e Engine) {
		var charges int
		_, _, err := idempotency.Call(t.Context(), kit(t, e.Store), charge, vendor(&charges, fmt.Errorf("refused: %w", idempotency.ErrNotDone)))
		if !errors.Is(err, idempotency.ErrNotDone) {
			t.Fatal(err)
		}
		got, duplicate, err := idempotency.Call(t.Context(), kit(t, e.Store), charge, vendor(&charges, nil))
		if err != nil || got != 2 || duplicate {
			t.Fatal(got, duplicate, err)
		}
	},
	"a panic in the call leaves the outcome unknown": func(t *testing.T, e Engine) {
		func() {
			defer func() { _ = recover() }()
			_, _, _ = idempotency.Call(t.Context(), kit(t, e.Store), charge,
				idempotency.Effect[int]{Do: func(context.Context) (int, error) { panic("oops") }})
		}()
		var charges int
		if _, _, err := idempotency.Call(t.Context(), kit(t, e.Store), charge,
			vendor(&charges, nil)); !errors.Is(err, idempotency.ErrOutcomeUnknown) || charges != 0 {
			t.Fatal(err, charges)
		}
	},
	"a call made inside a transaction outlives its rollback": func(t *testing.T, e Engine) {
		if e.OneWriter {
			t.Skip("this store has one writer at a time")
		}
		var charges int
		k := kit(t, e.Store)
		_, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
			_, _, err := idempotency.Call(ctx, k, charge, vendor(&charges, nil))
			ok(t, err)
			return errNo
		})
		if !errors.Is(err, errNo) {
			t.Fatal(err)
		}
		if _, duplicate, err := idempotency.Call(t.Context(), k, charge, vendor(&charges, nil)); err != nil || !duplicate || charges != 1 {
			t.Error(duplicate, err, charges)
		}
	},
}
