package main

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/fakelambda"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
)

// A function is killed in the middle of a call, and its event is not delivered
// again. Nobody but the job's next event can finish that run, and does, whether a
// pooler shares the database's sessions or not.
func TestTheNextEventFinishesTheRunOfAKilledFunction(t *testing.T) {
	for name, through := range map[string]func(testing.TB, string) string{
		"direct":    func(_ testing.TB, db string) string { return db },
		"PgBouncer": testdb.PgBouncer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, tg := testdb.Postgres(t), newTarget(t)
			l := migrated(t, db)
			fn := tg.function(registryFile(t, releaseJob), through(t, db))
			tg.hold(func(n int) bool {
				if n == 1 {
					fn.Kill()
				}
				return true
			})
			first, second := minute().Add(-time.Minute), minute()
			if out := fn.Invoke(fakelambda.Event{RequestID: "r-1", Payload: releaseEvent(first)}); !out.Crashed {
				t.Fatalf("outcome %+v", out)
			}
			tg.hold(nil)
			expire(t, db)
			succeeded(t, fn.Invoke(fakelambda.Event{RequestID: "r-2", Payload: releaseEvent(second)}), releaseRun(second))
			for _, r := range mustRuns(t, l, ledger.Filter{}) {
				if r.State != ledger.Succeeded {
					t.Errorf("%s is %s (%s)", r.ID, r.State, r.Reason)
				}
			}
			tg.wantEffects(releaseRun(first), releaseRun(second))
		})
	}
}

// expire ends the leases of a database, as their time would.
func expire(t *testing.T, db string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if tag, err := c.Exec(t.Context(), `UPDATE cronce.runs SET due_at = now() WHERE state = 'running'`); err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%d leases, %v", tag.RowsAffected(), err)
	}
}
