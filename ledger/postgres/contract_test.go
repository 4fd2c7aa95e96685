package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/postgres"
	"github.com/cronce/cronce/ledger/postgres/migrate"
)

// TestContract runs the suite that every ledger passes, each case in a schema
// of its own, with a second replica beside it.
func TestContract(t *testing.T) {
	contract(t, func(url string) string { return url })
}

// TestContractThroughPgBouncer runs the suite where each transaction may be in
// another session, none of which has the ledger's settings.
func TestContractThroughPgBouncer(t *testing.T) {
	contract(t, func(url string) string { return testdb.PgBouncer(t, url) })
}

func contract(t *testing.T, through func(url string) string) {
	url := testdb.Postgres(t)
	pooled := through(url)
	cases := 0
	ledgertest.Run(t, func(t *testing.T) ledgertest.Opened {
		cases++
		schema := fmt.Sprintf("case_%d", cases)
		options := []postgres.Option{postgres.Schema(schema), setClock(t, url, schema)}
		if _, err := migrate.Up(t.Context(), url, options...); err != nil {
			t.Fatal(err)
		}
		return ledgertest.Opened{
			Store:  open(t, pooled, options...),
			Shift:  func(t *testing.T, d time.Duration) { pass(t, url, schema, d) },
			Second: func(t *testing.T) ledger.Store { return open(t, pooled, options...) },
		}
	})
}

// migrated is the URL of a database with the ledger's tables.
func migrated(t testing.TB) string {
	t.Helper()
	url := testdb.Postgres(t)
	if _, err := migrate.Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return url
}

func open(t testing.TB, url string, options ...postgres.Option) *postgres.Ledger {
	t.Helper()
	l, err := postgres.Open(t.Context(), url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// setClock gives a ledger's schema a clock that a test can move: a now() that is
// found before the server's.
func setClock(t testing.TB, url, schema string) postgres.Option {
	t.Helper()
	execute(t, url, fmt.Sprintf(`
		CREATE SCHEMA %[1]s_clock;
		CREATE TABLE %[1]s_clock.ahead AS SELECT interval '0' AS d;
		CREATE FUNCTION %[1]s_clock.now() RETURNS timestamptz STABLE LANGUAGE sql
			AS 'SELECT pg_catalog.now() + d FROM %[1]s_clock.ahead'`, schema))
	return postgres.Set("search_path", schema+"_clock, "+schema+", pg_catalog")
}

// pass moves the clock on.
func pass(t testing.TB, url, schema string, d time.Duration) {
	t.Helper()
	execute(t, url, fmt.Sprintf(`UPDATE %s_clock.ahead SET d = d + interval '%d microseconds'`, schema, d.Microseconds()))
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
