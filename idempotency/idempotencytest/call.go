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

// charged makes the operation's call, which has the result.
func charged(t *testing.T, k *idempotency.Kit, op idempotency.Operation, e idempotency.Effect[int], result int, duplicate bool) {
	t.Helper()
	got, again, err := idempotency.Call(t.Context(), k, op, e)
	if err != nil || got != result || again != duplicate {
		t.Fatalf("%d, duplicate %t, %v; want %d, duplicate %t", got, again, err, result, duplicate)
	}
}

// refused makes the operation's call, which fails.
func refused(t *testing.T, k *idempotency.Kit, op idempotency.Operation, e idempotency.Effect[int], want error) {
	t.Helper()
	if _, _, err := idempotency.Call(t.Context(), k, op, e); !errors.Is(err, want) {
		t.Fatalf("%v; want %v", err, want)
	}
}

// calls checks how often the vendor was called.
func calls(t *testing.T, charges, want int) {
	t.Helper()
	if charges != want {
		t.Fatalf("charged %d times, want %d", charges, want)
	}
}

var callCases = map[string]func(*testing.T, Engine){
	"a vendor is called once and its result returned to every repetition": func(t *testing.T, e Engine) {
		var charges int
		for n := range 3 {
			charged(t, kit(t, e.Store), charge, vendor(&charges, nil), 1, n > 0)
		}
	},
	"another payload is refused before and after completion": func(t *testing.T, e Engine) {
		var charges int
		other := charge
		other.Payload = "200 EUR"
		k := kit(t, e.Store, wait(10*time.Millisecond))
		charged(t, k, charge, idempotency.Effect[int]{Do: func(context.Context) (int, error) {
			refused(t, kit(t, e.Other, wait(10*time.Millisecond)), other, vendor(&charges, nil), idempotency.ErrMismatch)
			return 1, nil
		}}, 1, false)
		refused(t, k, other, vendor(&charges, nil), idempotency.ErrMismatch)
		calls(t, charges, 0)
	},
	"a call in flight is not made again": func(t *testing.T, e Engine) {
		var charges int
		charged(t, kit(t, e.Store), charge, idempotency.Effect[int]{Do: func(context.Context) (int, error) {
			refused(t, kit(t, e.Other, wait(30*time.Millisecond)), charge, vendor(&charges, nil), idempotency.ErrInProgress)
			return 1, nil
		}}, 1, false)
		calls(t, charges, 0)
	},
	"a call whose outcome is unknown is never made again by itself": func(t *testing.T, e Engine) {
		var charges int
		for range 3 {
			refused(t, kit(t, e.Store), charge, vendor(&charges, errNo), idempotency.ErrOutcomeUnknown)
		}
		calls(t, charges, 1)
	},
	"a reconciliation that finds nothing done calls again": func(t *testing.T, e Engine) {
		var charges int
		reserve(t, e, "dead process", 0)
		charged(t, kit(t, e.Store), charge, reconciled(vendor(&charges, nil), 0, false, nil), 1, false)
		calls(t, charges, 1)
	},
	"a reconciliation that finds nothing done too late does not call": func(t *testing.T, e Engine) {
		var charges int
		reserve(t, e, "dead process", 0)
		late := charge
		late.SendBefore = time.Now().Add(-time.Second)
		refused(t, kit(t, e.Store), late, reconciled(vendor(&charges, nil), 0, false, nil), idempotency.ErrTooLate)
		calls(t, charges, 0)
	},
	"a reconciliation that fails leaves the outcome unknown": func(t *testing.T, e Engine) {
		var charges int
		reserve(t, e, "dead process", 0)
		for _, err := range []error{errNo, fmt.Errorf("%w: it says", idempotency.ErrNotDone)} {
			refused(t, kit(t, e.Store), charge, reconciled(vendor(&charges, nil), 0, false, err), idempotency.ErrOutcomeUnknown)
		}
		calls(t, charges, 0)
	},
	"a call that was certainly not made leaves the key free": func(t *testing.T, e Engine) {
		var charges int
		refused(t, kit(t, e.Store), charge, vendor(&charges, fmt.Errorf("refused: %w", idempotency.ErrNotDone)), idempotency.ErrNotDone)
		charged(t, kit(t, e.Store), charge, vendor(&charges, nil), 2, false)
	},
	"a panic in the call leaves the outcome unknown": func(t *testing.T, e Engine) {
		func() {
			defer func() { _ = recover() }()
			_, _, _ = idempotency.Call(t.Context(), kit(t, e.Store), charge,
				idempotency.Effect[int]{Do: func(context.Context) (int, error) { panic("oops") }})
		}()
		var charges int
		refused(t, kit(t, e.Store), charge, vendor(&charges, nil), idempotency.ErrOutcomeUnknown)
		calls(t, charges, 0)
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
		charged(t, k, charge, vendor(&charges, nil), 1, true)
		calls(t, charges, 1)
	},
}
