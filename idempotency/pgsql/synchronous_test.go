package pgsql_test

import (
	"context"
	"database/sql"
	"errors"
	"path"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/pgsql"
	"github.com/cronce/cronce/internal/testdb"
)

// A reply that the synchronous standby does not have is not stored, however short MaxRun is.
func TestACommitWaitsForTheSynchronousStandby(t *testing.T) {
	primary := testdb.PostgresServer(t)
	shop, err := primary.Create("shop")
	if err != nil {
		t.Fatal(err)
	}
	waiting := shop
	shop += "&synchronous_commit=local" // what the test itself writes waits for nobody
	db := drivers["pgx"](t, shop, nil)
	if err := pgsql.New(db, options).CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, db, `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`)
	must(t, db, `SELECT pg_reload_conf()`)
	must(t, db, `SELECT pg_sleep(0.5)`)
	t.Run("without", func(t *testing.T) {
		eachDriver(t, func(t *testing.T, open opener) {
			t.Parallel()
			do := onStandby(t, open(t, shop, nil))
			if _, err := do(); !errors.Is(err, idempotency.ErrUnavailable) {
				t.Errorf("the first time: %v", err)
			}
			if _, err := do(); !errors.Is(err, idempotency.ErrInProgress) {
				t.Errorf("again: %v", err)
			}
			callNothing(t, open(t, waiting, nil))
		})
	})
	must(t, db, `ALTER SYSTEM RESET synchronous_standby_names`)
	must(t, db, `SELECT pg_reload_conf()`)
	t.Run("with", func(t *testing.T) {
		eachDriver(t, func(t *testing.T, open opener) {
			do := onStandby(t, open(t, shop, nil))
			duplicate, err := do()
			for ; errors.Is(err, idempotency.ErrInProgress); duplicate, err = do() {
				must(t, db, `SELECT pg_sleep(0.01)`)
			}
			if err != nil || !duplicate {
				t.Errorf("%t, %v", duplicate, err)
			}
		})
	})
}

// onStandby returns a function that does work whose commit waits for the standby. Its key
// is the driver's.
func onStandby(t *testing.T, db *sql.DB) func() (bool, error) {
	k, err := idempotency.New(pgsql.New(db, options), idempotency.Options{Principal: idempotency.SinglePrincipal("x"),
		MaxRun: time.Second, StoreTimeout: 3 * time.Second, Wait: -1})
	if err != nil {
		t.Fatal(err)
	}
	return func() (bool, error) {
		return k.Do(t.Context(), "s", path.Base(t.Name()), nil, func(ctx context.Context) error {
			_, err := pgsql.Tx(ctx).ExecContext(ctx, `SET LOCAL synchronous_commit = on`)
			return err
		})
	}
}

// callNothing checks that no vendor is called whose reservation a failover would lose.
func callNothing(t *testing.T, db *sql.DB) {
	k, err := idempotency.New(pgsql.New(db, options), idempotency.Options{
		Principal: idempotency.SinglePrincipal("x"), StoreTimeout: time.Second, Wait: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = idempotency.Call(t.Context(), k, idempotency.Operation{Scope: "s", Key: path.Base(t.Name()) + " call"},
		idempotency.Effect[int]{Do: func(context.Context) (int, error) {
			t.Error("the vendor was called")
			return 1, nil
		}})
	if !errors.Is(err, idempotency.ErrUnavailable) {
		t.Errorf("a call of a vendor: %v", err)
	}
}
