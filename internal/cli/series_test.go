package cli_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
)

// An action on more runs than one request may change is requests under keys of their own. The
// audit of the API, the command line and the dashboard has one line for them, with their sum;
// another such action is another line.
func TestAnActionOnThousandsOfRunsIsOneLineOfTheAudit(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		svc := newService(t)
		config := writeFile(t, everySecond)
		p := spawn(t, []string{"SVC_URL=" + svc.URL}, "serve", "--config", config, "--db", db, "--listen", "127.0.0.1:0")
		server := map[string]string{"CRONCE_SERVER": "http://" + p.address(), "USER": "ann"}
		do := func(env map[string]string, args ...string) string {
			code, out, errs := invoke(t, env, args...)
			if code != 0 {
				t.Fatalf("%v: exit %d, %s%s", args, code, out, errs)
			}
			return out
		}
		eventually(t, "a ledger that knows the job", func() bool {
			code, _, _ := invoke(t, server, "jobs", "pause", "tick", "--why", "a test")
			return code == 0
		})
		// A run that was planned before the pause, and is held before it is sent, would be canceled
		// too.
		eventually(t, "the runs before the pause ended", func() bool {
			return len(listRuns(t, db, "--state", "planned,running,retrying")) == 0
		})
		do(server, "pauses", "hold", "env:SVC_URL", "--until", "1h", "--why", "a test")
		const n = operations.MaxPart + 150
		first := time.Now().UTC().Truncate(time.Second).Add(-3 * time.Hour)
		for _, to := range []struct {
			env   map[string]string
			flags []string
		}{{server, nil}, {map[string]string{"USER": "ann"}, []string{"--config", config, "--db", db}}} {
			last := first.Add((n - 1) * time.Second)
			do(to.env, append([]string{"backfill", "tick", "--from", first.Format(time.RFC3339), "--to", last.Format(time.RFC3339), "--never-planned", "--why", "a test"}, to.flags...)...)
			do(to.env, append([]string{"runs", "cancel", "--job", "tick", "--state", "planned", "--why", "a test"}, to.flags...)...)
			first = first.Add(time.Hour)
		}
		var audit struct{ Audit []operations.AuditEntry }
		res, err := http.Get(server["CRONCE_SERVER"] + "/v1/audit")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(&audit); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range audit.Audit {
			if a.Count > 1 {
				got = append(got, string(a.Action))
			}
			if a.Count > 1 && a.Count != n {
				t.Errorf("%s: %d runs, want %d", a.Action, a.Count, n)
			}
		}
		if want := "cancel backfill cancel backfill"; strings.Join(got, " ") != want {
			t.Errorf("acts on many runs: %v, want %s", got, want)
		}
		if page := body(p.address(), "/audit"); strings.Count(page, "1,150 runs") != 4 {
			t.Errorf("the dashboard shows\n%s", page)
		}
		if table := do(server, "jobs", "show", "tick"); strings.Count(table, "  1150 runs  ") != 4 {
			t.Errorf("the command line shows\n%s", table)
		}
		if export := do(server, "audit", "export"); strings.Count(export, ",1150,") != 4 {
			t.Errorf("the export has\n%s", export)
		}
		p.Interrupt()
	})
}
