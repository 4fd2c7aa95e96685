package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

func TestOpenSaysWhatIsWrongAndNeverThePassword(t *testing.T) {
	const password = "hunter2-secret"
	cases := []struct {
		name, url string
		want      error // nil: any
	}{
		{"nobody listens", "postgres://u:" + password + "@127.0.0.1:1/db?sslmode=disable", ledger.ErrUnavailable},
		{"no such host", "postgres://u:" + password + "@no-such-host.invalid/db", ledger.ErrUnavailable},
		{"not a port", "postgres://u:" + password + "@127.0.0.1:port/db", nil},
		{"not a URL", "postgres://u:" + password + "@[::/db", nil},
		{"an option that is none", "postgres://u:" + password + "@127.0.0.1/db?sslmode=perhaps", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := postgres.Open(t.Context(), c.url)
			if err == nil || (c.want != nil && !errors.Is(err, c.want)) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if strings.Contains(fmt.Sprintf("%v %+v %q", err, err, err), password) {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

func TestOpenRefusesADatabaseWithoutTheTables(t *testing.T) {
	if _, err := postgres.Open(t.Context(), testdb.Postgres(t)); !errors.Is(err, ledger.ErrSchema) {
		t.Errorf("error %v, want %v", err, ledger.ErrSchema)
	}
}

func TestOpenRefusesTablesOlderThanTheProgram(t *testing.T) {
	url := migrated(t)
	execute(t, url, `DELETE FROM cronce.ledger_versions WHERE version_id > 0`)
	if _, err := postgres.Open(t.Context(), url); !errors.Is(err, ledger.ErrSchema) {
		t.Errorf("error %v, want %v", err, ledger.ErrSchema)
	}
}

func TestATerminatedSessionIsUnavailableOnceThenReplaced(t *testing.T) {
	url := migrated(t)
	l := open(t, url, postgres.PoolSize(1))
	must(t, l.Ping(t.Context()))
	blocker := begin(t, url, `LOCK TABLE cronce.jobs`)
	failed := make(chan error, 1)
	go func() {
		_, err := l.Jobs(context.WithoutCancel(t.Context()))
		failed <- err
	}()
	waitForLock(t, url)
	execute(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'cronce' AND wait_event_type = 'Lock'`)
	if err := <-failed; !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("error %v, want %v", err, ledger.ErrUnavailable)
	}
	must(t, blocker.Rollback(t.Context()))
	_, err := l.Jobs(t.Context())
	must(t, err)
}

func TestACanceledCallIsUnavailableAndCanceled(t *testing.T) {
	l := open(t, migrated(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Counts(ctx); !errors.Is(err, ledger.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want both unavailable and canceled", err)
	}
}

func TestAClosedLedgerIsUnavailable(t *testing.T) {
	l := open(t, migrated(t))
	must(t, l.Close())
	if err := l.Ping(t.Context()); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("error %v, want %v", err, ledger.ErrUnavailable)
	}
}

// begin is a transaction of somebody else's, in which a statement was run.
func begin(t testing.TB, url, statement string) pgx.Tx {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), statement)
	must(t, err)
	return tx
}

// waitForLock returns when a session of the ledger waits for a lock.
func waitForLock(t testing.TB, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		var waiting bool
		must(t, conn.QueryRow(t.Context(), `
			SELECT EXISTS (SELECT FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'cronce' AND wait_event_type = 'Lock')`).Scan(&waiting))
		if waiting {
			return
		}
	}
	t.Fatal("no session of the ledger came to wait for a lock")
}
