package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// Waiting returns why runs are not being sent. It counts a job's runs only if the job has a
// limit.
func (l *Ledger) Waiting(ctx context.Context, ids []string) (map[string]ledger.WaitReason, error) {
	why := map[string]ledger.WaitReason{}
	if len(ids) == 0 {
		return why, nil
	}
	waiters, err := l.waiters(ctx, sanitizeAll(ids))
	if err != nil {
		return nil, translate("look why runs wait", err)
	}
	var limited []string
	for _, w := range waiters {
		if w.Due && w.Run.Call.MaxInFlight > 0 {
			limited = append(limited, w.Run.JobID)
		}
	}
	running, err := l.running(ctx, limited)
	if err != nil {
		return nil, translate("look why runs wait", err)
	}
	for _, w := range waiters {
		w.Running = running[w.Run.JobID]
		why[w.Run.ID] = w.WaitReason()
	}
	return why, nil
}

func (l *Ledger) waiters(ctx context.Context, ids []string) ([]ledger.PendingRun, error) {
	rows, err := l.pool.Query(ctx, `
		SELECT r.waiting, coalesce((SELECT h.run_id FROM runs h WHERE h.slot = r.job_id), ''), r.due_at <= now(),
			(SELECT count(*) FROM processes WHERE heartbeat_at BETWEEN now() - $1 * interval '1 microsecond' AND now() + $1 * interval '1 microsecond'),
			held.run_id, held.due_at, held.waits_for, `+listColumns+`
		FROM runs r LEFT JOIN LATERAL (
			SELECT h.run_id, h.due_at, h.waits_for FROM runs h
			WHERE h.target = r.target AND h.due_at > now() AND substr(h.waits_for, 1, 8) <> 'not_sent' -- index runs_held
			ORDER BY h.due_at DESC, h.run_id DESC LIMIT 1
		) held ON r.due_at <= now()
		WHERE r.run_id = ANY ($2::text[]) AND r.state IN ('planned', 'retrying')`,
		microseconds(ledger.ProcessTTL), ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w ledger.PendingRun, err error) {
		var heldBy, why *string // NULL: nothing holds the target back
		var until *time.Time
		w.Run, err = scanRun(prefixed{row, []any{&w.ForSlot, &w.Holder, &w.Due, &w.Processes, &heldBy, &until, &why}})
		if heldBy != nil {
			w.Held = ledger.GivenBack{RunID: *heldBy, Until: *until, Why: ledger.ParseWaitReason(*why)}
		}
		return w, err
	})
}

// running counts the jobs' running runs.
func (l *Ledger) running(ctx context.Context, jobIDs []string) (map[string]int, error) {
	counts := map[string]int{}
	if len(jobIDs) == 0 {
		return counts, nil
	}
	rows, err := l.pool.Query(ctx, `
		SELECT job_id, count(*) FROM runs
		WHERE due_at IS NOT NULL AND NOT waiting AND state = 'running' AND job_id = ANY ($1::text[]) GROUP BY job_id`, jobIDs)
	if err != nil {
		return nil, err
	}
	var id string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&id, &n}, func() error {
		counts[id] = n
		return nil
	})
	return counts, err
}
