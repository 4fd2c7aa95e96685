package cli_test

import (
	"context"
	"crypto/rand"
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
