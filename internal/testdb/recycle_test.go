package testdb_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/testdb"
)

// Not parallel: the second test takes what the first has left.
func TestADatabaseIsUsedAgainAsNew(t *testing.T) {
	const oid, shape = `SELECT oid FROM pg_database WHERE datname = current_database()`,
		`SELECT concat_ws(' ', (SELECT string_agg(concat(nspname, nspowner, nspacl), ' ' ORDER BY nspname) FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'),
			(SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_type), (SELECT count(*) FROM pg_proc))`
	var new, used, again struct {
		url, shape string
		oid        uint32
	}
	ask := func(t *testing.T, conn *pgx.Conn) (number uint32, looks string) {
		if err := conn.QueryRow(t.Context(), oid).Scan(&number); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRow(t.Context(), shape).Scan(&looks); err != nil {
			t.Fatal(err)
		}
		return number, looks
	}
	t.Run("new", func(t *testing.T) {
		testdb.Postgres(t) // so that what is idle already is out of the way
		new.url = testdb.Postgres(t)
		new.oid, new.shape = ask(t, connect(t, new.url))
	})
	t.Run("used", func(t *testing.T) {
		used.url = testdb.Postgres(t)
		conn := connect(t, used.url)
		used.oid, _ = ask(t, conn)
		if _, err := conn.Exec(t.Context(), `CREATE SCHEMA accounting; CREATE TABLE accounting.a (b int PRIMARY KEY); CREATE TABLE c (d text);
			CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'; GRANT CREATE ON SCHEMA public TO PUBLIC`); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("again", func(t *testing.T) {
		again.url = testdb.Postgres(t)
		again.oid, again.shape = ask(t, connect(t, again.url))
	})
	if again.shape != new.shape {
		t.Errorf("the database was\n%s\nand is\n%s", new.shape, again.shape)
	}
	if again.url == used.url {
		t.Error("who knows the old name can still connect")
	}
	if again.oid != used.oid {
		t.Skip("the server is not disposable: databases are dropped")
	}
	if conn, err := pgx.Connect(t.Context(), used.url); err == nil {
		conn.Close(t.Context())
		t.Error("the old name still leads to a database")
	}
}

// What outlives its schemas ends a database.
func TestADatabaseWithSettingsIsDropped(t *testing.T) {
	var before, after string
	t.Run("changed", func(t *testing.T) {
		conn := connect(t, testdb.Postgres(t))
		if _, err := conn.Exec(t.Context(), `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET lock_timeout = 17', current_database()); END $$`); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRow(t.Context(), `SELECT oid FROM pg_database WHERE datname = current_database()`).Scan(&before); err != nil {
			t.Fatal(err)
		}
	})
	if err := connect(t, testdb.Postgres(t)).QueryRow(t.Context(), `SELECT oid || current_setting('lock_timeout') FROM pg_database WHERE datname = current_database()`).Scan(&after); err != nil {
		t.Fatal(err)
	}
	if after == before+"17ms" || after == before+"0" {
		t.Errorf("database %s is used again, with lock_timeout: %s", before, after)
	}
}
