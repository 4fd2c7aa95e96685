package migrations

import (
	"context"
	"database/sql"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/cronce/cronce/internal/testdb"
)

// A migration that builds an index without blocking writers waits for the snapshots
// of all other transactions, and so never for a process that waits for its turn.
func TestAnIndexIsBuiltConcurrentlyWhileOthersWait(t *testing.T) {
	db, err := sql.Open("pgx", testdb.Postgres(t))
	must(t, err)
	t.Cleanup(func() { db.Close() })
	_, err = db.Exec(`CREATE TABLE things (id int)`)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	target := Target{Engine: Postgres, Schema: DefaultSchema}
	first, second := target.locker(db), target.locker(db)
	must(t, first.SessionLock(ctx, nil))
	waited := make(chan error, 1)
	go func() { waited <- second.SessionLock(ctx, nil) }()
	for asking := 0; asking < 2; { // the session that holds the lock, and the one that polls for it
		must(t, db.QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%advisory_xact_lock%'`).Scan(&asking))
	}
	_, err = db.ExecContext(ctx, `CREATE INDEX CONCURRENTLY ON things (id)`)
	if err != nil {
		t.Errorf("with a process waiting: %v", err)
	}
	must(t, first.SessionUnlock(t.Context(), nil))
	must(t, <-waited)
	must(t, second.SessionUnlock(t.Context(), nil))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
