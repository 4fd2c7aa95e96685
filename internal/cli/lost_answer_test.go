package cli_test

import (
	"database/sql"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/cronce/cronce/internal/operations"
)

// A process is killed after each kind of action and before it can store the answer.
// What then happens to the jobs and runs, others do. The request is repeated with
// its key, to another process: nothing is done again, and every repetition gets one
// answer.
func TestAnActWhoseProcessIsKilledIsDoneOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		l := newLostAnswers(t, db)
		first := l.serve()
		l.prepare(first)
		l.refuseAnswers()
		acts := l.acts()
		for key, a := range acts {
			go func() { _, _, _ = l.post(first, a.path, a.body, key) }() // it is killed meanwhile
		}
		eventually(t, "the effect of each act", func() bool { return len(l.effects()) == len(acts) })
		first.kill()
		before := l.effects()
		l.takeAnswers()
		second := l.serve()
		eventually(t, "another process", func() bool {
			code, _, _ := l.post(second, "/v1/jobs/tick/resume", `{"why":"x","by":"bob"}`, "other")
			return code == 200
		})
		l.invoke("trigger", "fails", "--why", "one more dead run")
		for key, a := range acts {
			var code int
			var body, again string
			eventually(t, key+" is answered", func() bool {
				code, body, _ = l.post(second, a.path, a.body, key)
				return code < 500 && !strings.Contains(body, "in_progress")
			})
			if code >= 300 || !strings.Contains(body, a.want) {
				t.Errorf("%s: %d %s\nwant %s", key, code, body, a.want)
			}
			_, again, replayed := l.post(second, a.path, a.body, key)
			if again != body || !replayed {
				t.Errorf("%s again: %s, first %s", key, again, body)
			}
		}
		if after := l.effects(); !maps.Equal(after, before) {
			t.Errorf("effects of the requests %v, before they were repeated %v", after, before)
		}
		if job := l.invoke("jobs", "show", "tick", "--json"); !strings.Contains(job, `"state": "active"`) {
			t.Errorf("the job that another resumed is paused again:\n%s", job)
		}
		second.terminate()
	})
}

const lostAnswers = `version: 1
name: test
jobs:
  - { id: tick, schedule: "0 0 1 1 *", targetUrlEnv: SVC_URL, path: /ok, overlap: allow }
  - { id: tock, schedule: "0 0 1 1 *", targetUrlEnv: SVC_URL, path: /ok }
  - { id: fails, schedule: "0 0 1 1 *", targetUrlEnv: SVC_URL, path: /fails, overlap: allow }
  - { id: hangs, schedule: "0 0 1 1 *", targetUrlEnv: SVC_URL, path: /hangs, timeout: 1h }
  - { id: second, schedule: "* * * * * *", targetUrlEnv: SVC_URL, path: /ok, overlap: queue }
`

// lost is a ledger whose API's answers can be kept from being stored.
type lost struct {
	*testing.T
	db, config, target string
	sql                *sql.DB
	table              string
	runs               map[string]string // the run that an action is for
	from, to           string            // of the backfill
}

func newLostAnswers(t *testing.T, db string) *lost {
	t.Helper()
	stop := make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/fails":
			w.WriteHeader(http.StatusNotFound)
		case "/hangs":
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		}
	}))
	t.Cleanup(target.Close)
	t.Cleanup(func() { close(stop) })
	l := &lost{T: t, db: db, config: writeFile(t, lostAnswers), target: target.URL, table: "cronce.api_keys", runs: map[string]string{}}
	path, isFile := strings.CutPrefix(db, "sqlite:")
	driver, source := "pgx", db
	if isFile {
		driver, source, l.table = "sqlite", path+"?_pragma=busy_timeout(30000)", "api_keys"
	}
	var err error
	if l.sql, err = sql.Open(driver, source); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.sql.Close() })
	return l
}

func (l *lost) exec(query string) {
	l.Helper()
	if _, err := l.sql.ExecContext(l.Context(), query); err != nil {
		l.Fatalf("%s: %v", query, err)
	}
}

// refuseAnswers makes the database refuse every answer; a key is still reserved.
func (l *lost) refuseAnswers() {
	if strings.Contains(l.table, ".") {
		l.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
			CREATE TRIGGER refuse BEFORE UPDATE ON ` + l.table + ` FOR EACH ROW EXECUTE FUNCTION refuse()`)
		return
	}
	l.exec(`CREATE TRIGGER refuse BEFORE UPDATE ON ` + l.table + ` BEGIN SELECT RAISE(ABORT, 'refused'); END`)
}

// takeAnswers ends that, and the lease that the killed process had on its keys.
func (l *lost) takeAnswers() {
	if strings.Contains(l.table, ".") {
		l.exec(`DROP FUNCTION refuse CASCADE; UPDATE ` + l.table + ` SET locked_until = now() - interval '1 hour'`)
		return
	}
	l.exec(`DROP TRIGGER refuse; UPDATE ` + l.table + ` SET locked_until = 1`)
}

// effects is how many acts each request has done.
func (l *lost) effects() map[string]int {
	l.Helper()
	audit := strings.Replace(l.table, "api_keys", "audit", 1)
	rows, err := l.sql.QueryContext(l.Context(), `SELECT request, count(*) FROM `+audit+` WHERE request <> '' AND by = 'ann' GROUP BY request`)
	if err != nil {
		l.Fatal(err)
	}
	defer rows.Close()
	n := map[string]int{}
	for rows.Next() {
		var request string
		var count int
		if err := rows.Scan(&request, &count); err != nil {
			l.Fatal(err)
		}
		n[request] = count
	}
	if err := rows.Err(); err != nil {
		l.Fatal(err)
	}
	return n
}

func (l *lost) serve() *process {
	l.Helper()
	return spawn(l.T, []string{"SVC_URL=" + l.target}, "serve", "--config", l.config, "--db", l.db, "--listen", "127.0.0.1:0", "--lease", "2s")
}

// invoke runs a command on the ledger itself, as bob.
func (l *lost) invoke(args ...string) string {
	l.Helper()
	_, out, errs := invoke(l.T, map[string]string{"USER": "bob", "SVC_URL": l.target}, append(args, "--config", l.config, "--db", l.db)...)
	return out + errs
}

func (l *lost) post(p *process, path, body, key string) (code int, answer string, replayed bool) {
	l.Helper()
	r, err := http.NewRequestWithContext(l.Context(), http.MethodPost, "http://"+p.address()+path, strings.NewReader(body))
	if err != nil {
		l.Error(err)
		return 599, "", false
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 599, err.Error(), false
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 599, err.Error(), false
	}
	return res.StatusCode, string(text), res.Header.Get("Idempotent-Replayed") == "true"
}

// prepare makes the runs that the actions are for.
func (l *lost) prepare(p *process) {
	l.Helper()
	eventually(l.T, "the API", func() bool {
		code, _, _ := l.post(p, "/v1/jobs/tock/pause", `{"why":"x","by":"bob"}`, "prepare")
		return code == 200
	})
	l.invoke("jobs", "pause", "second", "--why", "x")
	for _, job := range []string{"fails", "fails", "fails", "tick", "hangs"} {
		code, body, _ := l.post(p, "/v1/jobs/"+job+"/trigger", `{"why":"x","by":"bob"}`, fmt.Sprint("prepare-", job, len(l.runs)))
		if code != http.StatusCreated {
			l.Fatalf("trigger %s: %d %s", job, code, body)
		}
		_, id, _ := strings.Cut(body, `"runId":"`)
		id, _, _ = strings.Cut(id, `"`)
		l.runs[fmt.Sprint(job, len(l.runs))] = id
	}
	eventually(l.T, "the states of the runs", func() bool {
		n := map[string]int{}
		var skipped []operations.Run
		for _, r := range listRuns(l.T, l.db) {
			n[r.JobID+" "+string(r.State)]++
			if r.JobID == "second" && r.State == "skipped" {
				skipped = append(skipped, r)
			}
		}
		if n["fails dead"] < 3 || n["tick succeeded"] < 1 || n["hangs running"] < 1 || len(skipped) < 4 {
			return false
		}
		l.from, l.to = skipped[3].ScheduledAt, skipped[1].ScheduledAt
		return true
	})
}

type lostAct struct{ path, body, want string }

// acts is one of each kind, by key.
func (l *lost) acts() map[string]lostAct {
	run := func(name string) string { return "/v1/runs/" + url.PathEscape(l.runs[name]) }
	const who = `"why":"a test","by":"ann"`
	return map[string]lostAct{
		"pause":    {"/v1/jobs/tick/pause", `{` + who + `}`, `"state":"paused"`},
		"resume":   {"/v1/jobs/tock/resume", `{` + who + `}`, `"state":"resumed"`},
		"trigger":  {"/v1/jobs/tock/trigger", `{` + who + `}`, `"trigger":"manual"`},
		"rerun":    {run("tick3") + "/rerun", `{"newKey":true,` + who + `}`, `"trigger":"rerun"`},
		"redrive":  {run("fails0") + "/redrive", `{"force":true,` + who + `}`, `"changed":[{"runId":"` + l.runs["fails0"]},
		"ack":      {run("fails1") + "/ack", `{` + who + `}`, `"changed":[{"runId":"` + l.runs["fails1"]},
		"ack-many": {"/v1/runs/ack", `{"runIds":["` + l.runs["fails2"] + `"],` + who + `}`, `"changed":1,`},
		"cancel":   {"/v1/runs/cancel", `{"job":"hangs",` + who + `}`, `"changed":[{"runId":"` + l.runs["hangs4"]},
		"backfill": {"/v1/jobs/second/backfill", `{"from":"` + l.from + `","to":"` + l.to + `",` + who + `}`, `"planned":3,"left":0,"refused":0`},
	}
}
