package postgres

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// Admit writes the plans' instants; see ledger.Admission for the rules. Plans
// of nothing but runs, all but the rarest, are admitted in one statement.
func (l *Ledger) Admit(ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
	got := ledger.Admitted{Skipped: map[ledger.Reason]int{}}
	var plain, special []ledger.Plan
	for _, p := range a.Plans {
		if isSpecial(p) {
			special = append(special, p)
		} else {
			plain = append(plain, p)
		}
	}
	left, moved, err := l.afterOthers(ctx, plain)
	if err != nil {
		return got, translate("admit", err)
	}
	plain = left
	var current []string
	if len(plain) > 0 || len(special) == 0 {
		err := again(func() (err error) {
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
	got.Stale, err = l.findStale(ctx, slices.Concat(plain, special), current)
	l.crowded.Store(len(moved)+len(got.Stale) > 0)
	got.Stale = append(moved, got.Stale...)
	return got, translate("admit", err)
}

type querier interface {
	Query(context.Context, string, ...any) (pgx.Rows, error)
	QueryRow(context.Context, string, ...any) pgx.Row
}

// admitSQL locks the jobs' rows, in the order of their ids, before anything
// else: with independent inserts and updates several replicas deadlock. A row
// that had to be waited for is judged as it is then, not as it was. The rest is
// derived from the rows locked.
//
// first writes every row that can be written without losing anything to the
// slot; those that take the slot conflict where it is taken, by an uncommitted
// run too. Losers are judged in a second insert. now() is read once, before any
// waiting: an instant is never admitted early.
//
// turn is for those who have lost an instant to this process: see afterOthers.
const admitSQL = `
WITH turn AS MATERIALIZED (
	SELECT CASE WHEN $22 THEN pg_advisory_xact_lock(` + turnKey + `)::text END
), plan AS (
	SELECT * FROM unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::timestamptz[]) AS p (job_id, epoch, after, through)
), locked AS MATERIALIZED (
	SELECT j.job_id, j.epoch, j.paused_at IS NOT NULL AS paused, p.through
	FROM jobs j JOIN plan p ON p.job_id = j.job_id
	WHERE EXISTS (SELECT FROM turn) AND j.ended_at IS NULL AND j.epoch = p.epoch AND j.watermark = p.after
		AND p.through >= p.after AND p.through <= now()
	ORDER BY j.job_id
	FOR UPDATE OF j
), moved AS (
	UPDATE jobs j SET watermark = l.through FROM locked l WHERE j.job_id = l.job_id
), instant AS MATERIALIZED (
	SELECT i.*, l.epoch, l.paused, i.planned AND l.paused AS skip,
		i.lease AND NOT l.paused AS starts, i.takes AND NOT l.paused AS takes_slot,
		i.takes AND EXISTS (SELECT FROM runs w WHERE w.waiting AND w.job_id = i.job_id) AS behind
	FROM unnest($5::text[], $6::text[], $7::timestamptz[], $8::text[], $9::text[], $10::text[], $11::boolean[],
			$12::boolean[], $13::boolean[], $14::boolean[], $15::text[], $16::bigint[], $17::text[], $18::bytea[])
		WITH ORDINALITY AS i (job_id, run_id, at, state, reason, trigger, planned,
			lease, takes, queues, target, horizon, call, body, n)
	JOIN locked l ON l.job_id = i.job_id
), first AS (
	INSERT INTO runs (run_id, job_id, scheduled_at, planned_at, epoch, trigger, state, reason, target, horizon, call, body,
		takes_slot, slot, attempt, started_at, send_before, leased_at, due_at, finished_at, lease_token, leased_by)
	SELECT run_id, job_id, at, now(), epoch, trigger,
		CASE WHEN skip THEN 'skipped' WHEN starts THEN 'running' ELSE state END,
		CASE WHEN skip THEN 'paused' ELSE reason END,
		target, horizon, call, body,
		takes_slot, CASE WHEN takes_slot THEN job_id END,
		CASE WHEN starts THEN 1 ELSE 0 END,
		CASE WHEN starts THEN now() END,
		CASE WHEN starts THEN now() + horizon * interval '1 microsecond' END,
		CASE WHEN starts THEN now() END,
		CASE WHEN starts THEN now() + $21 * interval '1 microsecond' WHEN planned AND NOT paused THEN at END,
		CASE WHEN skip OR NOT planned THEN now() END,
		CASE WHEN starts THEN $19 ELSE '' END,
		CASE WHEN starts THEN $20 ELSE '' END
	FROM instant WHERE NOT (takes_slot AND behind)
	ORDER BY n
	ON CONFLICT DO NOTHING
	RETURNING run_id, state, reason, slot
), judged AS (
	INSERT INTO runs (run_id, job_id, scheduled_at, planned_at, epoch, trigger, state, reason, target, horizon, call, body,
		takes_slot, waiting, due_at, finished_at)
	SELECT run_id, job_id, at, now(), epoch, trigger,
		CASE WHEN queues THEN 'planned' ELSE 'skipped' END,
		CASE WHEN queues THEN '' ELSE 'overlap' END,
		target, horizon, call, body,
		queues, queues,
		CASE WHEN queues THEN at END,
		CASE WHEN NOT queues THEN now() END
	FROM instant WHERE takes_slot AND run_id NOT IN (SELECT run_id FROM first WHERE slot IS NOT NULL)
	ON CONFLICT DO NOTHING
	RETURNING state
)
SELECT now(), now() + $21 * interval '1 microsecond',
	ARRAY(SELECT job_id FROM locked),
	ARRAY(SELECT run_id FROM first WHERE state = 'running'),
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
		current, leased   []string
		paused, overlaped int
	)
	args := append(arrays.arguments(), a.Token, a.Owner, microseconds(a.LeaseFor), turn)
	err = q.QueryRow(ctx, admitSQL, args...).Scan(&got.Now, &until, &current, &leased, &paused, &overlaped)
	if err != nil {
		return nil, err
	}
	count(got.Skipped, ledger.WhilePaused, paused)
	count(got.Skipped, ledger.Overlapped, overlaped)
	for _, id := range leased {
		p := arrays.places[id]
		got.Leased = append(got.Leased, firstWork(plans[p.plan].JobID, plans[p.plan].Instants[p.instant], a.Token, got.Now, until))
	}
	return current, nil
}

func count(m map[ledger.Reason]int, r ledger.Reason, n int) {
	if n > 0 {
		m[r] += n
	}
}

// firstWork is the work of a run that was just inserted, leased. The store
// keeps whole microseconds.
func firstWork(jobID string, in ledger.Instant, token string, now, until time.Time) ledger.Work {
	return ledger.Work{
		RunID: in.RunID, JobID: jobID, ScheduledAt: in.At.UTC(), Trigger: in.Trigger, Attempt: 1,
		SendBefore: now.Add(in.Call.Horizon.Truncate(time.Microsecond)), LeasedUntil: until, Token: token, Call: in.Call,
	}
}

// takesSlot reports whether a planned instant runs only with its job's slot.
func takesSlot(in ledger.Instant) bool {
	return in.State == ledger.Planned && in.Overlap != ledger.OverlapAllow && !ledger.BesideSchedule(in.RunID)
}

// findStale says where the jobs stand whose plans were not admitted, read
// after the admission: the statement itself may have waited for whoever moved
// them, and sees them as they were before.
func (l *Ledger) findStale(ctx context.Context, plans []ledger.Plan, current []string) ([]ledger.Position, error) {
	if len(current) == len(plans) {
		return nil, nil
	}
	admitted := setOf(current)
	var stale []string
	for _, p := range plans {
		if !admitted[p.JobID] {
			stale = append(stale, p.JobID)
		}
	}
	return l.positions(ctx, stale)
}

// positions are where jobs stand, in the order asked for.
func (l *Ledger) positions(ctx context.Context, jobIDs []string) ([]ledger.Position, error) {
	rows, err := l.pool.Query(ctx, `
		SELECT s.job_id, coalesce(j.epoch, 0), j.watermark
		FROM unnest($1::text[]) WITH ORDINALITY AS s (job_id, n) LEFT JOIN jobs j ON j.job_id = s.job_id
		ORDER BY s.n`, jobIDs)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p ledger.Position, err error) {
		var watermark *time.Time
		err = row.Scan(&p.JobID, &p.Epoch, &watermark)
		p.Watermark = timeOf(watermark)
		return p, err
	})
}

// arrays are plans as a statement's parameters, one array a column.
type arrays struct {
	jobIDs                             []string
	epochs                             []int64
	after, through                     []time.Time
	jobOf, runIDs                      []string
	at                                 []time.Time
	states, reasons, triggers, targets []string
	planned, lease, takes, queues      []bool
	horizons                           []int64
	calls                              []*string
	bodies                             [][]byte
	places                             map[string]place // of the instants to lease

	lastCall ledger.Call // the call last encoded, as lastText
	lastText *string
}

// place is where an instant stands in the plans.
type place struct{ plan, instant int }

func arraysOf(plans []ledger.Plan) (*arrays, error) {
	a := newArrays(plans)
	for i, p := range plans {
		a.jobIDs, a.epochs = append(a.jobIDs, p.JobID), append(a.epochs, p.Epoch)
		a.after, a.through = append(a.after, p.After), append(a.through, p.Through)
		for k, in := range p.Instants {
			if err := a.add(p.JobID, in); err != nil {
				return nil, fmt.Errorf("run %s: %w", in.RunID, err)
			}
			if in.Lease {
				a.places[in.RunID] = place{i, k}
			}
		}
	}
	return a, nil
}

func newArrays(plans []ledger.Plan) *arrays {
	n, rows := len(plans), 0
	for _, p := range plans {
		rows += len(p.Instants)
	}
	return &arrays{
		jobIDs: make([]string, 0, n), epochs: make([]int64, 0, n), after: make([]time.Time, 0, n), through: make([]time.Time, 0, n),
		jobOf: make([]string, 0, rows), runIDs: make([]string, 0, rows), at: make([]time.Time, 0, rows),
		states: make([]string, 0, rows), reasons: make([]string, 0, rows), triggers: make([]string, 0, rows), targets: make([]string, 0, rows),
		planned: make([]bool, 0, rows), lease: make([]bool, 0, rows), takes: make([]bool, 0, rows), queues: make([]bool, 0, rows),
		horizons: make([]int64, 0, rows), calls: make([]*string, 0, rows), bodies: make([][]byte, 0, rows),
		places: make(map[string]place, rows),
	}
}

func (a *arrays) add(jobID string, in ledger.Instant) error {
	planned := in.State == ledger.Planned
	var call *string
	var body []byte
	if planned {
		text, err := a.text(in.Call)
		if err != nil {
			return err
		}
		call, body = text, in.Call.Body
	}
	a.jobOf, a.runIDs, a.at = append(a.jobOf, jobID), append(a.runIDs, in.RunID), append(a.at, in.At)
	a.states, a.reasons = append(a.states, string(in.State)), append(a.reasons, string(in.Reason))
	a.triggers, a.targets = append(a.triggers, string(in.Trigger)), append(a.targets, in.Call.Target)
	a.planned, a.lease = append(a.planned, planned), append(a.lease, planned && in.Lease)
	a.takes, a.queues = append(a.takes, takesSlot(in)), append(a.queues, in.Overlap == ledger.OverlapQueue)
	a.horizons = append(a.horizons, microseconds(in.Call.Horizon))
	a.calls, a.bodies = append(a.calls, call), append(a.bodies, body)
	return nil
}

// text encodes a call without its body. Instants of one job, and of jobs that
// are called alike, follow each other: those are encoded once.
func (a *arrays) text(c ledger.Call) (*string, error) {
	if a.lastText != nil && sameButBody(a.lastCall, c) {
		return a.lastText, nil
	}
	text, _, err := encodeCall(c)
	if err != nil {
		return nil, err
	}
	s := string(text)
	a.lastCall, a.lastText = c, &s
	return a.lastText, nil
}

// sameButBody reports whether two calls are equal but for their bodies.
func sameButBody(a, b ledger.Call) bool {
	a.Body, b.Body = nil, nil
	return reflect.DeepEqual(&a, &b)
}

// arguments are the parameters $1 to $18 of admitSQL.
func (a *arrays) arguments() []any {
	return []any{
		a.jobIDs, a.epochs, a.after, a.through,
		a.jobOf, a.runIDs, a.at, a.states, a.reasons, a.triggers, a.planned,
		a.lease, a.takes, a.queues, a.targets, a.horizons, a.calls, a.bodies,
	}
}
