package cli_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// "migrate up" makes all tables of serve, and "migrate print" prints them: serve then
// acts for the API with --no-migrate, also as a role that may not create anything.
func TestServeNeedsNoRightToCreateAfterMigrateUp(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"up", "print"} {
		engines(t, func(t *testing.T, db string) {
			t.Run(by, func(t *testing.T) {
				if !strings.HasPrefix(db, "sqlite:") {
					db = servedAs(t, db, by)
				} else if code, out, errs := invoke(t, nil, "migrate", "up", "--db", db); code != 0 || !strings.Contains(out, "00004_requests.sql") {
					t.Fatalf("migrate up: exit %d, %s%s", code, out, errs)
				}
				svc := newService(t)
				p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--no-migrate", "--config", writeFile(t, everySecond), "--db", db, "--listen", "127.0.0.1:0")
				env := map[string]string{"CRONCE_SERVER": "http://" + p.address(), "USER": "ann"}
				eventually(t, "a run", func() bool { _, out, _ := invoke(t, env, "runs", "list", "-o", "id"); return out != "" })
				if code, out, errs := invoke(t, env, "jobs", "pause", "tick", "--why", "a test"); code != 0 {
					t.Errorf("an action: exit %d, %s%s", code, out, errs)
				}
				p.Interrupt()
			})
		})
	}
}

// After an upgrade, a process of the former version works on, and says so.
func TestServeWarnsOfTablesOfANewerProgram(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		if code, _, errs := invoke(t, nil, "migrate", "up", "--db", db); code != 0 {
			t.Fatalf("migrate up: exit %d, %s", code, errs)
		}
		driver, source, table := "pgx", db, "cronce.ledger_versions"
		if path, isFile := strings.CutPrefix(db, "sqlite:"); isFile {
			driver, source, table = "sqlite", path, "ledger_versions"
		}
		tables, err := sql.Open(driver, source)
		if err != nil {
			t.Fatal(err)
		}
		defer tables.Close()
		if _, err := tables.Exec(`INSERT INTO ` + table + ` (version_id, is_applied) VALUES (99999, true)`); err != nil {
			t.Fatal(err)
		}
		svc := newService(t)
		p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", writeFile(t, everySecond), "--db", db, "--listen", "127.0.0.1:0")
		eventually(t, "a run", func() bool { _, n := svc.count(); return n > 0 })
		p.Interrupt()
		if log := p.Log.String(); !strings.Contains(log, "the ledger's tables are newer than this program") || !strings.Contains(log, "tables=99999") {
			t.Errorf("no warning:\n%s", log)
		}
	})
}

// servedAs makes the tables, and returns the URL of a role that may only use them.
func servedAs(t *testing.T, db, by string) string {
	conn, err := pgx.Connect(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	script := ""
	if code, out, errs := invoke(t, nil, "migrate", by, "--db", db); code != 0 {
		t.Fatalf("migrate %s: exit %d, %s%s", by, code, out, errs)
	} else if by == "print" {
		script = out
	}
	role := "cronce_server_" + strings.ToLower(rand.Text())
	run := func(script string) {
		if _, err := conn.PgConn().Exec(context.Background(), script).ReadAll(); err != nil {
			t.Error(err)
		}
	}
	run(script + `; CREATE ROLE ` + role + ` LOGIN; GRANT USAGE ON SCHEMA cronce TO ` + role + `;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA cronce TO ` + role + `; GRANT USAGE ON ALL SEQUENCES IN SCHEMA cronce TO ` + role)
	t.Cleanup(func() { run(`DROP OWNED BY ` + role + `; DROP ROLE ` + role) })
	u, err := url.Parse(db)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}
