package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/store"
)

// The caller may have stopped asking at its send-before time itself, on a clock
// that stands still there.
func TestACallIsLateFromItsSendBeforeOn(t *testing.T) {
	url, now := database(t), time.Date(2031, 1, 2, 3, 4, 5, 6000, time.UTC)
	admin := pool(t, url)
	must(t, admin, `CREATE SCHEMA still`)
	for _, clock := range []string{"transaction_timestamp", "clock_timestamp"} {
		must(t, admin, `CREATE FUNCTION still.`+clock+`() RETURNS timestamptz LANGUAGE sql AS $$ SELECT timestamptz '2031-01-02 03:04:05.000006Z' $$`)
	}
	stands := func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = "still, pg_catalog" }
	for mode, p := range map[string]*pgxpool.Pool{
		"prepared": pool(t, url, stands),
		"by pgx":   pool(t, url, stands, func(c *pgxpool.Config) { c.ConnConfig.Tracer = &tracer{} }),
	} {
		keys := postgres.New(p, options)
		for _, tt := range []struct {
			name       string
			sendBefore time.Time
			late       bool
		}{{"at it", now, true}, {"a microsecond before it", now.Add(time.Microsecond), false}} {
			c := store.Claim{Key: idempotency.Key{Scope: mode, Principal: "-", Value: tt.name}, Fingerprint: "f", Owner: "o",
				TTL: time.Hour, MaxRun: time.Minute, SendBefore: tt.sendBefore}
			tx, status, err := keys.Begin(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if tx.Rollback(t.Context()); status.TooLate != tt.late {
				t.Errorf("%s: work %s: late %t", mode, tt.name, status.TooLate)
			}
			if err := pgx.BeginFunc(t.Context(), p, func(outer pgx.Tx) error {
				tx, status, err := keys.Begin(keys.WithTx(t.Context(), outer), c)
				if err == nil {
					tx.Rollback(t.Context())
				}
				if status.TooLate != tt.late {
					t.Errorf("%s: joined work %s: late %t", mode, tt.name, status.TooLate)
				}
				return err
			}); err != nil {
				t.Error(err)
			}
			if status, err := keys.Reserve(t.Context(), c, time.Minute, false); err != nil || status.TooLate != tt.late {
				t.Errorf("%s: a reservation %s: late %t, %v", mode, tt.name, status.TooLate, err)
			}
		}
	}
}
