package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cronce/cronce/ledger"
)

// Admit writes the plans' scheduled times; see ledger.Admission for the rules. Plans
// that contain only runs, which is nearly always so, are admitted in one statement.
func (l *Ledger) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	got := ledger.Admitted{Skipped: map[ledger.Reason]int{}}
	if err := a.Validate(); err != nil {
		return got, translate("admit", err)
	}
	plain, special := divideSpecial(a.Plans)
	left, moved, err := l.dropStale(ctx, plain)
	if err != nil {
		return got, translate("admit", err)
	}
	plain = left
	var current []string
	if len(plain) > 0 || len(special) == 0 {
		err := retry(func() (err error) {
			current, err = l.admit(ctx, l.pool, a, plain, len(plain) > 0, &got)
			return err
		})
		if err != nil {
			return got, translate("admit", err)
		}
	}
	if len(special) > 0 {
		ids, err := l.admitSpecial(ctx, a, special, &got)
		if err != nil {
			return got, err
		}
		current = append(current, ids...)
	}
	got.Stale, err = l.findStale(ctx, current, plain, special)
	l.contended.Store(len(moved)+len(got.Stale) > 0)
	got.Stale = append(moved, got.Stale...)
	return got, translate("admit", err)
}

// querier is the pool or a transaction.
type querier interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
	Query(context.Context, string, ...any) (pgx.Rows, error)
	QueryRow(context.Context, string, ...any) pgx.Row
}

// admitSQL locks the jobs' rows, in the order of their ids, before anything
// else: with independent inserts and updates several replicas deadlock. A row
// that had to be waited for is judged as it is then, not as it was. The rest is
// derived from the rows locked.
//
// A scheduled time is sent as its own values and the number of its kind: see arrays.
// The two are joined first, by a hash join: the planner expects a single locked row,
// and would otherwise scan all kinds for each scheduled time.
//
// "first" writes every row that does not depend on a taken slot. A row that takes
// the slot conflicts if the slot is taken, also by an uncommitted run; it is decided
// in a second insert. now() is read once, before any waiting: a scheduled time is
// never admitted early.
//
// The usual batch is complete: no job is paused, and "first" wrote all rows. Then
// the second insert and the list of leased runs are skipped, since every requested
// lease was given. If no run waits at all, no job is checked for waiting runs.
//
// turn serializes admissions of processes that plan the same scheduled times: see
// dropStale.
const admitSQL = `
WITH turn AS MATERIALIZED (
	SELECT CASE WHEN $23 THEN pg_advisory_xact_lock(` + turnKey + `)::text END
), plan AS (
	SELECT * FROM unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::timestamptz[], $24::bigint[])
		WITH ORDINALITY AS p (job_id, revision, after, through, instants, n)
), locked AS MATERIALIZED (
	SELECT p.n, j.job_id, j.revision, j.paused_at IS NOT NULL AS paused, p.through, p.instants
	FROM jobs j JOIN plan p ON p.job_id = j.job_id
	WHERE EXISTS (SELECT FROM turn) AND j.ended_at IS NULL AND j.revision = p.revision AND j.watermark = p.after
		AND p.through >= p.after AND (p.through <= now() OR p.through = p.after)
	ORDER BY j.job_id
	FOR UPDATE OF j
), moved AS (
	UPDATE jobs j SET watermark = l.through FROM locked l WHERE j.job_id = l.job_id
), new_run AS NOT MATERIALIZED (
	SELECT i.*, l.job_id, l.revision, l.paused, i.planned AND l.paused AS skip,
		i.lease AND NOT l.paused AS starts, i.takes AND NOT l.paused AS takes_slot,
		i.takes AND EXISTS (SELECT FROM runs w WHERE w.waiting)
			AND EXISTS (SELECT FROM runs w WHERE w.waiting AND w.job_id = l.job_id) AS behind
	FROM (
		SELECT i.plan, i.run_id, i.at, i.body, i.n, k.*
		FROM unnest($5::bigint[], $6::bigint[], $7::text[], $8::timestamptz[], $9::bytea[])
			WITH ORDINALITY AS i (plan, kind, run_id, at, body, n)
		LEFT JOIN unnest($10::text[], $11::text[], $12::text[], $13::boolean[], $14::boolean[], $15::boolean[], $16::boolean[],
				$17::text[], $18::bigint[], $19::text[], $25::bigint[])
			WITH ORDINALITY AS k (state, reason, trigger, planned, lease, takes, queues, target, horizon, call, late, kind)
			ON k.kind = i.kind
		OFFSET 0
	) i
	JOIN locked l ON l.n = i.plan
), first AS (
	INSERT INTO runs (run_id, job_id, scheduled_at, planned_at, revision, trigger, state, reason, target, horizon, call, body,
		takes_slot, slot, attempt, started_at, send_before, leased_at, due_at, finished_at, lease_token, leased_by, late_at)
	SELECT run_id, job_id, at, now(), revision, trigger,
		CASE WHEN skip THEN 'skipped' WHEN starts THEN 'running' ELSE state END,
		CASE WHEN skip THEN 'paused' ELSE reason END,
		target, horizon, call, body,
		takes_slot, CASE WHEN takes_slot THEN job_id END,
		CASE WHEN starts THEN 1 ELSE 0 END,
		CASE WHEN starts THEN now() END,
		CASE WHEN starts THEN now() + horizon * interval '1 microsecond' END,
		CASE WHEN starts THEN now() END,
		CASE WHEN starts THEN now() + $22 * interval '1 microsecond' WHEN planned AND NOT paused THEN at END,
		CASE WHEN skip OR NOT planned THEN now() END,
		CASE WHEN starts THEN $20 ELSE '' END,
		CASE WHEN starts THEN $21 ELSE '' END,
		CASE WHEN NOT skip THEN at + late * interval '1 microsecond' END
	FROM new_run WHERE NOT (takes_slot AND behind)
	ORDER BY n
	ON CONFLICT DO NOTHING
	RETURNING run_id, state, reason, slot
), complete AS MATERIALIZED (
	SELECT (SELECT count(*) FROM first) = (SELECT sum(instants) FROM locked) AND NOT EXISTS (SELECT FROM locked WHERE paused) AS yes
), judged AS (
	INSERT INTO runs (run_id, job_id, scheduled_at, planned_at, revision, trigger, state, reason, target, horizon, call, body,
		takes_slot, waiting, due_at, finished_at, late_at)
	SELECT run_id, job_id, at, now(), revision, trigger,
		CASE WHEN queues THEN 'planned' ELSE 'skipped' END,
		CASE WHEN queues THEN '' ELSE 'overlap' END,
		target, horizon, call, body,
		queues, queues,
		CASE WHEN queues THEN at END,
		CASE WHEN NOT queues THEN now() END,
		CASE WHEN queues THEN at + late * interval '1 microsecond' END
	FROM new_run WHERE (SELECT yes FROM complete) IS NOT TRUE AND takes_slot AND run_id NOT IN (SELECT run_id FROM first WHERE slot IS NOT NULL)
	ON CONFLICT DO NOTHING
	RETURNING state
)
SELECT now(), now() + $22 * interval '1 microsecond',
	ARRAY(SELECT n FROM locked), (SELECT yes IS TRUE FROM complete),
	CASE WHEN (SELECT yes FROM complete) THEN NULL ELSE ARRAY(SELECT run_id FROM first WHERE state = 'running') END,
	(SELECT count(*) FROM first WHERE reason = 'paused'),
	(SELECT count(*) FROM judged WHERE state = 'skipped')`

// admit runs the statement, in turn if nothing is locked yet, and adds what came of it; it returns the jobs whose
// plans were current.
func (l *Ledger) admit(ctx context.Context, q querier, a ledger.Admission, plans []ledger.Plan, turn bool, got *ledger.Admitted) ([]string, error) {
	arrays, err := arraysOf(plans)
	if err != nil {
		return nil, err
	}
	var (
		until             time.Time
		numbers           []int
		complete          bool
		leased            []string
		paused, overlaped int
	)
	args := append(arrays.arguments(), a.Token, a.Owner, microseconds(a.LeaseFor), turn, arrays.counts, arrays.lates)
	err = q.QueryRow(ctx, admitSQL, args...).Scan(&got.Now, &until, &numbers, &complete, &leased, &paused, &overlaped)
	if err != nil {
		return nil, err
	}
	count(got.Skipped, ledger.ReasonPaused, paused)
	count(got.Skipped, ledger.ReasonOverlap, overlaped)
	var mine map[string]bool
	if !complete {
		mine = setOf(leased)
	}
	slices.Sort(numbers)
	current := make([]string, len(numbers))
	for i, n := range numbers {
		p := &plans[n-1]
		current[i] = p.JobID
		got.Leased = addLeased(got.Leased, p, mine, a.Token, got.Now, until)
	}
	return current, nil
}

// addLeased adds the work of an admitted plan's runs that were just inserted,
// leased, each once: of those that are mine, or, if that is nil, of all that
// were to be leased.
func addLeased(work []ledger.Work, p *ledger.Plan, mine map[string]bool, token string, now, until time.Time) []ledger.Work {
	for _, in := range p.Runs {
		if mine[in.RunID] || (mine == nil && leases(in)) {
			delete(mine, in.RunID)
			work = append(work, firstWork(p.JobID, in, token, now, until))
		}
	}
	return work
}

func count(m map[ledger.Reason]int, r ledger.Reason, n int) {
	if n > 0 {
		m[r] += n
	}
}

// firstWork is the work of a run that was just inserted, leased. The store
// keeps whole microseconds.
func firstWork(jobID string, in ledger.RunSpec, token string, now, until time.Time) ledger.Work {
	return ledger.Work{
		RunID: in.RunID, JobID: jobID, ScheduledAt: in.ScheduledAt.UTC(), Trigger: in.Trigger, Attempt: 1,
		SendBefore: now.Add(in.Call.Horizon.Truncate(time.Microsecond)), LeasedUntil: until, Token: token, Call: in.Call,
	}
}

// leases reports whether a run is to be leased on admission.
func leases(in ledger.RunSpec) bool { return in.Lease && in.State == ledger.Planned }

// takesSlot reports whether a planned scheduled time runs only with its job's slot.
func takesSlot(in ledger.RunSpec) bool {
	return in.State == ledger.Planned && in.Overlap != ledger.OverlapAllow && !ledger.IsAdHoc(in.RunID)
}

// findStale returns the positions of the jobs whose plans were not admitted. It
// reads them after the admission: the statement itself may have waited for the
// transaction that moved them, and sees them as they were before.
func (l *Ledger) findStale(ctx context.Context, current []string, plain, special []ledger.Plan) ([]ledger.Position, error) {
	if len(current) == len(plain)+len(special) {
		return nil, nil
	}
	admitted := setOf(current)
	var stale []string
	for _, p := range slices.Concat(plain, special) {
		if !admitted[p.JobID] {
			stale = append(stale, p.JobID)
		}
	}
	return l.positions(ctx, stale)
}

// positions returns the positions of jobs, in the given order.
func (l *Ledger) positions(ctx context.Context, jobIDs []string) ([]ledger.Position, error) {
	rows, err := l.pool.Query(ctx, `
		SELECT s.job_id, coalesce(j.revision, 0), j.watermark
		FROM unnest($1::text[]) WITH ORDINALITY AS s (job_id, n) LEFT JOIN jobs j ON j.job_id = s.job_id
		ORDER BY s.n`, jobIDs)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p ledger.Position, err error) {
		var watermark *time.Time
		err = row.Scan(&p.JobID, &p.Revision, &watermark)
		p.Watermark = timeOf(watermark)
		return p, err
	})
}
