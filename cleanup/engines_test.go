package cleanup_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/cronce/cronce/idempotency/mysql"
	"github.com/cronce/cronce/idempotency/pgsql"
	"github.com/cronce/cronce/idempotency/postgres"
	"github.com/cronce/cronce/idempotency/purge"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/internal/testdb"
)

// keys is a real table of keys.
type keys struct {
	*testing.T
	db     *sql.DB
	open   func() (purge.Store, func(), error)
	table  string
	ago    string // SQL: the time that is so many milliseconds ago, as stored
	column string // how the engine writes the column key
}

var engines = map[string]func(*testing.T) *keys{
	"postgres": func(t *testing.T) *keys {
		url := testdb.Postgres(t)
		k := newKeys(t, "pgx", url, func(db *sql.DB) creator { return pgsql.New(db, pgsql.Options{}) })
		k.table, k.column = "cronce.idempotency_keys", "key"
		k.ago = "clock_timestamp() - %d * interval '1 millisecond'"
		k.open = func() (purge.Store, func(), error) {
			return postgres.Open(t.Context(), url, postgres.Options{})
		}
		return k
	},
	"mariadb": func(t *testing.T) *keys { return onMySQL(t, testdb.MariaDB(t)) },
	"mysql":   func(t *testing.T) *keys { return onMySQL(t, testdb.MySQL(t)) },
	"sqlite": func(t *testing.T) *keys {
		path := filepath.Join(t.TempDir(), "keys.db")
		db, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		k := &keys{T: t, db: db, table: "idempotency_keys", column: "key", ago: "CAST(unixepoch('subsec') * 1000 AS INTEGER) - %d"}
		k.create(sqlite.New(db, sqlite.Options{}))
		k.open = func() (purge.Store, func(), error) {
			db, err := sqlite.Open(path)
			return sqlite.New(db, sqlite.Options{}), func() { db.Close() }, err
		}
		return k
	},
}

func onMySQL(t *testing.T, dsn string) *keys {
	k := newKeys(t, "mysql", dsn, func(db *sql.DB) creator { return mysql.New(db, mysql.Options{}) })
	k.table, k.column = "idempotency_keys", "`key`"
	k.ago = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000 - %d"
	k.open = func() (purge.Store, func(), error) { return mysql.Open(dsn, mysql.Options{}) }
	return k
}

type creator interface{ CreateTable(context.Context) error }

func newKeys(t *testing.T, driver, address string, in func(*sql.DB) creator) *keys {
	t.Helper()
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	k := &keys{T: t, db: db}
	k.create(in(db))
	return k
}

func (k *keys) create(table creator) {
	k.Helper()
	k.Cleanup(func() { k.db.Close() })
	if err := table.CreateTable(k.Context()); err != nil {
		k.Fatal(err)
	}
}

func onEveryEngine(t *testing.T, test func(t *testing.T, k *keys)) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) { test(t, engine(t)) })
	}
}

// put stores n done keys of a scope that expired so many milliseconds ago,
// each a millisecond before the one before.
func (k *keys) put(scope string, n, agoMillis int) {
	k.Helper()
	for i := range n {
		k.exec(fmt.Sprintf("INSERT INTO %s (scope, principal, %s, request_hash, state, owner, created_at, expires_at)"+
			" VALUES ('%s', 'p', '%s-%d-%d', 'h', 'done', 'o', %s, %s)",
			k.table, k.column, scope, scope, agoMillis, i, fmt.Sprintf(k.ago, 0), fmt.Sprintf(k.ago, agoMillis+i)))
	}
}

// putUnfinished stores a key whose external call is under way, or lost.
func (k *keys) putUnfinished(state string) {
	k.Helper()
	k.exec(fmt.Sprintf("INSERT INTO %s (scope, principal, %s, request_hash, state, owner, locked_until, created_at)"+
		" VALUES ('call', 'p', '%s', 'h', '%s', 'o', %s, %s)",
		k.table, k.column, state, state, fmt.Sprintf(k.ago, 1_000_000_000), fmt.Sprintf(k.ago, 1_000_000_000)))
}

func (k *keys) exec(statement string) {
	k.Helper()
	if _, err := k.db.ExecContext(k.Context(), statement); err != nil {
		k.Fatal(err)
	}
}

// left counts the keys of a scope.
func (k *keys) left(scope string) (n int64) {
	k.Helper()
	err := k.db.QueryRowContext(k.Context(), fmt.Sprintf("SELECT count(*) FROM %s WHERE scope = '%s'", k.table, scope)).Scan(&n)
	if err != nil {
		k.Fatal(err)
	}
	return n
}

func (k *keys) store(context.Context) (purge.Store, func(), error) { return k.open() }
