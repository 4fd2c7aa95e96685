package pgsql_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/pgsql"
)

// What the work has committed behind the kit's back is not done again, even if
// its last transaction has failed and it takes no notice of that.
func TestWorkThatCommitsAndFailsInAnotherTransactionUsesTheKeyUp(t *testing.T) {
	eachDriver(t, func(t *testing.T, open opener) {
		db := open(t, database(t), nil)
		k, err := idempotency.New(pgsql.New(db, options), idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
				for _, statement := range []string{`INSERT INTO effects VALUES ('once')`, `COMMIT AND CHAIN`} {
					if _, err := pgsql.Tx(ctx).ExecContext(ctx, statement); err != nil {
						t.Error(err)
					}
				}
				_, _ = pgsql.Tx(ctx).ExecContext(ctx, `SELECT 1/0`)
				return nil
			})
			if !errors.Is(err, idempotency.ErrTxEnded) {
				t.Error(err)
			}
		}
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM effects`).Scan(&n); err != nil || n != 1 {
			t.Errorf("%d effects, %v", n, err)
		}
	})
}

// The claim's row is committed with what the work commits, so that no other
// process has to wait for the work's return to learn of it.
func TestAKeyWhoseWorkHasCommittedIsUsedUpAtOnce(t *testing.T) {
	eachDriver(t, func(t *testing.T, open opener) {
		url := database(t)
		var kits []*idempotency.Kit
		for range 2 {
			k, err := idempotency.New(pgsql.New(open(t, url, nil), options), idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
			if err != nil {
				t.Fatal(err)
			}
			kits = append(kits, k)
		}
		_, err := kits[0].Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
			if _, err := pgsql.Tx(ctx).ExecContext(ctx, `COMMIT`); err != nil {
				t.Error(err)
			}
			_, err := kits[1].Do(t.Context(), "s", "k", nil, func(context.Context) error {
				t.Error("another process did the work again")
				return nil
			})
			return err
		})
		if !errors.Is(err, idempotency.ErrTxEnded) {
			t.Error(err)
		}
	})
}
