package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	modernc "modernc.org/sqlite"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/idempotency/idempotencytest"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/migrations"
)

// A service may have opened its file without Open.
func TestContractOnConnectionsThatKeepNothing(t *testing.T) {
	idempotencytest.Run(t, func(t *testing.T) idempotencytest.Engine {
		path := fresh(t)
		patient := strings.Replace(sqlite.Source(path), url.QueryEscape("busy_timeout(5000)"), url.QueryEscape("busy_timeout(60000)"), 1)
		db, err := sql.Open("sqlite", patient)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return engineOn(t, path, db)
	})
}

func kit(t *testing.T, db *sql.DB, table string) *idempotency.Kit {
	t.Helper()
	k, err := idempotency.New(sqlite.New(db, sqlite.Options{Table: table}), idempotency.Options{Principal: idempotency.SinglePrincipal("x")})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// pay does the work "paid" under the key once.
func pay(t *testing.T, k *idempotency.Kit, key string) (duplicate bool, err error) {
	return k.Do(t.Context(), "s", key, nil, func(ctx context.Context) error {
		_, err := sqlite.Tx(ctx).ExecContext(ctx, `INSERT INTO effects VALUES ('paid')`)
		return err
	})
}

func paid(t *testing.T, k *idempotency.Kit, key string, again bool) {
	t.Helper()
	if duplicate, err := pay(t, k, key); duplicate != again || err != nil {
		t.Errorf("%s: duplicate %t, %v; want %t", key, duplicate, err, again)
	}
}

// With a statement left, SQLite would keep a closed connection's file open, and
// the last one would not remove the log.
func TestAConnectionThatThePoolClosesLeavesNothingOpen(t *testing.T) {
	for name, set := range map[string]func(*sql.DB){
		"at the end":    func(*sql.DB) {},
		"after each":    func(db *sql.DB) { db.SetMaxIdleConns(-1) },
		"for its age":   func(db *sql.DB) { db.SetConnMaxLifetime(time.Nanosecond) },
		"when there is": func(db *sql.DB) { db.SetMaxOpenConns(1) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "keys.db")
			db, err := sqlite.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			migrate(t, db, "")
			set(db)
			k := kit(t, db, "")
			for _, again := range []bool{false, true, true} {
				paid(t, k, "k", again)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the log is still there: %v", err)
			}
		})
	}
}

// What a migration does while a service runs, from another process.
func TestStatementsOutliveAChangeOfTheSchema(t *testing.T) {
	path := fresh(t)
	db, other := open(t, path), open(t, path)
	k := kit(t, db, "")
	paid(t, k, "before", false)

	must(t, other, `ALTER TABLE idempotency_keys ADD COLUMN note TEXT`)
	must(t, other, `CREATE INDEX more ON idempotency_keys (owner)`)
	paid(t, k, "before", true)
	paid(t, k, "after", false)

	must(t, other, `ALTER TABLE idempotency_keys RENAME TO away`)
	if _, err := pay(t, k, "gone"); !errors.Is(err, idempotency.ErrUnavailable) {
		t.Errorf("without its table: %v", err)
	}
	must(t, other, `ALTER TABLE away RENAME TO idempotency_keys`)
	paid(t, k, "after", true)
	paid(t, k, "gone", false)

	must(t, other, `DROP TABLE idempotency_keys`)
	must(t, other, `DROP TABLE idempotency_keys_versions`)
	migrate(t, other, "")
	paid(t, k, "after", false)
	paid(t, k, "after", true)
}

// And within the handler's own transaction.
func TestTheSchemaMayChangeInTheWork(t *testing.T) {
	k := kit(t, open(t, fresh(t)), "")
	paid(t, k, "first", false)
	_, err := k.Do(t.Context(), "s", "k", nil, func(ctx context.Context) error {
		_, err := sqlite.Tx(ctx).ExecContext(ctx, `CREATE TABLE later (n INTEGER); CREATE INDEX late ON idempotency_keys (owner)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	paid(t, k, "k", true)
	paid(t, k, "first", true)
}

func TestAConnectionKeepsStatementsWithinABound(t *testing.T) {
	db := open(t, fresh(t))
	db.SetMaxOpenConns(1)
	most := 0
	for n := range sqlite.MaxKept {
		table := fmt.Sprint("keys_", n)
		migrate(t, db, table)
		k := kit(t, db, table)
		paid(t, k, "k", false)
		paid(t, k, "k", true)
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		kept, err := sqlite.Kept(conn)
		if err != nil || kept == 0 || kept > sqlite.MaxKept {
			t.Fatalf("%d statements are kept, %v", kept, err)
		}
		most = max(most, kept)
		conn.Close()
	}
	if most < sqlite.MaxKept-2 {
		t.Errorf("at most %d were kept; the bound was not tested", most)
	}
}

// Backups and hooks are to be had from Open's connections as from the driver's.
func TestOpensConnectionsCanDoWhatTheDriversCan(t *testing.T) {
	db := open(t, fresh(t))
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = conn.Raw(func(dc any) error {
		if _, ok := dc.(modernc.HookRegisterer); !ok {
			t.Error("no hooks")
		}
		backup, err := dc.(interface {
			NewBackup(string) (*modernc.Backup, error)
		}).NewBackup(filepath.Join(t.TempDir(), "copy.db"))
		if err != nil {
			return err
		}
		if _, err := backup.Step(-1); err != nil {
			return err
		}
		return backup.Finish()
	})
	if err != nil {
		t.Error(err)
	}
}

func migrate(t testing.TB, db *sql.DB, table string) {
	t.Helper()
	if _, err := migrations.Up(t.Context(), db, migrations.Target{Engine: migrations.SQLite, Set: migrations.Keys, Table: table}); err != nil {
		t.Fatal(err)
	}
	must(t, db, `CREATE TABLE IF NOT EXISTS effects (name TEXT)`)
}
