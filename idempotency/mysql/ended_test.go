package mysql_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/mysql"
)

// The record of what happened must not be in the transaction that the work
// began and nobody ends: the key's row alone would be taken for a lost call.
func TestWorkThatEndsTheTransactionAndBeginsAnotherIsRemembered(t *testing.T) {
	eachWay(t, func(t *testing.T, w way, fresh func(testing.TB) string) {
		e := engine(t, w, fresh(t))
		k, err := idempotency.New(e.Store, idempotency.Options{Principal: idempotency.SinglePrincipal("x"), Wait: -1})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 2 {
			duplicate, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
				if err := e.Write(ctx, "paid"); err != nil {
					return err
				}
				for _, statement := range []string{`COMMIT`, `START TRANSACTION`} {
					if _, err := mysql.Tx(ctx).ExecContext(ctx, statement); err != nil {
						return err
					}
				}
				return nil
			})
			if !errors.Is(err, idempotency.ErrTxEnded) || duplicate != (n == 1) {
				t.Errorf("call %d: duplicate %t, %v", n, duplicate, err)
			}
		}
		if n := e.Written("paid"); n != 1 {
			t.Errorf("paid %d times", n)
		}
	})
}

// And the connection may break after the work has committed: the caller is not
// told that its reply is stored, and the key's row does not stay as it is.
func TestWorkThatEndsTheTransactionAndLosesTheConnectionIsRemembered(t *testing.T) {
	eachWay(t, func(t *testing.T, w way, fresh func(testing.TB) string) {
		e := engine(t, w, fresh(t))
		k := kitOn(t, e.Store.(*mysql.Store))
		for n := range 2 {
			duplicate, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
				err := errors.Join(e.Write(ctx, "paid"), e.End(ctx, true))
				e.Kill(ctx)
				return err
			})
			if !errors.Is(err, idempotency.ErrTxEnded) || duplicate != (n == 1) {
				t.Errorf("call %d: duplicate %t, %v", n, duplicate, err)
			}
		}
		if n := e.Written("paid"); n != 1 {
			t.Errorf("paid %d times", n)
		}
	})
}
