package chaos_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/cronce/cronce/chaos"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/sqlite"
	"github.com/cronce/cronce/migrations"
)

// No notification is lost, none is without its incident, and what is sent again has its
// key, while the scheduler is killed at each step of a problem and of its end.
func TestNotificationsSurviveKills(t *testing.T) {
	cronce := build(t, "cronce", "scheduler")
	t.Run(chaos.EngineSQLite, func(t *testing.T) {
		t.Parallel()
		o := &chaos.Outbox{Cronce: cronce, Dir: workDir(t)}
		file := filepath.Join(o.Dir, "ledger.db")
		o.Ledger = "sqlite:" + file
		o.Open = func(ctx context.Context) (ledger.Store, error) {
			return sqlite.Open(ctx, file, sqlite.Options{SkipMigrations: true})
		}
		must(t, o.Run(t.Context()))
	})
	t.Run(chaos.EnginePostgres, func(t *testing.T) {
		t.Parallel()
		database, err := testdb.PostgresServer(t).Create("outbox")
		must(t, err)
		db, err := sql.Open("pgx", database)
		must(t, err)
		defer db.Close()
		_, err = migrations.Up(t.Context(), db, migrations.Target{Engine: migrations.Postgres})
		must(t, err)
		o := &chaos.Outbox{Cronce: cronce, Dir: workDir(t), Ledger: database}
		o.Open = func(ctx context.Context) (ledger.Store, error) { return postgres.Open(ctx, database) }
		must(t, o.Run(t.Context()))
	})
}
