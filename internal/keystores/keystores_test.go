package keystores_test

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cronce/cronce/cleanup"
	"github.com/cronce/cronce/idempotency/sqlite"
	"github.com/cronce/cronce/internal/keystores"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/migrations"
)

func purge(t *testing.T, url, schema string) (cleanup.Report, error) {
	t.Helper()
	r, err := jobs.NewRegistry(jobs.Name("acme"), jobs.KeyStore{Name: "db", URLEnv: "DB_URL", Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) { return url, url != "" && name == "DB_URL" }
	return cleanup.New(r, keystores.Of(r, env), nil).Run(t.Context())
}

func one(t *testing.T, url, schema string) {
	t.Helper()
	if report, err := purge(t, url, schema); err != nil || report.Deleted != 1 {
		t.Errorf("schema %q: %+v, %v", schema, report, err)
	}
}

func TestPostgresTableIsFoundBySchemaOrSearchPathOrInCronce(t *testing.T) {
	url := testdb.Postgres(t)
	joint := "?"
	if strings.Contains(url, "?") {
		joint = "&"
	}
	url += joint + "search_path=public" // else the role's own schema comes first
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, schema := range []string{"cronce", "accounting", "public"} {
		tables, err := migrations.PrintKeys(migrations.Postgres, schema, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(t.Context(), tables+`;
INSERT INTO `+schema+`.idempotency_keys (scope, principal, key, request_hash, state, owner, created_at, expires_at)
VALUES ('a', 'p', 'k', 'h', 'done', 'o', now(), now() - interval '1 hour')`); err != nil {
			t.Fatal(err)
		}
		if schema == "cronce" {
			one(t, url, "") // in no schema that the connection searches
		}
	}
	one(t, url, "accounting")
	one(t, url, "") // public is searched
	if _, err := purge(t, url, "nowhere"); err == nil || !strings.Contains(err.Error(), "table idempotency_keys not found in schema nowhere") {
		t.Errorf("another schema: %v", err)
	}
}

func TestMySQLIsNamedByTheDriversFormOrAURL(t *testing.T) {
	testdb.EachMySQL(t, func(t *testing.T, fresh func(testing.TB) string) { mysqlIsNamed(t, fresh(t)) })
}

func mysqlIsNamed(t *testing.T, dsn string) {
	_, database, _ := strings.Cut(dsn, ")/")
	tables, err := migrations.PrintKeys(migrations.MySQL, "", "")
	if err != nil {
		t.Fatal(err)
	}
	run(t, dsn, tables)
	for name, url := range map[string]string{"DSN": dsn, "URL": asURL(t, dsn)} {
		run(t, dsn, "INSERT INTO idempotency_keys (scope, principal, `key`, request_hash, state, owner, created_at, expires_at) VALUES ('a', 'p', 'k', 'h', 'done', 'o', 1, 2)")
		t.Run(name, func(t *testing.T) { one(t, url, "") })
	}
	run(t, dsn, "INSERT INTO idempotency_keys (scope, principal, `key`, request_hash, state, owner, created_at, expires_at) VALUES ('a', 'p', 'k', 'h', 'done', 'o', 1, 2)")
	one(t, strings.TrimSuffix(dsn, database), database)
}

func TestSQLiteIsAPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.db")
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := sqlite.New(db, sqlite.Options{}).CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO idempotency_keys (scope, principal, key, request_hash, state, owner, created_at, expires_at) VALUES ('a', 'p', 'k', 'h', 'done', 'o', 1, 2)`); err != nil {
		t.Fatal(err)
	}
	one(t, "sqlite:"+path, "")
}

func TestAMissingSQLiteFileIsNotMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.db")
	if _, err := purge(t, "sqlite:"+path, ""); err == nil || !strings.Contains(err.Error(), "the SQLite file does not exist") {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a purge made a database")
	}
}

func TestNoErrorShowsAStoresURL(t *testing.T) {
	for _, url := range []string{
		"postgres://ann:s3cret@127.0.0.1:1/db",
		"postgres://ann:s3cret@%zz/db",
		"postgres://ann:s3cret@127.0.0.1/db?sslmode=s3cret",
		"mysql://ann:s3cret@127.0.0.1:1/db",
		"mysql://ann:s3cret@/db",
		"mysql://ann:s3cret@%zz:1/db",
		"mysql://ann:s3cret@127.0.0.1:1/db?tls=s3cret",
		"ann:s3cret@tcp(127.0.0.1:1)/db",
		"ann:s3cret@tcp(127.0.0.1:1",
		"s3cret",
		"redis://:s3cret@cache",
	} {
		_, err := purge(t, url, "")
		switch {
		case err == nil:
			t.Errorf("%s: no error", url)
		case strings.Contains(err.Error(), "s3cret"):
			t.Errorf("the error shows the URL: %v", err)
		case !strings.Contains(err.Error(), "DB_URL") && !strings.Contains(err.Error(), "key store db"):
			t.Errorf("the error does not say which store: %v", err)
		}
	}
	if _, err := purge(t, "", ""); err == nil || !strings.Contains(err.Error(), "DB_URL is not set") {
		t.Errorf("unset: %v", err)
	}
}

func run(t *testing.T, dsn, statement string) {
	t.Helper()
	db, err := sql.Open("mysql", dsn+"?multiStatements=true")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// asURL writes user:password@tcp(host:port)/database as a URL.
func asURL(t *testing.T, dsn string) string {
	t.Helper()
	c, err := driver.ParseDSN(dsn)
	if err != nil || c.Net != "tcp" {
		t.Skipf("the test server is not reached by TCP: %v", err)
	}
	u := url.URL{Scheme: "mysql", User: url.UserPassword(c.User, c.Passwd), Host: c.Addr, Path: c.DBName}
	return u.String()
}

// An address that nothing can be opened by is a problem before a purge, with
// its place and without its value.
func TestAddressesAreCheckedWithoutConnecting(t *testing.T) {
	check := func(address string) jobs.Problems {
		r, err := jobs.Parse("cronce.yaml", []byte("name: acme\nkeyStores:\n  - { name: db, urlEnv: DB_URL }\n"))
		if err != nil {
			t.Fatal(err)
		}
		return keystores.Check(r, func(string) (string, bool) { return address, address != "" })
	}
	for _, good := range []string{
		"", "postgres://u:s3cret@db.example:5432/keys", "postgresql:///keys?host=/run/postgresql", "postgres://db/keys?sslmode=require",
		"mysql://u:s3cret@db:3306/keys", "u:s3cret@tcp(db:3306)/keys", "u:s3cret@tcp([::1]:3306)/keys", "u@unix(/run/mysql.sock)/keys", "sqlite:/var/lib/keys.db",
	} {
		if got := check(good); len(got) > 0 {
			t.Errorf("%s: %v", good, got)
		}
	}
	for _, bad := range []string{
		"garbage-s3cret", "redis://:s3cret@db", "http://db", "sqlite:", "sqlite::memory:", "postgres://u:s3cret@%zz", "postgres://u:s3cret@db:0/keys", "postgres://u:s3cret@db:99999/keys",
		"postgres://u:s3cret@.../keys", "mysql://u:s3cret@", "mysql://u:s3cret@.../keys", "mysql://u:s3cret@db:0/keys", "mysql://u:s3cret@db:99999/keys",
		"u:s3cret@tcp(...:3306)/keys", "u:s3cret@tcp(db:0)/keys", "u:s3cret@tcp(db:3306", "postgres://u:s3cret@db/keys?sslmode=perhaps",
	} {
		got := check(bad)
		if len(got) != 1 || got[0].Code != jobs.CodeBadURL || got[0].Line != 3 || got[0].Column != 25 || !strings.Contains(got[0].Message, "DB_URL") || strings.Contains(got[0].Message, "s3cret") {
			t.Errorf("%s: %v", bad, got)
		}
	}
	off, err := jobs.NewRegistry(jobs.Name("acme"), jobs.KeyStore{Name: "db", URLEnv: "DB_URL"}, jobs.Cleanup{DisabledBecause: "pg_cron"})
	if err != nil {
		t.Fatal(err)
	}
	if got := keystores.Check(off, func(string) (string, bool) { return "garbage", true }); len(got) > 0 {
		t.Errorf("a purge that is switched off: %v", got)
	}
}
