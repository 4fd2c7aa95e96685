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

const event = "event:order.placed.v1/"

var errNo = errors.New("no")

// write is work that makes an effect, and then fails if an error is given.
func (e Engine) write(name string, then ...error) func(context.Context) error {
	return func(ctx context.Context) error { return errors.Join(append(then, e.Write(ctx, name))...) }
}

// did does work under the key "k" of the scope "s", which must succeed.
func did(t *testing.T, k *idempotency.Kit, fn func(context.Context) error, duplicate bool) {
	t.Helper()
	if got, err := k.Do(t.Context(), "s", "k", nil, fn); err != nil || got != duplicate {
		t.Fatalf("duplicate %t, %v; want duplicate %t", got, err, duplicate)
	}
}

// failed has work under a key fail as it wants to.
func failed(t *testing.T, k *idempotency.Kit, ctx context.Context, key string, fn func(context.Context) error) {
	t.Helper()
	if _, err := k.Do(ctx, "s", key, nil, fn); !errors.Is(err, errNo) {
		t.Error(err)
	}
}

var doCases = map[string]func(*testing.T, Engine){
	"an event delivered again is a duplicate, not an error": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		for n := range 3 {
			duplicate, err := k.Do(t.Context(), event+"commission", "evt-1", `{"order":7}`, e.write("commission"))
			ok(t, err)
			if duplicate != (n > 0) {
				t.Errorf("delivery %d: duplicate is %t", n, duplicate)
			}
		}
		written(t, e, "commission", 1)
	},
	"two handlers of one event have separate keys": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		for _, handler := range []string{"commission", "mail"} {
			duplicate, err := k.Do(t.Context(), event+handler, "evt-1", nil, e.write(handler))
			ok(t, err)
			if duplicate {
				t.Errorf("%s was kept from its event", handler)
			}
		}
	},
	"a result is returned to every repetition": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		type order struct{ ID int }
		for n := range 2 {
			got, duplicate, err := idempotency.Do(t.Context(), k, idempotency.Operation{Scope: "orders", Key: "a", Payload: order{1}},
				func(context.Context) (order, error) { return order{42}, nil })
			ok(t, err)
			if got.ID != 42 || duplicate != (n == 1) {
				t.Errorf("call %d: %+v, duplicate %t", n, got, duplicate)
			}
		}
		for range 2 { // nothing is a result too
			got, _, err := idempotency.Do(t.Context(), k, idempotency.Operation{Scope: "orders", Key: "nil"},
				func(context.Context) (*order, error) { return nil, nil })
			ok(t, err)
			if got != nil {
				t.Error(got)
			}
		}
	},
	"an error rolls the work back and leaves the key free": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		failed(t, k, t.Context(), "k", e.write("x", errNo))
		written(t, e, "x", 0)
		did(t, k, e.write("x"), false)
		written(t, e, "x", 1)
	},
	"a final error is stored with its result, without the work's writes": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		charge := func(ctx context.Context) (int, bool, error) {
			return idempotency.Do(ctx, k, idempotency.Operation{Scope: "s", Key: "k"}, func(ctx context.Context) (int, error) {
				ok(t, e.Write(ctx, "x"))
				return 42, fmt.Errorf("charge: %w", idempotency.Final(errNo))
			})
		}
		for n := range 3 {
			got, duplicate, err := charge(t.Context())
			var final *idempotency.FinalError
			if !errors.As(err, &final) || err.Error() != "charge: no" || got != 42 || duplicate != (n > 0) {
				t.Errorf("call %d: %d, duplicate %t, %v", n, got, duplicate, err)
			}
			if errors.Is(err, errNo) != (n == 0) {
				t.Errorf("call %d: the error is the work's own: %t", n, errors.Is(err, errNo))
			}
		}
		written(t, e, "x", 0)
	},
	"a final error in the caller's transaction is stored with that": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		fail := func(ctx context.Context) (bool, error) {
			return k.Do(ctx, "s", "k", nil, func(ctx context.Context) error {
				ok(t, e.Write(ctx, "inner"))
				return idempotency.Final(errNo)
			})
		}
		for _, commits := range []bool{false, true} {
			ok(t, e.InTx(commits, func(ctx context.Context) error {
				if duplicate, err := fail(ctx); duplicate || !errors.Is(err, errNo) {
					t.Errorf("duplicate %t, %v", duplicate, err)
				}
				return e.Write(ctx, "outer")
			}))
		}
		if duplicate, err := fail(t.Context()); !duplicate || err == nil || err.Error() != "no" {
			t.Errorf("duplicate %t, %v", duplicate, err)
		}
		written(t, e, "inner", 0)
		written(t, e, "outer", 1)
	},
	"a final error whose result cannot be stored leaves the key free": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		for range 2 {
			_, duplicate, err := idempotency.Do(t.Context(), k, idempotency.Operation{Scope: "s", Key: "k"},
				func(context.Context) (chan int, error) { return make(chan int), idempotency.Final(errNo) })
			if duplicate || !errors.Is(err, errNo) {
				t.Errorf("duplicate %t, %v", duplicate, err)
			}
		}
	},
	"another payload is ErrMismatch": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		nothing := func(context.Context) error { return nil }
		_, err := k.Do(t.Context(), "s", "k", map[string]int{"a": 1}, nothing)
		ok(t, err)
		if _, err = k.Do(t.Context(), "s", "k", map[string]int{"a": 2}, nothing); !errors.Is(err, idempotency.ErrMismatch) {
			t.Error(err)
		}
	},
	"a deadline in the past starts nothing": func(t *testing.T, e Engine) {
		_, _, err := idempotency.Do(t.Context(), kit(t, e.Store),
			idempotency.Operation{Scope: "s", Key: "k", SendBefore: time.Now().Add(-time.Second)},
			func(ctx context.Context) (int, error) { return 0, e.Write(ctx, "x") })
		if !errors.Is(err, idempotency.ErrTooLate) {
			t.Error(err)
		}
		written(t, e, "x", 0)
	},
	"work in the caller's transaction is committed with it": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		ok(t, e.InTx(true, func(ctx context.Context) error {
			ok(t, e.Write(ctx, "outer"))
			for n := range 2 {
				duplicate, err := k.Do(ctx, "s", "k", nil, e.write("inner"))
				if err != nil || duplicate != (n == 1) {
					return fmt.Errorf("call %d: duplicate %t, %w", n, duplicate, err)
				}
			}
			return nil
		}))
		written(t, e, "outer", 1)
		written(t, e, "inner", 1)
		did(t, k, func(context.Context) error { return errNo }, true)
	},
	"work in the caller's transaction is rolled back with it, key and all": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		ok(t, e.InTx(false, func(ctx context.Context) error {
			_, err := k.Do(ctx, "s", "k", nil, e.write("inner"))
			return err
		}))
		written(t, e, "inner", 0)
		did(t, k, e.write("inner"), false)
	},
	"a failure in the caller's transaction undoes only its own work": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		ok(t, e.InTx(true, func(ctx context.Context) error {
			ok(t, e.Write(ctx, "outer"))
			failed(t, k, ctx, "k", e.write("inner", errNo))
			return e.Write(ctx, "outer")
		}))
		written(t, e, "outer", 2)
		written(t, e, "inner", 0)
	},
	"work inside work joins its transaction": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		failed(t, k, t.Context(), "outer", func(ctx context.Context) error {
			_, err := k.Do(ctx, "s", "inner", nil, e.write("inner"))
			ok(t, err)
			return errNo
		})
		written(t, e, "inner", 0)
	},
	"work inside work is committed with it": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		for n := range 2 {
			duplicate, err := k.Do(t.Context(), "s", "outer", nil, func(ctx context.Context) error {
				ok(t, e.Write(ctx, "outer"))
				failed(t, k, ctx, "fails", e.write("fails", errNo))
				_, err := k.Do(ctx, "s", "inner", nil, e.write("inner"))
				return err
			})
			if err != nil || duplicate != (n == 1) {
				t.Fatal(duplicate, err)
			}
		}
		written(t, e, "outer", 1)
		written(t, e, "inner", 1)
		written(t, e, "fails", 0)
	},
	"work inside work that joined a transaction undoes no more and no less than its own": func(t *testing.T, e Engine) {
		k := kit(t, e.Store)
		ok(t, e.InTx(true, func(ctx context.Context) error {
			failed(t, k, ctx, "outer", func(ctx context.Context) error {
				ok(t, e.Write(ctx, "outer"))
				_, err := k.Do(ctx, "s", "inner", nil, e.write("inner"))
				ok(t, err)
				return errNo
			})
			return e.Write(ctx, "around")
		}))
		written(t, e, "around", 1)
		written(t, e, "outer", 0)
		written(t, e, "inner", 0)
	},
	"a key is expired exactly at its expiry time": func(t *testing.T, e Engine) {
		for n := range 50 { // mostly within the clock's own resolution
			c := store.Claim{Key: key(fmt.Sprint(n)), Fingerprint: "f", Owner: "o", MaxRun: time.Minute} // a TTL of nothing
			tx, _, err := e.Store.Begin(t.Context(), c)
			ok(t, err)
			_, err = tx.Commit(t.Context(), c, idempotency.Reply{Status: 200})
			ok(t, err)
			status, err := e.Store.Lookup(t.Context(), c)
			if err != nil || status.Record != nil {
				t.Fatalf("round %d: %+v, %v", n, status.Record, err)
			}
		}
	},
}
