package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/internal/testdb"
)

// Each event of a batch in one transaction takes a lock. The error says so when
// they run out, and the transaction goes on without that event.
func TestABatchThatNeedsTooManyLocksIsTold(t *testing.T) {
	server := testdb.PostgresServer(t, "max_locks_per_transaction=10", "max_connections=20")
	p := pool(t, server.URL)
	store := postgres.New(p, options)
	if err := store.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	k, err := idempotency.New(store, idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	err = pgx.BeginFunc(t.Context(), p, func(tx pgx.Tx) error {
		ctx := store.WithTx(t.Context(), tx)
		for ; done < 100_000; done++ {
			if _, err := k.Do(ctx, "event:a", fmt.Sprint(done), nil, func(context.Context) error { return nil }); err != nil {
				if !errors.Is(err, idempotency.ErrUnavailable) || !strings.Contains(err.Error(), "max_locks_per_transaction") {
					t.Error(err)
				}
				return nil
			}
		}
		return errors.New("the locks never ran out")
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := count(t, p, `SELECT count(*) FROM accounting.idempotency_keys`); n != done {
		t.Errorf("%d keys are stored of %d events", n, done)
	}
}
