package postgres_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/postgres"
)

// TestNoStatementReadsAWholeTable runs every operation on a ledger with 200,000
// finished runs, often enough for the server to choose generic plans, and lets
// the server tell what each statement did.
func TestNoStatementReadsAWholeTable(t *testing.T) {
	f := newFleet(t, 200, ledger.OverlapSkip)
	fill(t, f)
	f.apart = true
	f.Close()
	var seen plans
	f.open(t, f.url, seen.collect(), postgres.PoolSize(1))
	for range 8 {
		workADay(t, f)
	}
	if len(seen.texts) < 100 {
		t.Fatalf("the server explained %d statements only", len(seen.texts))
	}
	for _, p := range seen.texts {
		if whole.MatchString(p) {
			t.Errorf("a whole table was read:\n%s", p)
		}
	}
}

// whole matches a scan of all rows of a table that grows with the runs, an
// index scan that throws away more rows than any job has, 1,000, and a join that
// compares all scheduled times or outcomes with all their kinds.
var whole = regexp.MustCompile(`Seq Scan on (cronce\.)?(runs|attempts|audit|events)|Rows Removed by .*: (\d{5,}|[2-9]\d{3})`)

// A purge that deletes one run in ten of 20,000 at one time, in 20 batches, looks
// at them once.
func TestAPurgeReadsTheRunsOfOneTimeOnce(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapSkip)
	execute(t, f.url, `
		INSERT INTO cronce.runs (run_id, job_id, scheduled_at, planned_at, finished_at, revision, state, trigger)
		SELECT 'job-00000@1970-01-01T00:00:00Z~' || i, 'job-00000', 'epoch', now(),
			now() - CASE WHEN i % 10 = 0 THEN interval '60 days' ELSE interval '1 day' END, 0, 'succeeded', 'event'
		FROM generate_series(1, 20000) i;
		ANALYZE cronce.runs`)
	f.Close()
	var seen plans
	f.open(t, f.url, seen.collect(), postgres.PoolSize(1))
	p := ledger.Purge{Retention: 30 * 24 * time.Hour, DeadRetention: 30 * 24 * time.Hour, Batch: 100}
	gone, batches := 0, 0
	for more := true; more; batches++ {
		got, err := f.PurgeRuns(t.Context(), p)
		must(t, err)
		gone, more, p.From = gone+got.Runs, got.More, got.Next
	}
	looked := 0
	for _, text := range seen.texts {
		looked += strings.Count(text, "using runs_top")
	}
	if gone != 2000 || batches < 20 || looked == 0 || looked > 2 {
		t.Errorf("%d runs gone in %d batches, which looked %d times: want 2000 in 20 or more, and 2 looks at the most", gone, batches, looked)
	}
}

// A page of 50 runs reads as many, although 20,000 have one scheduled time.
func TestAPageDoesNotSortTheRunsOfOneTime(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapSkip)
	execute(t, f.url, `
		INSERT INTO cronce.runs (run_id, job_id, scheduled_at, planned_at, finished_at, revision, state, trigger)
		SELECT 'job-00000@1970-01-01T00:00:00Z~' || i, 'job-00000', 'epoch', now(), now(), 0, 'succeeded', 'event'
		FROM generate_series(1, 20000) i;
		ANALYZE cronce.runs`)
	f.Close()
	var seen plans
	f.open(t, f.url, seen.collect(), postgres.PoolSize(1))
	page, err := f.List(t.Context(), ledger.Filter{Limit: 50})
	must(t, err)
	_, err = f.List(t.Context(), ledger.Filter{Limit: 50, Before: &ledger.Cursor{ScheduledAt: page[49].ScheduledAt, ID: page[49].ID}})
	must(t, err)
	pages := 0
	for _, text := range seen.texts {
		if strings.Contains(text, "runs_top") {
			pages++
		}
		if strings.Contains(text, "Sort") {
			t.Errorf("a page is sorted:\n%s", text)
		}
	}
	if pages != 2 {
		t.Errorf("%d of 2 pages are read by their index", pages)
	}
}

// Of 20,000 dead runs, the 50 that are not acknowledged are read, whatever the job.
func TestAcknowledgedRunsAreNotReadForTheOthers(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapSkip)
	execute(t, f.url, `
		INSERT INTO cronce.runs (run_id, job_id, scheduled_at, planned_at, finished_at, revision, state, trigger, acked_at)
		SELECT 'job-00000@1970-01-01T00:00:00Z~' || i, 'job-00000', 'epoch', now(), now(), 0, 'dead', 'event',
			CASE WHEN i % 400 > 0 THEN now() END
		FROM generate_series(1, 20000) i;
		ANALYZE cronce.runs`)
	f.Close()
	var seen plans
	f.open(t, f.url, seen.collect(), postgres.PoolSize(1))
	for _, job := range []string{"", "job-00000"} {
		filter := ledger.Filter{JobID: job, States: []ledger.State{ledger.Dead}, Unacknowledged: true, Limit: 500}
		page, err := f.List(t.Context(), filter)
		must(t, err)
		groups, err := f.Groups(t.Context(), filter)
		must(t, err)
		if len(page) != 50 || len(groups) != 1 || groups[0].Rows != 50 {
			t.Errorf("%d runs, groups %+v", len(page), groups)
		}
	}
	for _, text := range seen.texts {
		if strings.Contains(text, "Rows Removed by Filter") {
			t.Errorf("acknowledged runs are read:\n%s", text)
		}
	}
}

// Of 100,000 due runs of a target, and as many that were given back for their own cause
// or whose wait has passed, few rows are read to say why some wait.
func TestWhyATargetIsHeldBackIsFoundByItsIndex(t *testing.T) {
	f := newFleet(t, 1, ledger.OverlapSkip)
	execute(t, f.url, `
		INSERT INTO cronce.runs (run_id, job_id, scheduled_at, planned_at, due_at, revision, state, trigger, target, waits_for)
		SELECT 'job-00000@1970-01-01T00:00:00Z~' || i, 'job-00000', 'epoch', now(),
			now() + CASE i % 3 WHEN 0 THEN interval '1 day' ELSE interval '-1 day' END, 1, 'planned', 'event', 'MEMBERSHIP_URL',
			CASE i % 3 WHEN 0 THEN 'not_sent: its own' WHEN 1 THEN 'breaker_open: passed' END
		FROM generate_series(1, 300000) i;
		ANALYZE cronce.runs`)
	f.Close()
	var seen plans
	f.open(t, f.url, seen.collect(), postgres.PoolSize(1))
	var ids []string
	for i := range 1000 {
		ids = append(ids, fmt.Sprintf("job-00000@1970-01-01T00:00:00Z~%d", 3*i+2))
	}
	for range 8 {
		why, err := f.Waiting(t.Context(), ids)
		must(t, err)
		if len(why) != len(ids) || why[ids[0]].Code == ledger.WaitBreakerOpen {
			t.Fatalf("%d runs wait, the first for %+v", len(why), why[ids[0]])
		}
	}
	held := 0
	for _, p := range seen.texts {
		if strings.Contains(p, "runs_held") {
			held++
		}
		if whole.MatchString(p) {
			t.Errorf("too many rows were read:\n%s", p)
		}
	}
	if held == 0 {
		t.Error("no statement used runs_held")
	}
}

// fill adds 200,000 finished runs of the fleet's jobs, before what was planned.
func fill(t *testing.T, f *fleet) {
	t.Helper()
	execute(t, f.url, `
		INSERT INTO cronce.runs (run_id, job_id, scheduled_at, planned_at, started_at, finished_at, send_before, revision,
			state, reason, trigger, target, attempt, lease_token, leased_by, call, body, first_answer, first_status, first_owner)
		SELECT job || '@' || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), job,
			at, at, at, at, at, 1, state, CASE state WHEN 'dead' THEN 'exhausted' WHEN 'skipped' THEN 'overlap' ELSE '' END,
			'schedule', 'MEMBERSHIP_URL', 2, md5(i::text), 'p', '{"target":"MEMBERSHIP_URL"}', '{}', 'unknown', 0, 'p'
		FROM generate_series(1, 200000) i, LATERAL (SELECT 'job-' || lpad((i % 200)::text, 5, '0') AS job,
			date_trunc('second', now()) - interval '60 days' + i * interval '10 seconds' AS at,
			CASE WHEN i % 100 = 0 THEN 'dead' WHEN i % 10 = 0 THEN 'skipped' ELSE 'succeeded' END AS state) x;
		INSERT INTO cronce.attempts SELECT run_id, 2, started_at, finished_at, 200, 'fresh', '', '', '', 'p' FROM cronce.runs;
		ANALYZE cronce.runs, cronce.attempts, cronce.jobs`)
}

// workADay does everything once.
func workADay(t *testing.T, f *fleet) {
	t.Helper()
	ctx := t.Context()
	leased := f.admit(t, true)
	lost, err := f.Extend(ctx, leasesOf(leased), time.Minute)
	must(t, err)
	again, err := f.LeasedWork(ctx, leased[0].Token)
	must(t, err)
	if len(lost) > 0 || len(again) != len(leased) {
		t.Fatalf("lost %v, recalled %d of %d", lost, len(again), len(leased))
	}
	f.record(t, leased)
	f.admit(t, false)
	got, err := f.Claim(ctx, ledger.ClaimRequest{Process: "p", Token: f.token(), Limit: 1000, LeaseFor: time.Minute})
	must(t, err)
	f.record(t, got.Work)
	look(t, f, got.Work[0])
	_, err = f.Cancel(ctx, ledger.Action{Filter: ledger.Filter{JobID: "job-00003"}, Actor: ledger.Actor{By: "me", Why: "test"}})
	must(t, err)
	_, err = f.Redrive(ctx, ledger.Action{Filter: ledger.Filter{JobID: "job-00100", Limit: 1}, Actor: ledger.Actor{By: "me", Why: "test"}})
	must(t, err)
	series := &ledger.Request{Key: f.token(), Series: "s", EncodeAnswer: func(any) ([]byte, error) { return nil, nil }}
	_, err = f.Ack(ctx, ledger.Action{Filter: ledger.Filter{Limit: 10}, Actor: ledger.Actor{By: "me", Why: "test", Request: series}})
	must(t, err)
	_, _, err = f.FindAnswer(ctx, *series)
	must(t, err)
	_, err = f.PurgeRuns(ctx, ledger.Purge{Retention: 59 * 24 * time.Hour, DeadRetention: 59 * 24 * time.Hour, Batch: 500})
	must(t, err)
	_, err = f.PurgeHistory(ctx, ledger.HistoryPurge{Retention: time.Hour, AuditRetention: time.Hour})
	must(t, err)
	for _, page := range []ledger.AuditFilter{{}, {JobID: "job-00003"}, {By: "me", Before: 1000}, {RunID: got.Work[0].RunID}} {
		_, err = f.Audit(ctx, page)
		must(t, err)
	}
}

// look reads what operators read.
func look(t *testing.T, f *fleet, w ledger.Work) {
	t.Helper()
	ctx := t.Context()
	_, _, err := f.Get(ctx, w.RunID)
	must(t, err)
	_, err = f.Waiting(ctx, []string{w.RunID})
	must(t, err)
	for _, filter := range []ledger.Filter{
		{},
		{JobID: w.JobID},
		{IDs: []string{w.RunID}},
		{States: []ledger.State{ledger.Dead}, Unacknowledged: true},
		{States: []ledger.State{ledger.Running, ledger.Retrying}},
		{Since: time.Now().Add(-24 * time.Hour)},
		{JobID: w.JobID, States: []ledger.State{ledger.Succeeded}, Before: &ledger.Cursor{ScheduledAt: w.ScheduledAt, ID: w.RunID}},
	} {
		_, err := f.List(ctx, filter)
		must(t, err)
	}
	_, err = f.Jobs(ctx)
	must(t, err)
	_, err = f.JobStates(ctx)
	must(t, err)
	_, err = f.Counts(ctx)
	must(t, err)
	_, err = f.Recent(ctx, []string{w.JobID, "job-00003"}, 30)
	must(t, err)
	for _, job := range []string{w.JobID, ""} {
		_, err = f.Hours(ctx, job, time.Now().Add(-time.Hour), time.Now())
		must(t, err)
	}
	_, err = f.Ranges(ctx, w.JobID, time.Now().Add(-90*24*time.Hour), time.Now())
	must(t, err)
	_, err = f.RollUp(ctx)
	must(t, err)
	_, err = f.Processes(ctx)
	must(t, err)
	changes, err := f.Changes(ctx, f.position)
	must(t, err)
	f.position = changes.Position
}

func leasesOf(work []ledger.Work) []ledger.Lease {
	var ls []ledger.Lease
	for _, w := range work {
		ls = append(ls, ledger.Lease{RunID: w.RunID, Token: w.Token})
	}
	return ls
}

var guessed = regexp.MustCompile(`Function Scan on \w+ +\(cost=\S+ rows=10 `)
