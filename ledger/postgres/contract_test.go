package postgres_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/migrations"
)

// TestContract runs the part of the contract that the engine can break, each case in a
// schema of its own, with a second replica beside it.
func TestContract(t *testing.T) {
	contract(t, direct, ledgertest.RunEngine)
}

// TestRacesThroughPgBouncer and TestRowsThroughPgBouncer are where each transaction may be
// in another session, none of which has the ledger's settings.
func TestRacesThroughPgBouncer(t *testing.T) {
	contract(t, testdb.PgBouncer, ledgertest.RunRaces)
}

func TestRowsThroughPgBouncer(t *testing.T) { rows(t, testdb.PgBouncer) }

func TestRows(t *testing.T) { rows(t, direct) }

func rows(t *testing.T, through func(testing.TB, string) string) {
	url := testdb.Postgres(t)
	pooled, cases := through(t, url), schemas{pool: connect(t, url)}
	ledgertest.RunRows(t, func(t *testing.T) ledger.Rows { return postgres.RowsOf(open(t, pooled, cases.clock(t).options...)) })
}

func direct(_ testing.TB, url string) string { return url }

func contract(t *testing.T, through func(testing.TB, string) string, run func(*testing.T, func(*testing.T) ledgertest.Opened)) {
	url := testdb.Postgres(t)
	pooled, cases := through(t, url), schemas{pool: connect(t, url)}
	run(t, func(t *testing.T) ledgertest.Opened {
		c := cases.clock(t)
		return ledgertest.Opened{
			Store:  open(t, pooled, c.options...),
			Shift:  c.pass,
			Stop:   c.stop,
			Second: func(t *testing.T) ledger.Store { return open(t, pooled, c.options...) },
		}
	})
}

// migrated is the URL of a database with the ledger's tables.
func migrated(t testing.TB) string {
	t.Helper()
	url := testdb.Postgres(t)
	execute(t, url, tables(t, migrations.DefaultSchema))
	return url
}

// tables is the SQL that makes the ledger's tables. It is sent in one round trip:
// migrating step by step would take longer than most tests.
func tables(t testing.TB, schema string) string {
	t.Helper()
	script, err := migrations.Print(migrations.Target{Engine: migrations.Postgres, Set: migrations.Ledger, Schema: schema})
	must(t, err)
	return strings.ReplaceAll(script, "INDEX CONCURRENTLY", "INDEX") // which no transaction takes
}

func open(t testing.TB, url string, options ...postgres.Option) *postgres.Ledger {
	t.Helper()
	l, err := postgres.Open(t.Context(), url, options...)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// connect returns a pool beside the ledger's.
func connect(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	p, err := pgxpool.New(t.Context(), url)
	must(t, err)
	t.Cleanup(p.Close)
	return p
}

// movedClock is the clock of the ledger in one schema, which a test can move: a
// now() that is found before the server's.
type movedClock struct {
	pool    *pgxpool.Pool
	schema  string
	options []postgres.Option // of a ledger that reads it
}

// schemas are those of one database, each with the ledger's tables. To make them takes
// PostgreSQL ten times as long as to empty those of a case that has passed.
type schemas struct {
	pool *pgxpool.Pool
	mu   sync.Mutex
	made int
	free []string
}

func (s *schemas) take(t testing.TB) (schema, script string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		schema, s.free = s.free[n-1], s.free[:n-1]
		return schema, fmt.Sprintf(emptySchema, schema)
	}
	s.made++
	schema = fmt.Sprintf("case_%d", s.made)
	return schema, tables(t, schema)
}

const emptySchema = `
	DO $$
	DECLARE t name;
	BEGIN
		FOR t IN SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = '%[1]s' AND tablename <> 'ledger_versions'
			ORDER BY tablename = 'member_counts' -- last, as a trigger counts the runs that are deleted
		LOOP
			EXECUTE format('DELETE FROM %[1]s.%%I', t);
		END LOOP;
	END $$;
	INSERT INTO %[1]s.hour_span DEFAULT VALUES;`

// clock returns the clock of empty tables of the ledger, which are the test's until it ends.
func (s *schemas) clock(t testing.TB) movedClock {
	t.Helper()
	schema, script := s.take(t)
	script += fmt.Sprintf(`
		DROP SCHEMA IF EXISTS %[1]s_clock CASCADE;
		CREATE SCHEMA %[1]s_clock;
		CREATE TABLE %[1]s_clock.ahead AS SELECT interval '0' AS d;
		CREATE FUNCTION %[1]s_clock.now() RETURNS timestamptz STABLE LANGUAGE sql
			AS 'SELECT pg_catalog.now() + d FROM %[1]s_clock.ahead'`, schema)
	_, err := s.pool.Exec(t.Context(), script, pgx.QueryExecModeSimpleProtocol)
	must(t, err)
	t.Cleanup(func() {
		if !t.Failed() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.free = append(s.free, schema)
		}
	})
	return movedClock{s.pool, schema, []postgres.Option{
		postgres.Schema(schema), postgres.Set("search_path", schema+"_clock, "+schema+", pg_catalog"),
	}}
}

// pass moves the clock on.
func (c movedClock) pass(t *testing.T, d time.Duration) {
	t.Helper()
	_, err := c.pool.Exec(t.Context(), `UPDATE `+c.schema+`_clock.ahead SET d = d + $1::interval`, d)
	must(t, err)
}

// stop holds the clock at its time.
func (c movedClock) stop(t *testing.T) {
	t.Helper()
	_, err := c.pool.Exec(t.Context(), fmt.Sprintf(`
		ALTER TABLE %[1]s_clock.ahead ADD COLUMN at timestamptz DEFAULT pg_catalog.now();
		CREATE OR REPLACE FUNCTION %[1]s_clock.now() RETURNS timestamptz STABLE LANGUAGE sql
			AS 'SELECT at + d FROM %[1]s_clock.ahead'`, c.schema), pgx.QueryExecModeSimpleProtocol)
	must(t, err)
}

// execute runs statements past the ledger.
func execute(t testing.TB, url, script string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.PgConn().Exec(t.Context(), script).ReadAll(); err != nil {
		t.Fatal(err)
	}
}
