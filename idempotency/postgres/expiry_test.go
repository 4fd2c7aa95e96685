package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
)

const day = 24 * time.Hour // the default TTL

func clockOf(t *testing.T, q interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}) (now time.Time) {
	t.Helper()
	if err := q.QueryRow(context.Background(), `SELECT clock_timestamp()`).Scan(&now); err != nil {
		t.Fatal(err)
	}
	return now
}

// Of every way to the server: what is stored is what is said, and it is the TTL
// after a moment between the request and its reply.
func TestAKeyExpiresATTLAfterItsWork(t *testing.T) {
	url := database(t)
	for mode, p := range map[string]*pgxpool.Pool{
		"prepared": pool(t, url),
		"by pgx":   pool(t, url, func(c *pgxpool.Config) { c.ConnConfig.Tracer = &tracer{} }),
	} {
		t.Run(mode, func(t *testing.T) {
			before := clockOf(t, p)
			w := serve(kit(t, p), mode[:2], pay)
			after := clockOf(t, p)
			var stored time.Time
			if err := p.QueryRow(t.Context(), `SELECT expires_at FROM accounting.idempotency_keys WHERE key = $1`, mode[:2]).Scan(&stored); err != nil {
				t.Fatal(err)
			}
			if said := w.Header().Get("Idempotency-Key-Expires"); said != stored.UTC().Format(idempotency.ExpiresLayout) {
				t.Errorf("said %s, stored %v", said, stored)
			}
			if done := stored.Add(-day); done.Before(before) || done.After(after) {
				t.Errorf("done at %v, which is not from %v to %v", done, before, after)
			}
		})
	}
}

// A transaction that was handed in may be hours old.
func TestInATransactionHandedInTheTTLRunsFromTheWork(t *testing.T) {
	p := pool(t, database(t))
	store := postgres.New(p, options)
	k, err := idempotency.New(store, idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
	if err != nil {
		t.Fatal(err)
	}
	err = pgx.BeginFunc(t.Context(), p, func(tx pgx.Tx) error {
		before := clockOf(t, tx) // after the transaction's own time
		if _, err := k.Do(store.WithTx(t.Context(), tx), "s", "k", nil, func(context.Context) error { return nil }); err != nil {
			return err
		}
		var stored time.Time
		err := tx.QueryRow(t.Context(), `SELECT expires_at FROM accounting.idempotency_keys`).Scan(&stored)
		if stored.Add(-day).Before(before) {
			t.Errorf("done at %v, before it was begun at %v", stored.Add(-day), before)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
