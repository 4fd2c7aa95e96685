package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/postgres/migrate"
)

// Behind a pooler sessions are shared, also with programs that rely on the
// database's defaults: the ledger's statements have its settings, and the
// sessions keep theirs.
func TestAPoolersSessionsKeepTheirSettings(t *testing.T) {
	url := testdb.Postgres(t)
	execute(t, url, `
		DO $$ BEGIN
			EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = ''repeatable read''', current_database());
			EXECUTE format('ALTER DATABASE %I SET search_path = nowhere', current_database());
		END $$`)
	pooled := testdb.PgBouncer(t, url)
	var replicas sync.WaitGroup
	for range 3 { // start at once, and each migrates
		replicas.Go(func() {
			if _, err := migrate.Up(t.Context(), pooled); err != nil {
				t.Error(err)
			}
		})
	}
	replicas.Wait()
	for i := range 40 {
		replicas.Go(func() {
			l, err := postgres.Open(t.Context(), pooled, postgres.PoolSize(1), postgres.Registry("acme"))
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Close()
			for n := range 4 {
				makeRun(t, l, fmt.Sprintf("job-%d", n), i)
			}
		})
	}
	replicas.Wait()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	var succeeded, locks int
	must(t, conn.QueryRow(t.Context(), `
		SELECT (SELECT count(*) FROM cronce.runs WHERE state = 'succeeded'), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&succeeded, &locks))
	if succeeded != 160 || locks != 0 {
		t.Errorf("%d runs succeeded and %d locks were left behind; want 160 and none", succeeded, locks)
	}
	expectDefaults(t, pooled)
}

// expectDefaults looks at the sessions of a pooler that are handed out next.
func expectDefaults(t *testing.T, pooled string) {
	t.Helper()
	through, err := pgx.ParseConfig(pooled)
	must(t, err)
	through.DefaultQueryExecMode = pgx.QueryExecModeExec
	for range 20 {
		conn, err := pgx.ConnectConfig(t.Context(), through)
		must(t, err)
		var path, scan string
		must(t, conn.QueryRow(t.Context(), `SELECT current_setting('search_path'), current_setting('enable_seqscan')`).Scan(&path, &scan))
		must(t, conn.Close(t.Context()))
		if path != "nowhere" || scan != "on" {
			t.Fatalf("a session of the pooler was left with search_path %q, enable_seqscan %q", path, scan)
		}
	}
}

// makeRun enters, leases and records one run.
func makeRun(t *testing.T, l *postgres.Ledger, job string, i int) {
	at := time.Date(2026, 3, 1, 0, 0, i, 0, time.UTC)
	id := fmt.Sprintf("%s@%s", job, at.Format("2006-01-02T15:04:05Z"))
	got, err := l.Enter(t.Context(), ledger.Entry{
		JobID: job, Process: "p", Token: id, LeaseFor: time.Minute,
		RunSpec: ledger.RunSpec{
			RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule, Overlap: ledger.OverlapAllow,
			Call: ledger.CallSpec{Target: "t", Timeout: time.Minute, Horizon: time.Hour}, Lease: true,
		},
	})
	if err != nil || got.Work == nil {
		t.Errorf("%s: entered %+v, %v", id, got, err)
		return
	}
	if results, err := l.Record(t.Context(), []ledger.Outcome{succeeded(*got.Work)}); err != nil || results[0] != ledger.Recorded {
		t.Errorf("%s: recorded %v, %v", id, results, err)
	}
}
