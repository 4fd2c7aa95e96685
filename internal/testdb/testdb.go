// Package testdb gives tests real databases: a fresh, empty database for each
// test, on a throwaway server that is gone when the tests are.
//
// A server comes from the first of these that the machine has:
//
//  1. TEST_POSTGRES_URL or TEST_MYSQL_URL: a server of yours, whose account may
//     create databases. (`make test` sets both, so that all packages share one
//     server of each kind: see cmd/with-databases.)
//  2. The server's binaries, on PATH or where Debian puts them.
//  3. Docker.
//  4. scripts/install-databases, which installs Debian's packages (root only).
//
// When none works the test fails and says what to do. An engine is skipped only
// when SHORT=1 is in the environment.
//
// Oracle's MySQL is the exception: few machines have its server beside
// MariaDB's, so its tests are skipped where it cannot be found. It is found as
// TEST_ORACLE_MYSQL_URL, a server of yours; as TEST_MYSQLD, the path of a mysqld,
// or of a script that runs one with the arguments it is given; as the mysqld on
// PATH, unless that is MariaDB's; or by Docker.
//
// Servers are started in a time zone that is not UTC and PostgreSQL with a
// linguistic collation, so that tests detect code which relies on the server's
// zone, or on strings being sorted as Go does.
package testdb

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"
)

// maxWait bounds the start of a server and every statement about a database.
const maxWait = 2 * time.Minute

// shared holds the one server of each engine that this process's tests share.
var shared = struct{ postgres, mariadb, oracle func() (*Server, error) }{
	postgres: sync.OnceValues(func() (*Server, error) { return postgres.shared(Volatile) }),
	mariadb:  sync.OnceValues(func() (*Server, error) { return mariadb.shared(Volatile) }),
	oracle:   sync.OnceValues(func() (*Server, error) { return oracle.shared(Volatile) }),
}

// Postgres returns the URL of a fresh, empty PostgreSQL database, which is
// emptied and used again, or dropped, when the test ends. The server is shared, runs without fsync
// and takes 300 connections.
func Postgres(t testing.TB) string {
	t.Helper()
	return fresh(t, shared.postgres)
}

// MariaDB returns the go-sql-driver DSN, without parameters, of a fresh, empty
// MariaDB (or, by TEST_MYSQL_URL, MySQL) database, which is dropped when the
// test ends. The server is shared, runs without fsync and takes 300 connections.
func MariaDB(t testing.TB) string {
	t.Helper()
	return fresh(t, shared.mariadb)
}

// MySQL is the DSN of a server by Oracle; the test is skipped if there is none.
func MySQL(t testing.TB) string {
	t.Helper()
	return fresh(t, shared.oracle)
}

// EachMySQL runs test on MariaDB and on MySQL; fresh is the function of that
// name.
func EachMySQL(t *testing.T, test func(t *testing.T, fresh func(testing.TB) string)) {
	t.Helper()
	t.Run("MariaDB", func(t *testing.T) { test(t, MariaDB) })
	t.Run("MySQL", func(t *testing.T) { test(t, MySQL) })
}

// PostgresServer starts a PostgreSQL server of the test's own, with fsync and
// every default that concerns durability, for tests that stop or crash it. It is
// never the one named by TEST_POSTGRES_URL. Settings are as in max_connections=20.
func PostgresServer(t testing.TB, settings ...string) *Server {
	t.Helper()
	var args []string
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return private(t, postgres.with(args))
}

// MariaDBServer is PostgresServer for MariaDB. Arguments are as in
// --innodb-rollback-on-timeout.
func MariaDBServer(t testing.TB, args ...string) *Server {
	t.Helper()
	return private(t, mariadb.with(args))
}

func fresh(t testing.TB, server func() (*Server, error)) string {
	t.Helper()
	skipIfShort(t)
	s, err := server()
	if errors.Is(err, errAbsent) {
		t.Skipf("NOT TESTED: %v (set TEST_MYSQLD to the path of a mysqld)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	url, err := s.lend()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.takeBack(url); err != nil {
			t.Logf("the test's database stays behind: %v", err)
		}
	})
	return url
}

func private(t testing.TB, e *engine) *Server {
	t.Helper()
	skipIfShort(t)
	s, err := e.start(Durable)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

func skipIfShort(t testing.TB) {
	t.Helper()
	if Short() {
		t.Skip("SHORT=1: NOT TESTED on a real database server")
	}
}

// Short reports whether SHORT=1 is set: tests that need a server are skipped.
func Short() bool { return os.Getenv("SHORT") == "1" }

func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), maxWait)
}
