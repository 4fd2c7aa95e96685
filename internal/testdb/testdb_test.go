package testdb_test

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/testdb"
)

func TestPostgresIsFreshForEachTest(t *testing.T) {
	t.Parallel()
	first, second := testdb.Postgres(t), testdb.Postgres(t)
	if first == second {
		t.Fatalf("two calls returned one database, %s", first)
	}
	for _, url := range []string{first, second} {
		conn := connect(t, url)
		if _, err := conn.Exec(t.Context(), "CREATE TABLE things (id int)"); err != nil {
			t.Errorf("%s is not empty: %v", url, err)
		}
	}
}

func TestPostgresIsDroppedWithItsTest(t *testing.T) {
	var url string
	t.Run("inner", func(t *testing.T) { url = testdb.Postgres(t) })
	if url == "" {
		t.Skip("the inner test was skipped")
	}
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		conn.Close(t.Context())
		t.Errorf("%s is still there", url)
	}
}

func TestPostgresServerKeepsItsCommitsOverACrash(t *testing.T) {
	t.Parallel()
	server := testdb.PostgresServer(t)
	for _, mode := range []testdb.Mode{testdb.Fast, testdb.Immediate} {
		conn := connect(t, server.URL)
		if _, err := conn.Exec(t.Context(), "CREATE TABLE "+string(mode)+" (id int)"); err != nil {
			t.Fatal(err)
		}
		must(t, server.Stop(mode))
		if err := conn.Ping(t.Context()); err == nil {
			t.Fatalf("the server answers after Stop(%s)", mode)
		}
		must(t, server.Start())
		if _, err := connect(t, server.URL).Exec(t.Context(), "SELECT FROM "+string(mode)); err != nil {
			t.Errorf("after Stop(%s): %v", mode, err)
		}
	}
}

func TestPostgresServerIsNotTheSharedOne(t *testing.T) {
	t.Parallel()
	server := testdb.PostgresServer(t)
	if strings.HasPrefix(testdb.Postgres(t), strings.TrimSuffix(server.URL, "postgres?sslmode=disable")) {
		t.Errorf("%s is shared", server.URL)
	}
}

// A program that connects or listens on port 0 while a server is down must not get its
// port.
func TestAPortIsNoneThatTheSystemGivesAway(t *testing.T) {
	for range 1000 {
		port, err := testdb.FreePort()
		must(t, err)
		if port < 1024 || port >= 32768 {
			t.Fatalf("port %d is the system's to give", port)
		}
	}
}

func TestMariaDBIsFreshForEachTest(t *testing.T) {
	t.Parallel()
	first, second := testdb.MariaDB(t), testdb.MariaDB(t)
	if first == second {
		t.Fatalf("two calls returned one database, %s", first)
	}
	for _, dsn := range []string{first, second} {
		if _, err := open(t, dsn).Exec("CREATE TABLE things (id int)"); err != nil {
			t.Errorf("%s is not empty: %v", dsn, err)
		}
	}
}

func TestMySQLIsOracles(t *testing.T) {
	t.Parallel()
	first, second := testdb.MySQL(t), testdb.MySQL(t)
	if first == second {
		t.Fatalf("two calls returned one database, %s", first)
	}
	var version, zone string
	must(t, open(t, first).QueryRow("SELECT VERSION(), @@time_zone").Scan(&version, &zone))
	if strings.Contains(version, "MariaDB") || zone != "+05:45" {
		t.Errorf("version %s in %s", version, zone)
	}
}

func TestMariaDBServerKeepsItsCommitsOverACrash(t *testing.T) {
	t.Parallel()
	server := testdb.MariaDBServer(t)
	dsn, err := server.Create("shop")
	must(t, err)
	for _, mode := range []testdb.Mode{testdb.Fast, testdb.Immediate} {
		_, err := open(t, dsn).Exec("CREATE TABLE " + string(mode) + " (id int)")
		must(t, err)
		must(t, server.Stop(mode))
		if err := open(t, dsn).Ping(); err == nil {
			t.Fatalf("the server answers after Stop(%s)", mode)
		}
		must(t, server.Start())
		if _, err := open(t, dsn).Exec("SELECT * FROM " + string(mode)); err != nil {
			t.Errorf("after Stop(%s): %v", mode, err)
		}
	}
}

// A server in another zone than UTC finds code that relies on the server's.
func TestServersAreNotInUTC(t *testing.T) {
	t.Parallel()
	var zone string
	must(t, connect(t, testdb.PostgresServer(t).URL).QueryRow(t.Context(), "SHOW timezone").Scan(&zone))
	if zone == "UTC" {
		t.Error("PostgreSQL is in UTC")
	}
	must(t, open(t, testdb.MariaDBServer(t).URL).QueryRow("SELECT @@time_zone").Scan(&zone))
	if zone != "+05:45" {
		t.Errorf("MariaDB is in %s", zone)
	}
}

func TestPostgresSortsUnlikeGo(t *testing.T) {
	t.Parallel()
	conn := connect(t, testdb.PostgresServer(t).URL)
	var version int
	must(t, conn.QueryRow(t.Context(), "SELECT current_setting('server_version_num')::int / 10000").Scan(&version))
	if version < 15 {
		t.Skipf("PostgreSQL %d has no such collation as a default", version)
	}
	var less bool
	must(t, conn.QueryRow(t.Context(), "SELECT 'a_b' < 'a-b'").Scan(&less))
	if less == ("a_b" < "a-b") {
		t.Error("the collation is not a linguistic one")
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPgBouncerIsStartedAgainWhenItEnds(t *testing.T) {
	t.Parallel()
	pooler := testdb.PgBouncerServer(t, testdb.Postgres(t))
	must(t, connect(t, pooler.URL).Ping(t.Context()))
	console := strings.Replace(pooler.URL, database(t, pooler.URL)+"?", "pgbouncer?default_query_exec_mode=simple_protocol&", 1)
	if _, err := connect(t, console).Exec(t.Context(), "SHUTDOWN"); err == nil {
		t.Fatal("it did not end")
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgx.Connect(t.Context(), pooler.URL)
		if err == nil {
			conn.Close(t.Context())
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	must(t, pooler.Stop(testdb.Immediate))
	if conn, err := pgx.Connect(t.Context(), pooler.URL); err == nil {
		conn.Close(t.Context())
		t.Fatal("it answers after Stop")
	}
	must(t, pooler.Start())
	must(t, connect(t, pooler.URL).Ping(t.Context()))
}

// database is the name of the database that a URL leads to.
func database(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	return strings.TrimPrefix(u.Path, "/")
}
