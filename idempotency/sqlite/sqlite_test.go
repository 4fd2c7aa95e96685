package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	modernc "modernc.org/sqlite"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/idempotencytest"
	"github.com/cronce/cronce/idempotency/sqlite"
)

func TestContract(t *testing.T) { idempotencytest.Run(t, engine) }

// A service may have opened its file without Open.
func TestContractOnAnyPool(t *testing.T) {
	idempotencytest.Run(t, func(t *testing.T) idempotencytest.Engine {
		path := fresh(t)
		deferred := strings.NewReplacer("busy_timeout%285000", "busy_timeout%2860000", "_txlock=immediate", "_txlock=deferred").Replace(sqlite.Source(path))
		plain, err := modernc.NewConnector(deferred)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(faulty{plain, nil, time.Minute})
		t.Cleanup(func() { db.Close() })
		return engineOn(t, path, db)
	})
}

// open opens the file as one process does, with the tables in it.
func open(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestFaults(t *testing.T) {
	idempotencytest.RunFaults(t, idempotencytest.Service{
		Fresh: func(t *testing.T) string { return fresh(t) },
		Open: func(t *testing.T, path string, f *idempotencytest.Fault) idempotencytest.Engine {
			return engineOn(t, path, openFaulty(t, path, f))
		},
	})
}

// fresh is the path of a file with the tables in it.
func fresh(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys?#%.db")
	migrate(t, open(t, path), "")
	return path
}

func engine(t *testing.T) idempotencytest.Engine {
	path := fresh(t)
	return engineOn(t, path, openWaiting(t, path, nil, time.Minute))
}

func engineOn(t *testing.T, path string, db *sql.DB) idempotencytest.Engine {
	other := openWaiting(t, path, nil, time.Minute)
	store := sqlite.New(db, sqlite.Options{})
	down := open(t, path)
	down.Close()
	return idempotencytest.Engine{
		Store:         store,
		Other:         sqlite.New(other, sqlite.Options{}),
		ShortLockWait: sqlite.New(openFaulty(t, path, nil), sqlite.Options{}),
		Down:          sqlite.New(down, sqlite.Options{}),
		OneWriter:     true,
		Write: func(ctx context.Context, name string) error {
			_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO effects VALUES (?)`, name)
			return err
		},
		Written: func(name string) (n int) {
			if err := other.QueryRow(`SELECT count(*) FROM effects WHERE name = ?`, name).Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		},
		Age: func(k idempotency.Key, by time.Duration) {
			must(t, db, `UPDATE idempotency_keys SET expires_at = expires_at - ?4, locked_until = locked_until - ?4, created_at = created_at - ?4
				WHERE scope = ?1 AND principal = ?2 AND key = ?3`, k.Scope, k.Principal, k.Value, by.Milliseconds())
		},
		Kill: func(ctx context.Context) { _, _ = sqlite.Tx(ctx).Exec(breakIt) },
		End: func(ctx context.Context, commit bool) error {
			_, err := sqlite.Tx(ctx).ExecContext(ctx, ending(commit))
			return err
		},
		CommitAndBegin: func(ctx context.Context) error {
			_, err := sqlite.Tx(ctx).ExecContext(ctx, `COMMIT; BEGIN IMMEDIATE`)
			return err
		},
		InTx: func(commit bool, fn func(context.Context) error) error {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if err := fn(store.WithTx(t.Context(), tx)); err != nil || !commit {
				return err
			}
			return tx.Commit()
		},
	}
}

func ending(commit bool) string {
	if commit {
		return `COMMIT`
	}
	return `ROLLBACK`
}

func must(t testing.TB, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}
