package cli_test

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/testdb"
)

// A process is killed at every step of each kind of action: before the statement that makes
// its effect, before its commit, and before its answer. The request is repeated with its
// key, to two other processes at once: there is one effect, one entry of the audit, and one
// answer, whatever others did to the jobs and runs meanwhile.
func TestAnActionWhoseProcessIsKilledIsDoneOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, db string) {
		l := newLostAnswers(t, db)
		first := l.serve()
		l.prepare(first)
		acts := l.acts()
		l.block()
		for key, a := range acts {
			go func() { _, _, _ = l.post(first, a.path, a.body, key) }() // it is killed meanwhile
		}
		eventually(t, "the acts reach the database", l.blocked)
		first.Kill()
		if n := l.effects(); len(n) != 0 {
			t.Errorf("a process that was killed before its commit has done %v", n)
		}
		l.unblock()
		second := l.serve()
		third := second // SQLite is served by one
		if !l.file {
			third = l.serve()
		}
		for _, p := range []*process{second, third} {
			eventually(t, "another process", func() bool {
				code, _, _ := l.post(p, "/v1/jobs/tick/resume", `{"why":"x","by":"bob"}`, "other")
				return code == 200
			})
		}
		answers := l.both(second, third, acts)
		l.invoke("trigger", "fails", "--why", "one more dead run")
		l.invoke("jobs", "resume", "tick", "--why", "another")
		second.Kill() // the answers are lost
		if l.file {
			third = l.serve()
		}
		for key, again := range l.both(third, third, acts) {
			if again != answers[key] {
				t.Errorf("%s is answered\n%s, first\n%s", key, again, answers[key])
			}
		}
		if code, body, _ := l.post(third, "/v1/jobs/tock/pause", `{"why":"another","by":"ann"}`, "pause"); code != http.StatusConflict || !strings.Contains(body, "payload_mismatch") {
			t.Errorf("another request under a key: %d %s", code, body)
		}
		for key, n := range l.effects() {
			if n != 1 {
				t.Errorf("%s has %d entries", key, n)
			}
		}
		if job := l.invoke("jobs", "show", "tick", "--json"); !strings.Contains(job, `"state": "active"`) {
			t.Errorf("the job that another resumed is paused again:\n%s", job)
		}
		third.Interrupt()
	})
}

// both sends each request to two processes at once, until both are answered, and returns
// the answer. One of them is at most the first.
func (l *lost) both(a, b *process, acts map[string]lostAct) map[string]string {
	l.Helper()
	var mu sync.Mutex
	answers, fresh := map[string]string{}, map[string]int{}
	var all sync.WaitGroup
	for key, act := range acts {
		for _, p := range []*process{a, b} {
			all.Go(func() {
				code, body, replayed := 0, "", false
				eventually(l.T, key+" is answered", func() bool {
					code, body, replayed = l.post(p, act.path, act.body, key)
					return code < 500
				})
				mu.Lock()
				defer mu.Unlock()
				if !replayed {
					fresh[key]++
				}
				if code >= 300 || !strings.Contains(body, act.want) || answers[key] != "" && answers[key] != body || fresh[key] > 1 {
					l.Errorf("%s: %d %s, replayed %t\nand %s\nwant %s", key, code, body, replayed, answers[key], act.want)
				}
				answers[key] = body
			})
		}
	}
	all.Wait()
	return answers
}

// PostgreSQL makes a session read-only between an action's effect and its entry of the
// audit, as if the server had become a standby: nothing is done, and the repetition does it.
func TestAnActionOnASessionThatBecomesReadOnlyIsDoneOnce(t *testing.T) {
	t.Parallel()
	l := newLostAnswers(t, testdb.Postgres(t))
	p := l.serve()
	l.prepare(p)
	acts := l.acts()
	// One table in each transaction: the lock of two could meet those of serve.
	l.exec(`CREATE FUNCTION make_read_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN SET TRANSACTION READ ONLY; RETURN NEW; END $$`)
	l.exec(`CREATE TRIGGER make_read_only BEFORE UPDATE OF paused_at ON cronce.jobs FOR EACH ROW EXECUTE FUNCTION make_read_only()`)
	l.exec(`CREATE TRIGGER make_read_only BEFORE INSERT OR UPDATE ON cronce.runs FOR EACH ROW WHEN (NEW.by = 'ann') EXECUTE FUNCTION make_read_only()`)
	for key, a := range acts {
		if code, body, _ := l.post(p, a.path, a.body, key); code != http.StatusServiceUnavailable {
			t.Errorf("%s on a session that became read-only: %d %s", key, code, body)
		}
	}
	if n := l.effects(); len(n) != 0 {
		t.Errorf("done: %v", n)
	}
	l.exec(`DROP TRIGGER make_read_only ON cronce.jobs`)
	l.exec(`DROP TRIGGER make_read_only ON cronce.runs`)
	answers := l.both(p, p, acts)
	for key, again := range l.both(p, p, acts) {
		if again != answers[key] {
			t.Errorf("%s is answered\n%s, first\n%s", key, again, answers[key])
		}
	}
	for key, n := range l.effects() {
		if n != 1 {
			t.Errorf("%s has %d entries", key, n)
		}
	}
	p.Interrupt()
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

// lost is a ledger that can be kept from storing what operators did.
type lost struct {
	*testing.T
	db, config, target string
	sql                *sql.DB
	table              string
	file               bool              // SQLite
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
	l := &lost{T: t, db: db, config: writeFile(t, lostAnswers), target: target.URL, table: "cronce.audit", runs: map[string]string{}}
	path, isFile := strings.CutPrefix(db, "sqlite:")
	driver, source := "pgx", db
	if isFile {
		driver, source, l.table, l.file = "sqlite", path+"?_pragma=busy_timeout(30000)", "audit", true
	}
	var err error
	if l.sql, err = sql.Open(driver, source); err != nil {
		t.Fatal(err)
	}
	l.sql.SetMaxOpenConns(1) // its locks are of one session
	t.Cleanup(func() { l.sql.Close() })
	return l
}

func (l *lost) exec(query string) {
	l.Helper()
	if _, err := l.sql.ExecContext(l.Context(), query); err != nil {
		l.Fatalf("%s: %v", query, err)
	}
}

// block makes the database wait with each entry of the audit. On SQLite, that is a lock of
// the whole file.
func (l *lost) block() {
	if l.file {
		l.exec(`BEGIN IMMEDIATE`)
		return
	}
	l.exec(`SELECT pg_advisory_lock(7); CREATE FUNCTION block() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NEW; END $$;
		CREATE TRIGGER block BEFORE INSERT ON ` + l.table + ` FOR EACH ROW EXECUTE FUNCTION block()`)
}

// blocked reports whether an act waits. On SQLite nobody can tell; the acts have been sent.
func (l *lost) blocked() bool {
	if l.file {
		time.Sleep(200 * time.Millisecond)
		return true
	}
	return l.text(`SELECT (count(*) > 3)::text FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`) == "true"
}

// unblock ends that. PostgreSQL ends the sessions of two acts, whose effects are lost; it has
// the commits of the others already.
func (l *lost) unblock() {
	l.Helper()
	if l.file {
		l.exec(`ROLLBACK`)
		return
	}
	l.exec(`SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted LIMIT 2) waiting`)
	l.exec(`SELECT pg_advisory_unlock(7)`)
	eventually(l.T, "the end of the acts", func() bool {
		return l.text(`SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`) == "0"
	})
	l.exec(`DROP TRIGGER block ON ` + l.table + `; DROP FUNCTION block`)
}

// effects counts the entries of each request in the audit.
func (l *lost) effects() map[string]int {
	l.Helper()
	rows, err := l.sql.QueryContext(l.Context(), `SELECT request_key FROM `+l.table+` WHERE request_key <> '' AND by = 'ann'`)
	if err != nil {
		l.Fatal(err)
	}
	defer rows.Close()
	n := map[string]int{}
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			l.Fatal(err)
		}
		n[key]++
	}
	if err := rows.Err(); err != nil {
		l.Fatal(err)
	}
	return n
}

func (l *lost) text(query string) (text string) {
	l.Helper()
	if err := l.sql.QueryRowContext(l.Context(), query).Scan(&text); err != nil {
		l.Fatal(err)
	}
	return text
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
		"backfill": {"/v1/jobs/second/backfill", `{"from":"` + l.from + `","to":"` + l.to + `",` + who + `}`, `"planned":3,"unchanged":0,"refused":0`},
	}
}
