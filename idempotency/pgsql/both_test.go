package pgsql_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/pgsql"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/store"
)

// A service may use both packages on one table: a key that one has taken is in
// flight for the other, and each replays what the other has stored.
func TestBothPackagesShareTheKeysOfATable(t *testing.T) {
	url := database(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	stores := []store.Store{
		pgsql.New(drivers["pgx"](t, url, nil), options),
		postgres.New(pool, postgres.Options{Schema: options.Schema}),
	}
	var kits []*idempotency.Kit
	for _, s := range stores {
		k, err := idempotency.New(s, idempotency.Options{Principal: idempotency.SinglePrincipal("x"), Wait: -1})
		if err != nil {
			t.Fatal(err)
		}
		kits = append(kits, k)
	}
	nothing := func(context.Context) error { return nil }
	for n, key := range []string{"a", "b"} {
		one, other := kits[n], kits[1-n]
		duplicate, err := one.Do(t.Context(), "s", key, nil, func(context.Context) error {
			if _, err := other.Do(t.Context(), "s", key, nil, nothing); !errors.Is(err, idempotency.ErrInProgress) {
				t.Errorf("%s, in flight: %v", key, err)
			}
			_, _, err := idempotency.Call(t.Context(), other, idempotency.Operation{Scope: "s", Key: key},
				idempotency.Effect[int]{Do: func(context.Context) (int, error) { return 0, errors.New("called") }})
			if !errors.Is(err, idempotency.ErrInProgress) {
				t.Errorf("%s, in flight for a call: %v", key, err)
			}
			return nil
		})
		if duplicate || err != nil {
			t.Error(duplicate, err)
		}
		if duplicate, err := other.Do(t.Context(), "s", key, nil, nothing); !duplicate || err != nil {
			t.Errorf("%s, stored: duplicate %t, %v", key, duplicate, err)
		}
	}
}
