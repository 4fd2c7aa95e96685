package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger/ledgertest"
	"github.com/cronce/cronce/ledger/postgres"
)

// TestContract runs the suite that every ledger passes, with a second replica
// on the same database.
func TestContract(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledgertest.Opened {
		url := migrated(t)
		return ledgertest.Opened{
			Store:  open(t, url),
			Shift:  func(t *testing.T, d time.Duration) { age(t, url, d) },
			Second: func(t *testing.T) ledgertest.Store { return open(t, url) },
		}
	})
}

// migrated is the URL of a database with the ledger's tables.
func migrated(t testing.TB) string {
	t.Helper()
	url := testdb.Postgres(t)
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
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

// times are the columns that grow older when time passes.
var times = map[string][]string{
	"definitions": {"first_declared_at"},
	"processes":   {"heartbeat_at"},
	"jobs":        {"watermark", "purged_before", "ended_at", "paused_at"},
	"runs": {"scheduled_at", "until", "planned_at", "started_at", "finished_at", "acked_at", "send_before",
		"due_at", "leased_at"},
	"attempts": {"started_at", "finished_at"},
	"events":   {"at"},
}

// age makes everything in the ledger older: time on the store's own clock
// cannot be moved.
func age(t testing.TB, url string, d time.Duration) {
	t.Helper()
	var script strings.Builder
	for table, columns := range times {
		sets := make([]string, len(columns))
		for i, c := range columns {
			sets[i] = fmt.Sprintf("%s = %s - interval '%d microseconds'", c, c, d.Microseconds())
		}
		fmt.Fprintf(&script, "UPDATE cronce.%s SET %s;\n", table, strings.Join(sets, ", "))
	}
	execute(t, url, script.String())
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
