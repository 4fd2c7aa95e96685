package api_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/testdb"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// number is a variable of the environment, or the default.
func number(b *testing.B, name string, byDefault int) int {
	b.Helper()
	text := os.Getenv(name)
	if text == "" {
		return byDefault
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkLists asks for each list of a large ledger, one request after another,
// and reports the median and the 95th percentile in milliseconds, and this process's
// CPU time for a request, client and server together: on a busy machine it is the
// figure that can be compared.
func BenchmarkLists(b *testing.B) {
	for engine, address := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + filepath.Join(b.TempDir(), "ledger.db") },
		"postgres": func() string { return testdb.Postgres(b) },
	} {
		b.Run(engine, func(b *testing.B) {
			where, runs := address(), number(b, "CRONCE_BENCH_RUNS", 100_000)
			s := newSite(b, where, everyone{})
			began := time.Now()
			s.fill(where, runs)
			b.Logf("%d runs filled in %s", runs, time.Since(began).Round(time.Second))
			for _, path := range s.lists() {
				name, _, _ := strings.Cut(strings.TrimPrefix(path, "/v1/"), "&cursor")
				b.Run(name, func(b *testing.B) { s.measure(b, path) })
			}
		})
	}
}

// everyone is each an identity of its own, so that no rate limit is met.
type everyone struct{}

func (everyone) Identify(r *http.Request) (access.Identity, error) {
	return access.Identity{Name: r.Header.Get("X-Request"), Role: access.Admin}, nil
}

// lists are the paths of lists: their first pages, some with filters, and a page
// from the middle of the ledger.
func (s *site) lists() []string {
	s.Helper()
	middle := time.Now().Add(-30 * 24 * time.Hour).UTC().Format(time.RFC3339)
	var page struct{ Next string }
	s.get("/v1/runs?job=tick&limit=100&until="+middle, "X-Request", "lists").into(s.TB, &page)
	if page.Next == "" {
		s.Fatal("the ledger has no middle")
	}
	return []string{
		"/v1/runs", "/v1/runs?limit=1000", "/v1/runs?job=tick", "/v1/runs?job=tick&limit=50&cursor=" + page.Next, "/v1/runs?state=dead",
		"/v1/runs?state=running&state=planned", "/v1/runs?limit=50&until=" + url.QueryEscape(middle), "/v1/jobs", "/v1/audit", "/v1/incidents", "/v1/processes", "/v1/status",
	}
}

func (s *site) measure(b *testing.B, path string) {
	var took []time.Duration
	cpu := cpuTime(b)
	for i := 0; b.Loop(); i++ {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.server.URL+path, nil)
		s.must(err)
		r.Header.Set("X-Request", strconv.Itoa(i%1000))
		begin := time.Now()
		res, err := s.server.Client().Do(r)
		s.must(err)
		_, err = io.Copy(io.Discard, res.Body)
		s.must(err)
		res.Body.Close()
		took = append(took, time.Since(begin))
		if res.StatusCode != http.StatusOK {
			b.Fatalf("%s: %d", path, res.StatusCode)
		}
	}
	b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/1000/float64(len(took)), "cpu-ms")
	slices.Sort(took)
	at := func(share float64) float64 {
		return float64(took[int(share*float64(len(took)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.95), "p95-ms")
	b.ReportMetric(0, "ns/op")
}

// cpuTime is what this process has used so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fill writes finished runs of the last 60 days beside the site's own: of a hundred
// jobs, one of which is tick; one run in a hundred is dead, one in ten of those not
// acknowledged, one in ten is skipped.
func (s *site) fill(where string, runs int) {
	s.Helper()
	driver, source := "pgx", where
	text := `
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %[1]d),
		r AS (SELECT i, CASE i %% 100 WHEN 0 THEN 'tick' ELSE 'job-' || (i %% 100) END AS job, unixepoch() - 86400 - (%[1]d - i) * 5184000 / %[1]d AS at,
			CASE WHEN i %% 97 = 0 THEN 'dead' WHEN i %% 10 = 0 THEN 'skipped' ELSE 'succeeded' END AS state FROM n)
		INSERT INTO runs (run_id, job_id, scheduled_at, planned_at, started_at, finished_at, send_before, revision, changed, count,
			state, reason, trigger, overlap, target, attempt, leased_by, acked_at, call, body, first_started_at, first_finished_at, first_status, first_answer, first_code, first_error, first_detail, first_owner)
		SELECT job || '@' || strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', at, 'unixepoch') || '~' || i, job, at * 1000000, at * 1000000, at * 1000000, at * 1000000, at * 1000000, 1, i, 1,
			state, CASE state WHEN 'dead' THEN 'exhausted' WHEN 'skipped' THEN 'overlap' ELSE '' END, 'schedule', '', 'svc', 1, 'p',
			CASE WHEN state = 'dead' AND i %% 10 <> 0 THEN at * 1000000 END, '{"Target":"svc","Method":"POST","Path":"/x"}', CAST('{}' AS BLOB), at * 1000000, at * 1000000, 200, 'fresh', '', '', '', 'p' FROM r;
		ANALYZE`
	if path, isFile := strings.CutPrefix(where, "sqlite:"); isFile {
		driver, source = "sqlite", path+"?_pragma=busy_timeout(600000)"
	} else {
		text = `
		SET synchronous_commit = off;
		SET maintenance_work_mem = '256MB';
		CREATE TEMP TABLE kept AS SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'cronce' AND tablename = 'runs' AND indexname <> 'runs_pkey';
		DO $$ DECLARE i record; BEGIN FOR i IN SELECT * FROM kept LOOP EXECUTE 'DROP INDEX cronce.' || i.indexname; END LOOP; END $$;
		INSERT INTO cronce.runs (run_id, job_id, scheduled_at, planned_at, started_at, finished_at, send_before, revision,
			state, reason, trigger, target, attempt, leased_by, acked_at, call, body, first_started_at, first_finished_at, first_status, first_answer, first_code, first_error, first_detail, first_owner)
		SELECT job || '@' || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || '~' || i, job, at, at, at, at, at, 1,
			state, CASE state WHEN 'dead' THEN 'exhausted' WHEN 'skipped' THEN 'overlap' ELSE '' END, 'schedule', 'svc', 1, 'p',
			CASE WHEN state = 'dead' AND i %% 10 <> 0 THEN at END, '{"target":"svc"}', '{}', at, at, 200, 'fresh', '', '', '', 'p'
		FROM generate_series(1, %[1]d) i, LATERAL (SELECT CASE i %% 100 WHEN 0 THEN 'tick' ELSE 'job-' || (i %% 100) END AS job,
			date_trunc('second', now() - interval '1 day' - interval '60 days' * (1 - i / %[1]d.0)) AS at,
			CASE WHEN i %% 97 = 0 THEN 'dead' WHEN i %% 10 = 0 THEN 'skipped' ELSE 'succeeded' END AS state) x;
		DO $$ DECLARE i record; BEGIN FOR i IN SELECT * FROM kept LOOP EXECUTE i.indexdef; END LOOP; END $$`
	}
	db, err := sql.Open(driver, source)
	s.must(err)
	defer db.Close()
	_, err = db.ExecContext(context.WithoutCancel(s.Context()), fmt.Sprintf(text, runs))
	s.must(err)
	if driver == "pgx" { // as autovacuum leaves it; not a part of the transaction above
		_, err = db.ExecContext(context.WithoutCancel(s.Context()), `VACUUM (ANALYZE) cronce.runs`)
		s.must(err)
	}
	if page, err := s.store.List(s.Context(), ledger.Filter{JobID: "tick", Limit: 100}); err != nil || len(page) < min(100, runs/100) {
		s.Fatalf("%d runs of tick, %v", len(page), err)
	}
}

// BenchmarkManyJobs asks for each list of a ledger of very many jobs (CRONCE_BENCH_JOBS)
// in the middle of a scheduled time that all of them share: a third of its runs has
// succeeded, a third is running, and a third is due.
func BenchmarkManyJobs(b *testing.B) {
	for engine, address := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + filepath.Join(b.TempDir(), "ledger.db") },
		"postgres": func() string { return testdb.Postgres(b) },
	} {
		b.Run(engine, func(b *testing.B) {
			where := address()
			s := newSite(b, where, everyone{})
			s.fillJobs(where, number(b, "CRONCE_BENCH_JOBS", 20_000))
			for _, path := range []string{
				"/v1/status", "/v1/processes", "/v1/runs?limit=50", "/v1/runs?state=dead", "/v1/runs?job=job-000001", "/v1/runs?job=job-000002&state=dead",
				"/v1/jobs?limit=50", "/v1/jobs/job-000002", "/v1/audit", "/v1/incidents", "/v1/incidents?job=job-000002",
			} {
				b.Run(strings.TrimPrefix(path, "/v1/"), func(b *testing.B) { s.measure(b, path) })
			}
		})
	}
}

// fillJobs declares more jobs, and gives each a run of one scheduled time.
func (s *site) fillJobs(where string, n int) {
	s.Helper()
	tick, _ := s.reg.Job("tick")
	all := []jobs.Job{tick}
	for i := range n {
		all = append(all, jobs.Job{ID: fmt.Sprintf("job-%06d", i), Schedule: "0 0 1 1 *", Target: "svc", Path: "/x", Overlap: jobs.OverlapQueue})
	}
	options := []jobs.Entry{jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}}
	for _, j := range all {
		options = append(options, j)
	}
	var err error
	s.reg, err = jobs.NewRegistry(options...)
	s.must(err)
	var defs []ledger.Definition
	for _, j := range s.reg.Jobs() {
		body, hash, err := j.Definition()
		s.must(err)
		defs = append(defs, ledger.Definition{JobID: j.ID, Hash: hash, Body: body})
	}
	s.must(s.store.Declare(s.Context(), ledger.Declaration{Process: "host-1", Registry: "acme", Version: s.reg.Version(), Definitions: slices.Values(defs)}))
	_, err = s.store.Assignments(s.Context(), s.reg.Version(), "")
	s.must(err)
	states := `CASE job_n % 3 WHEN 0 THEN 'succeeded' WHEN 1 THEN 'running' ELSE 'planned' END`
	driver, source, text := "pgx", where, `
		INSERT INTO cronce.runs (run_id, job_id, scheduled_at, planned_at, started_at, finished_at, due_at, revision, state, trigger, target, leased_by, slot, takes_slot, call, body)
		SELECT j.job_id || '@' || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), j.job_id, at, at, at, CASE state WHEN 'succeeded' THEN at END,
			CASE WHEN state <> 'succeeded' THEN at + interval '1 day' * CASE state WHEN 'running' THEN 1 ELSE 0 END END, 1, state, 'schedule', 'svc', 'host-1',
			CASE WHEN state <> 'succeeded' THEN j.job_id END, true, '{"target":"svc"}', '{}'
		FROM (SELECT job_id, date_trunc('second', now()) AS at, `+states+` AS state FROM (SELECT job_id, row_number() OVER () AS job_n FROM cronce.jobs WHERE job_id LIKE 'job-%') n) j`
	if path, isFile := strings.CutPrefix(where, "sqlite:"); isFile {
		driver, source, text = "sqlite", path+"?_pragma=busy_timeout(600000)", `
		INSERT INTO runs (run_id, job_id, scheduled_at, planned_at, started_at, finished_at, due_at, revision, changed, count, state, reason, trigger, overlap, target, leased_by, slot, call, body)
		SELECT job_id || '@' || strftime('%Y-%m-%dT%H:%M:%SZ', at, 'unixepoch'), job_id, at * 1000000, at * 1000000, at * 1000000, CASE state WHEN 'succeeded' THEN at * 1000000 END,
			CASE state WHEN 'planned' THEN at * 1000000 WHEN 'running' THEN (at + 86400) * 1000000 END, 1, job_n, 1, state, '', 'schedule', 'queue', 'svc', 'host-1',
			CASE WHEN state <> 'succeeded' THEN job_id END, '{"target":"svc"}', CAST('{}' AS BLOB)
		FROM (SELECT job_id, job_n, unixepoch() AS at, `+states+` AS state FROM (SELECT job_id, row_number() OVER () AS job_n FROM jobs WHERE job_id LIKE 'job-%'))`
	}
	db, err := sql.Open(driver, source)
	s.must(err)
	defer db.Close()
	_, err = db.ExecContext(s.Context(), text)
	s.must(err)
}
