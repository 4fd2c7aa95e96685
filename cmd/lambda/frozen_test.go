package main

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/internal/testdb"
)

// Between events an environment is frozen, for as long as the platform likes: it
// holds no connection meanwhile, which others may need, and which it would find
// dead.
func TestAFrozenEnvironmentHoldsNoConnection(t *testing.T) {
	t.Parallel()
	db, tg := testdb.Postgres(t), newTarget(t)
	migrated(t, db)
	fn := tg.function(registryFile(t, releaseJob), db)
	c, err := pgx.Connect(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	first, second := minute(), minute().Add(-time.Minute)
	succeeded(t, fn.Invoke(fakelambda.Event{RequestID: "r-1", Payload: releaseEvent(first)}), releaseRun(first))
	awaitNoConnections(t, c)
	succeeded(t, fn.Invoke(fakelambda.Event{RequestID: "r-2", Payload: releaseEvent(second)}), releaseRun(second))
	awaitNoConnections(t, c)
	tg.wantEffects(releaseRun(first), releaseRun(second))
}

// awaitNoConnections waits until the server has noticed that the functions'
// connections are closed.
func awaitNoConnections(t *testing.T, c *pgx.Conn) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		var n int
		err := c.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cronce lambda' AND datname = current_database()`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d connections of functions that are not at work", n)
		}
	}
}
