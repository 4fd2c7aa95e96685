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
	cases := &schemas{test: t, url: through(t, url), pool: connect(t, url)}
	ledgertest.RunRows(t, func(t *testing.T) ledger.Rows { return postgres.RowsOf(cases.clock(t).open(t)) })
}

func direct(_ testing.TB, url string) string { return url }

func contract(t *testing.T, through func(testing.TB, string) string, run func(*testing.T, func(*testing.T) ledgertest.Opened)) {
	url := testdb.Postgres(t)
	cases := &schemas{test: t, url: through(t, url), pool: connect(t, url)}
	run(t, func(t *testing.T) ledgertest.Opened {
		c := cases.clock(t)
		second := c.open
		if cases.url != url {
			second = c.connect // which detects the pooler anew
		}
		return ledgertest.Opened{
			Store:  c.open(t),
			Shift:  c.pass,
			Stop:   c.stop,
			Second: func(t *testing.T) ledger.Store { return second(t) },
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
	script, err := migrations.Print(migrations.Target{Engine: migrations.Postgres, Schema: schema})
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
	*schema
	pool *pgxpool.Pool
}

// schemas are those of one database, each with the ledger's tables. To make them takes
// PostgreSQL ten times as long as to empty those of a case that has passed, and to
// connect takes longer than most cases.
type schemas struct {
	test testing.TB // of all cases
	url  string     // of the ledgers
	pool *pgxpool.Pool
	mu   sync.Mutex
	made int
	free []*schema
}

type schema struct {
	of   *schemas
	name string
	free []*postgres.Ledger // open, and used by no case
}

func (s *schemas) take() (_ *schema, used bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		first := s.free[n-1]
		s.free = s.free[:n-1]
		return first, true
	}
	s.made++
	return &schema{of: s, name: fmt.Sprintf("case_%d", s.made)}, false
}

// open returns a ledger that reads the clock of the schema, and is the case's until it ends.
func (s *schema) open(t testing.TB) *postgres.Ledger {
	t.Helper()
	var l *postgres.Ledger
	if n := len(s.free); n > 0 {
		l, s.free = s.free[n-1], s.free[:n-1]
	} else {
		l = s.connect(s.of.test)
	}
	t.Cleanup(func() { s.free = append(s.free, l) })
	return postgres.Anew(l)
}

// connect returns a ledger like that of open with connections of its own.
func (s *schema) connect(t testing.TB) *postgres.Ledger {
	t.Helper()
	return open(t, s.of.url, postgres.Schema(s.name), postgres.Set("search_path", s.name+"_clock, "+s.name+", pg_catalog"))
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
	c, used := s.take()
	script := fmt.Sprintf(emptySchema, c.name)
	if !used {
		script = tables(t, c.name)
	}
	script += fmt.Sprintf(`
		DROP SCHEMA IF EXISTS %[1]s_clock CASCADE;
		CREATE SCHEMA %[1]s_clock;
		CREATE TABLE %[1]s_clock.ahead AS SELECT interval '0' AS d;
		CREATE FUNCTION %[1]s_clock.now() RETURNS timestamptz STABLE LANGUAGE sql
			AS 'SELECT pg_catalog.now() + d FROM %[1]s_clock.ahead'`, c.name)
	_, err := s.pool.Exec(t.Context(), script, pgx.QueryExecModeSimpleProtocol)
	must(t, err)
	t.Cleanup(func() {
		if !t.Failed() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.free = append(s.free, c)
		}
	})
	return movedClock{c, s.pool}
}

// pass moves the clock on.
func (c movedClock) pass(t *testing.T, d time.Duration) {
	t.Helper()
	_, err := c.pool.Exec(t.Context(), `UPDATE `+c.name+`_clock.ahead SET d = d + $1::interval`, d)
	must(t, err)
}

// stop holds the clock at its time.
func (c movedClock) stop(t *testing.T) {
	t.Helper()
	_, err := c.pool.Exec(t.Context(), fmt.Sprintf(`
		ALTER TABLE %[1]s_clock.ahead ADD COLUMN at timestamptz DEFAULT pg_catalog.now();
		CREATE OR REPLACE FUNCTION %[1]s_clock.now() RETURNS timestamptz STABLE LANGUAGE sql
			AS 'SELECT at + d FROM %[1]s_clock.ahead'`, c.name), pgx.QueryExecModeSimpleProtocol)
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
