package migrations_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/migrations"
)

var postgresLedger = migrations.Target{Engine: migrations.Postgres}

func TestUpAppliesOnceAndThenNothing(t *testing.T) {
	db := postgres(t)
	if done := up(t, db, postgresLedger); len(done) == 0 || done[0].AppliedAt.IsZero() {
		t.Fatalf("first Up did %+v", done)
	}
	if done := up(t, db, postgresLedger); len(done) != 0 {
		t.Errorf("second Up did %+v, want nothing", done)
	}
	for _, s := range status(t, db, postgresLedger) {
		if s.AppliedAt.IsZero() {
			t.Errorf("%+v is pending after Up", s)
		}
	}
}

// The server of these tests is in another zone than UTC.
func TestStatusHasTheTimeOfEachStep(t *testing.T) {
	db, before := postgres(t), time.Now()
	up(t, db, postgresLedger)
	for _, s := range status(t, db, postgresLedger) {
		if s.AppliedAt.Before(before.Add(-time.Minute)) || s.AppliedAt.After(time.Now().Add(time.Minute)) {
			t.Errorf("%s was applied at %s, want about %s", s.Name, s.AppliedAt, before.UTC())
		}
	}
}

func TestConcurrentUpsWaitForOneAnother(t *testing.T) {
	db := postgres(t)
	var wg sync.WaitGroup
	did := make([]int, 6)
	for i := range did {
		wg.Go(func() {
			done, err := migrations.Up(context.WithoutCancel(t.Context()), db, postgresLedger)
			if err != nil {
				t.Error(err)
			}
			did[i] = len(done)
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range did {
		sum += n
	}
	if want := len(status(t, db, postgresLedger)); sum != want {
		t.Errorf("the processes did %v steps, want %d in all", did, want)
	}
}

func TestStatusOfAnUntouchedDatabaseChangesNothing(t *testing.T) {
	db := postgres(t)
	steps := status(t, db, postgresLedger)
	if len(steps) == 0 || !steps[0].AppliedAt.IsZero() {
		t.Errorf("%+v, want steps, all pending", steps)
	}
	var tables int
	must(t, db.QueryRow(`SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`).Scan(&tables))
	if tables != 0 {
		t.Errorf("Status left %d tables", tables)
	}
}

// A former version that runs beside a newer one, or replaces it in a rollback.
func TestStatusListsWhatANewerProgramApplied(t *testing.T) {
	db := postgres(t)
	up(t, db, postgresLedger)
	known := len(status(t, db, postgresLedger))
	_, err := db.Exec(`INSERT INTO cronce.ledger_versions (version_id, is_applied) VALUES (90001, true), (90002, true)`)
	must(t, err)
	newer := status(t, db, postgresLedger)[known:]
	if len(newer) != 2 || newer[0].Version != 90001 || newer[1].Version != 90002 || newer[0].Name != "" || newer[0].AppliedAt.IsZero() {
		t.Errorf("after the known steps %+v", newer)
	}
	if done := up(t, db, postgresLedger); len(done) != 0 {
		t.Errorf("Up did %+v on newer tables", done)
	}
}

func TestTwoSchemasAreTwoLedgers(t *testing.T) {
	db := postgres(t)
	other := postgresLedger
	other.Schema = "other"
	if a, b := up(t, db, postgresLedger), up(t, db, other); len(a) == 0 || len(a) != len(b) {
		t.Errorf("did %d and %d steps, want the same", len(a), len(b))
	}
	_, err := db.Exec(`SELECT 1 FROM cronce.runs, other.runs`)
	must(t, err)
}

// A service's role often may use its schema but create none.
func TestUpNeedsNoRightToCreateASchemaThatIsThere(t *testing.T) {
	db := postgres(t)
	up(t, db, postgresLedger)
	role := strings.ToLower("plain_" + rand.Text())
	db.SetMaxOpenConns(1)
	for _, q := range []string{
		`CREATE ROLE ` + role,
		`GRANT USAGE ON SCHEMA cronce TO ` + role,
		`GRANT SELECT ON ALL TABLES IN SCHEMA cronce TO ` + role,
		`SET ROLE ` + role,
	} {
		_, err := db.Exec(q)
		must(t, err)
	}
	t.Cleanup(func() {
		db.Exec(`RESET ROLE`)
		db.Exec(`DROP OWNED BY ` + role)
		db.Exec(`DROP ROLE ` + role)
	})
	if done := up(t, db, postgresLedger); len(done) != 0 {
		t.Errorf("did %+v, want nothing", done)
	}
}

func TestPrintedSQLIsWhatUpDoes(t *testing.T) {
	target := postgresLedger
	target.Schema = "pasted"
	text, err := migrations.Print(target)
	must(t, err)
	for _, left := range []string{"{{", "goose Up", "DROP TABLE"} {
		if strings.Contains(text, left) {
			t.Errorf("the printed SQL contains %q", left)
		}
	}
	pasted, applied := postgres(t), postgres(t)
	_, err = pasted.Exec(strings.ReplaceAll(text, "INDEX CONCURRENTLY", "INDEX")) // one text is one transaction; psql sends each statement
	must(t, err)
	if done := up(t, pasted, target); len(done) != 0 {
		t.Errorf("Up after pasting did %+v, want nothing", done)
	}
	up(t, applied, target)
	if a, b := shape(t, pasted), shape(t, applied); a != b {
		t.Errorf("pasted:\n%s\napplied:\n%s", a, b)
	}
}

func TestOddNamesAreRefused(t *testing.T) {
	for _, name := range []string{`a"b`, "a; DROP TABLE x", "Upper", "1st", strings.Repeat("a", 41), "ä"} {
		if _, err := migrations.Print(migrations.Target{Engine: migrations.Postgres, Schema: name}); err == nil {
			t.Errorf("a ledger in the schema %q was printed", name)
		}
		for _, names := range [][2]string{{name, ""}, {"", name}} {
			if _, err := migrations.PrintKeys(migrations.Postgres, names[0], names[1]); err == nil {
				t.Errorf("keys in %q were printed", names)
			}
		}
	}
}

func TestAnEngineWithoutTheTablesIsRefused(t *testing.T) {
	for _, engine := range []migrations.Engine{migrations.MySQL, "", ".", "../migrations"} {
		if _, err := migrations.Print(migrations.Target{Engine: engine}); err == nil {
			t.Errorf("there is no ledger on %q, but it was printed", engine)
		}
		if _, err := migrations.PrintKeys(engine, "", ""); (err == nil) != (engine == migrations.MySQL) {
			t.Errorf("keys on %q: %v", engine, err)
		}
	}
}

func TestASchemaIsRefusedWhereTheEngineHasNone(t *testing.T) {
	if _, err := migrations.Print(migrations.Target{Engine: migrations.SQLite, Schema: "accounting"}); err == nil {
		t.Error("the tables were printed without the schema that was asked for")
	}
	for _, engine := range []migrations.Engine{migrations.MySQL, migrations.SQLite} {
		if _, err := migrations.PrintKeys(engine, "accounting", ""); err == nil {
			t.Errorf("the keys of %s were printed without the schema that was asked for", engine)
		}
	}
}

func TestPrintedKeysHaveTheNamesOfTheUser(t *testing.T) {
	text, err := migrations.PrintKeys(migrations.Postgres, "accounting", "seen")
	must(t, err)
	db := postgres(t)
	_, err = db.Exec(text)
	must(t, err)
	_, err = db.Exec(`SELECT 1 FROM accounting.seen`)
	must(t, err)
	var tables int
	must(t, db.QueryRow(`SELECT count(*) FROM pg_tables WHERE schemaname = 'accounting'`).Scan(&tables))
	if tables != 1 {
		t.Errorf("%d tables, want that of the keys alone", tables)
	}
}

func postgres(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", testdb.Postgres(t))
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func up(t *testing.T, db *sql.DB, target migrations.Target) []migrations.Step {
	t.Helper()
	done, err := migrations.Up(t.Context(), db, target)
	must(t, err)
	return done
}

func status(t *testing.T, db *sql.DB, target migrations.Target) []migrations.Step {
	t.Helper()
	steps, err := migrations.Status(t.Context(), db, target)
	must(t, err)
	return steps
}

// shape is every column and index of a database.
func shape(t *testing.T, db *sql.DB) string {
	t.Helper()
	rows, err := db.Query(`
		SELECT format('%s.%s.%s %s %s', table_schema, table_name, column_name, data_type, is_nullable) AS line
		FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
		ORDER BY line`)
	must(t, err)
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var line string
		must(t, rows.Scan(&line))
		fmt.Fprintln(&b, line)
	}
	must(t, rows.Err())
	return b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
