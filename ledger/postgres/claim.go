package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// Claim leases what is due; see ledger.Claim. Runs that another claim is
// taking at this moment are left to it.
func (l *Ledger) Claim(ctx context.Context, c ledger.Claim) (ledger.Claimed, error) {
	var got ledger.Claimed
	for look := true; ; {
		var step claimed
		err := again(func() (err error) {
			step, err = l.claim(ctx, c, c.Limit-len(got.Work), look)
			return err
		})
		if err != nil {
			return got, translate("claim", err)
		}
		got.Now, got.NextAt = step.now, step.nextAt
		got.Work, got.Expired = append(got.Work, step.work...), append(got.Expired, step.expired...)
		// The dead took places in the batch: there may be more behind them.
		more := len(step.expired) > 0 || (look && len(step.free) > 0)
		if !more || len(got.Work) >= c.Limit {
			return got, nil
		}
		if err := l.grant(ctx, step.free); err != nil {
			return got, err
		}
		// A slot that could not be given is no reason to look again.
		look = len(step.expired) > 0
	}
}

// claimSQL first looks whether there are free slots to give; if so it claims
// nothing, and is run again when they are given: the oldest work goes first.
//
// due locks the rows; what becomes of each follows from its own columns. They
// are looked up by a list and not joined, so that it is an index scan whatever
// the planner thinks of the size of due. The first row carries the order, which
// an UPDATE does not keep.
const claimSQL = `
WITH RECURSIVE ` + freeSlots + `, due AS MATERIALIZED (
	SELECT r.run_id, r.state, r.attempt, r.leased_at, r.leased_by
	FROM runs r
	WHERE r.due_at <= now() AND r.due_at IS NOT NULL AND NOT r.waiting
		AND (NOT $7 OR NOT EXISTS (SELECT FROM free))
		AND r.target <> ALL ($4::text[]) AND r.job_id <> ALL ($5::text[])
		AND ($6::text[] IS NULL OR r.run_id = ANY ($6::text[]))
	ORDER BY r.due_at
	LIMIT $3
	FOR UPDATE SKIP LOCKED
), lost AS (
	INSERT INTO attempts (run_id, n, started_at, finished_at, status, answer, code, error, detail, owner)
	SELECT run_id, attempt, leased_at, now(), 0, 'lost', '', '', '', leased_by FROM due WHERE state = 'running'
	ON CONFLICT DO NOTHING
), taken AS (
	UPDATE runs r SET
		(state, reason, attempt, due_at, finished_at, slot, leased_at, leased_by, lease_token) = (SELECT
			CASE WHEN e.expired THEN 'dead' ELSE 'running' END,
			CASE WHEN e.expired THEN 'key_expired' ELSE '' END,
			CASE WHEN e.expired THEN r.attempt ELSE r.attempt + 1 END,
			CASE WHEN NOT e.expired THEN now() + $8 * interval '1 microsecond' END,
			CASE WHEN e.expired THEN now() END,
			CASE WHEN NOT e.expired THEN r.slot END,
			CASE WHEN NOT e.expired THEN now() END,
			CASE WHEN e.expired THEN '' ELSE $1 END,
			CASE WHEN e.expired THEN '' ELSE $2 END
			FROM (SELECT r.send_before IS NOT NULL AND r.send_before <= now() AS expired) e),
		started_at = coalesce(r.started_at, now()),
		send_before = coalesce(r.send_before, now() + r.horizon * interval '1 microsecond')
	WHERE r.run_id = ANY (ARRAY(SELECT run_id FROM due))
	RETURNING r.*
)
SELECT CASE WHEN row_number() OVER () = 1 THEN ARRAY(SELECT run_id FROM due) END,` + runColumns + `FROM taken r`

// outlookSQL is what a claim says beside its work.
const outlookSQL = `
WITH RECURSIVE ` + freeSlots + `
SELECT now(), ARRAY(SELECT job_id FROM free),
	(SELECT min(due_at) FROM runs r
	 WHERE r.due_at > now() AND NOT r.waiting AND ($1::text[] IS NULL OR r.run_id = ANY ($1::text[])))`

// claimed is what one statement claimed.
type claimed struct {
	now, nextAt time.Time
	work        []ledger.Work
	expired     []ledger.Run
	free        []string // jobs whose free slot somebody waits for
}

func (l *Ledger) claim(ctx context.Context, c ledger.Claim, limit int, look bool) (got claimed, err error) {
	var only []string // NULL: any
	if len(c.Only) > 0 {
		only = c.Only
	}
	var batch pgx.Batch
	batch.Queue(claimSQL, c.Owner, c.Token, max(limit, 0), orEmpty(c.BusyTargets), orEmpty(c.BusyJobs), only, look, microseconds(c.LeaseFor))
	batch.Queue(outlookSQL, only)
	results := l.pool.SendBatch(ctx, &batch)
	defer results.Close()
	runs, err := inOrder(results.Query())
	if err != nil {
		return got, err
	}
	for _, r := range runs {
		if r.State == ledger.Dead {
			got.expired = append(got.expired, r)
		} else {
			got.work = append(got.work, workOf(r, c.Token))
		}
	}
	var next *time.Time
	if err := results.QueryRow().Scan(&got.now, &got.free, &next); err != nil {
		return got, err
	}
	got.nextAt = timeOf(next)
	return got, results.Close()
}

// inOrder reads the rows of claimSQL in the order of due.
func inOrder(rows pgx.Rows, err error) ([]ledger.Run, error) {
	if err != nil {
		return nil, err
	}
	rank := map[string]int{}
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ledger.Run, error) {
		var ids []string
		r, err := scanRun(prefixed{row, &ids})
		for i, id := range ids {
			rank[id] = i
		}
		return r, err
	})
	slices.SortFunc(runs, func(a, b ledger.Run) int { return rank[a.ID] - rank[b.ID] })
	return runs, err
}

// prefixed is a row with one column before those that its reader knows.
type prefixed struct {
	pgx.CollectableRow
	first any
}

func (p prefixed) Scan(dest ...any) error {
	return p.CollectableRow.Scan(append([]any{p.first}, dest...)...)
}

// workOf is the work of a run just leased.
func workOf(r ledger.Run, token string) ledger.Work {
	return ledger.Work{
		RunID: r.ID, JobID: r.JobID, ScheduledAt: r.ScheduledAt, Trigger: r.Trigger, Attempt: r.Attempt,
		Failures: r.Failures, SendBefore: r.SendBefore, LeasedUntil: r.LeasedUntil, Token: token, Call: r.Call,
	}
}

// orEmpty keeps a nil list from becoming NULL, which equals nothing and
// differs from nothing.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
