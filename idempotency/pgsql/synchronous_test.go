package pgsql_test

import (
	"context"
	"errors"
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
	eachDriver(t, func(t *testing.T, open opener) {
		db := open(t, shop, nil)
		s := pgsql.New(db, options)
		exec := func(sql string) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.CreateTable(t.Context()); err != nil {
			t.Fatal(err)
		}
		exec(`ALTER SYSTEM SET synchronous_standby_names = 'nobody'`)
		exec(`SELECT pg_reload_conf()`)
		exec(`SELECT pg_sleep(0.5)`)
		k, err := idempotency.New(s, idempotency.Options{Principal: idempotency.SinglePrincipal("x"), MaxRun: time.Second,
			StoreTimeout: 3 * time.Second, Wait: -1})
		if err != nil {
			t.Fatal(err)
		}
		do := func() (bool, error) {
			return k.Do(t.Context(), "s", t.Name(), nil, func(ctx context.Context) error {
				_, err := pgsql.Tx(ctx).ExecContext(ctx, `SET LOCAL synchronous_commit = on`)
				return err
			})
		}
		if _, err := do(); !errors.Is(err, idempotency.ErrUnavailable) {
			t.Errorf("without the standby: %v", err)
		}
		if _, err := do(); !errors.Is(err, idempotency.ErrInProgress) {
			t.Errorf("again: %v", err)
		}
		waits, err := idempotency.New(pgsql.New(open(t, waiting, nil), options), idempotency.Options{
			Principal: idempotency.SinglePrincipal("x"), StoreTimeout: time.Second, Wait: -1})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = idempotency.Call(t.Context(), waits, idempotency.Operation{Scope: "s", Key: t.Name() + " call"},
			idempotency.Effect[int]{Do: func(context.Context) (int, error) {
				t.Error("a vendor was called whose reservation a failover would lose")
				return 1, nil
			}})
		if !errors.Is(err, idempotency.ErrUnavailable) {
			t.Errorf("a call of a vendor: %v", err)
		}
		exec(`ALTER SYSTEM RESET synchronous_standby_names`)
		exec(`SELECT pg_reload_conf()`)
		duplicate, err := do()
		for ; errors.Is(err, idempotency.ErrInProgress); duplicate, err = do() {
			exec(`SELECT pg_sleep(0.01)`)
		}
		if err != nil || !duplicate {
			t.Errorf("with the standby: %t, %v", duplicate, err)
		}
	})
}
