package main

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/internal/testdb"
)

// Between events an environment is frozen, and what stands between it and the
// database forgets its connection.
func TestAConnectionLostBetweenEventsFailsNone(t *testing.T) {
	t.Parallel()
	db, tg := testdb.Postgres(t), newTarget(t)
	migrated(t, db)
	fn := tg.function(registryFile(t, releaseJob), db)
	first, second := minute(), minute().Add(-time.Minute)
	succeeded(t, fn.Invoke(fakelambda.Event{RequestID: "r-1", Payload: releaseEvent(first)}), releaseRun(first))
	<-time.After(1500 * time.Millisecond) // frozen
	c, err := pgx.Connect(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	tag, err := c.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'cronce lambda' AND datname = current_database()`)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%d connections, want the one of a Lambda; %v", tag.RowsAffected(), err)
	}
	succeeded(t, fn.Invoke(fakelambda.Event{RequestID: "r-2", Payload: releaseEvent(second)}), releaseRun(second))
	tg.wantEffects(releaseRun(first), releaseRun(second))
}
