package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// Claim leases due runs; see ledger.Claim. It skips runs that another claim has
// locked.
func (l *Ledger) Claim(ctx context.Context, c ledger.Claim) (ledger.Claimed, error) {
	var got ledger.Claimed
	for look := true; ; {
		var step claimed
		err := retry(func() (err error) {
			step, err = l.claim(ctx, c, c.Limit-len(got.Work), look)
			return err
		})
		if err != nil {
			return got, translate("claim", err)
		}
		got.Now, got.NextAt = step.now, step.nextAt
		got.Work = append(got.Work, step.work...)
		if err := l.addPastSendBefore(ctx, step.pastSendBefore, &got); err != nil {
			return got, translate("claim", err)
		}
		// Runs past their SendBefore took places in the batch: there may be more work.
		more := len(step.pastSendBefore) > 0 || (look && len(step.free) > 0)
		if !more || len(got.Work) >= c.Limit {
			return got, nil
		}
		if err := l.grant(ctx, step.free); err != nil {
			return got, err
		}
		// Do not look again for a slot that could not be given.
		look = len(step.pastSendBefore) > 0
	}
}

// claimSQL first looks whether there are free slots to give; if so it claims
// nothing, and is run again when they are given: the oldest work goes first.
//
// due locks the rows; what becomes of each follows from its own columns. They
// are looked up by a list and not joined, so that it is an index scan whatever
// the planner thinks of the size of due. The first row carries the order, which
// an UPDATE does not keep. Of a row that has never been leased send_before is
// NULL, which is not past.
var claimSQL = `
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
		changed = DEFAULT,
		state = CASE WHEN ` + pastSendBefore + ` THEN 'dead' ELSE 'running' END,
		reason = CASE WHEN ` + pastSendBefore + ` THEN 'key_expired' ELSE '' END,
		attempt = CASE WHEN ` + pastSendBefore + ` THEN r.attempt ELSE r.attempt + 1 END,
		due_at = CASE WHEN ` + pastSendBefore + ` THEN NULL ELSE now() + $8 * interval '1 microsecond' END,
		finished_at = CASE WHEN ` + pastSendBefore + ` THEN now() END,
		slot = CASE WHEN ` + pastSendBefore + ` THEN NULL ELSE r.slot END,
		leased_at = CASE WHEN ` + pastSendBefore + ` THEN NULL ELSE now() END,
		leased_by = CASE WHEN ` + pastSendBefore + ` THEN '' ELSE $1 END,
		lease_token = CASE WHEN ` + pastSendBefore + ` THEN '' ELSE $2 END,
		waits_for = NULL,
		started_at = coalesce(r.started_at, now()),
		send_before = coalesce(r.send_before, now() + r.horizon * interval '1 microsecond')
	WHERE r.run_id = ANY (ARRAY(SELECT run_id FROM due))
	RETURNING ` + workColumns + `, r.state
), problem AS (
	SELECT job_id, 'key_expired' AS reason, '' AS error, max(run_id) AS run_id, count(*) AS n
	FROM taken WHERE state = 'dead' GROUP BY job_id
), ` + openingSQL("'dead'") + `
SELECT taken.*, CASE WHEN row_number() OVER () = 1 THEN ARRAY(SELECT run_id FROM due) END FROM taken`

// pastSendBefore is true of a run at or past its SendBefore: the target may have
// forgotten its key.
const pastSendBefore = `r.send_before <= now()`

// outlookSQL selects what a claim returns besides its work.
const outlookSQL = `
WITH RECURSIVE ` + freeSlots + `
SELECT now(), ARRAY(SELECT job_id FROM free),
	(SELECT min(due_at) FROM runs r
	 WHERE r.due_at > now() AND NOT r.waiting AND ($1::text[] IS NULL OR r.run_id = ANY ($1::text[])))`

// claimed is what one statement claimed.
type claimed struct {
	now, nextAt    time.Time
	work           []ledger.Work
	pastSendBefore []string // run IDs
	free           []string // jobs with a free slot and a waiting run
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
	if err := got.read(results, c.Token); err != nil {
		return got, err
	}
	var next *time.Time
	if err := results.QueryRow().Scan(&got.now, &got.free, &next); err != nil {
		return got, err
	}
	got.nextAt = timeOf(next)
	return got, results.Close()
}

// read takes the rows of claimSQL, in the order of due.
func (c *claimed) read(results pgx.BatchResults, token string) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	var state ledger.State
	var order []string
	scan, rank := newWorkScanner(token, &state, &order), map[string]int{}
	for rows.Next() {
		w, err := scan.row(rows)
		if err != nil {
			return err
		}
		for i, id := range order {
			rank[id] = i
		}
		if state == ledger.Dead {
			c.pastSendBefore = append(c.pastSendBefore, w.RunID)
		} else {
			c.work = append(c.work, w)
		}
	}
	slices.SortFunc(c.work, func(a, b ledger.Work) int { return rank[a.RunID] - rank[b.RunID] })
	slices.SortFunc(c.pastSendBefore, func(a, b string) int { return rank[a] - rank[b] })
	return rows.Err()
}

// addPastSendBefore reads the runs that a claim made dead.
func (l *Ledger) addPastSendBefore(ctx context.Context, ids []string, got *ledger.Claimed) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := l.pool.Query(ctx, `
		SELECT `+runColumns+` FROM unnest($1::text[]) WITH ORDINALITY AS e (run_id, n) JOIN runs r ON r.run_id = e.run_id
		ORDER BY e.n`, ids)
	if err != nil {
		return err
	}
	runs, err := pgx.CollectRows(rows, scanRun)
	got.PastSendBefore = append(got.PastSendBefore, runs...)
	return err
}

// orEmpty keeps a nil list from becoming NULL, which equals nothing and
// differs from nothing.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
