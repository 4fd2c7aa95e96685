package sqlite

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// purgeable are the runs past retention. ?1 is where to begin, ?2 and ?3 the
// times up to which a run, and a dead one that nobody has acknowledged, must
// have been due and have finished. What is read and kept in the order of
// scheduled_at is what finished long after its time, or is dead and kept longer.
const purgeable = `
	FROM runs
	WHERE scheduled_at >= ?1 AND scheduled_at <= ?2 AND finished_at <= ?2
	  AND NOT (state = 'dead' AND acked_at IS NULL AND finished_at > ?3)
	  AND NOT (instr(run_id, '~') = 0 AND EXISTS (
		SELECT 1 FROM jobs
		WHERE jobs.job_id = runs.job_id AND ended_at IS NULL AND coalesce(runs.until, runs.scheduled_at) > watermark))`

// PurgeRuns deletes a batch of finished runs past their retention, with their
// attempts. See ledger.Purge.
func (l *Ledger) PurgeRuns(ctx context.Context, p ledger.Purge) (out ledger.Purged, err error) {
	if p.Batch <= 0 {
		p.Batch = 1000
	}
	if p.DryRun {
		out, err = l.countPurgeable(ctx, p)
	} else {
		err = l.write(ctx, func(t *tx) error {
			out, err = t.purge(p)
			return err
		})
	}
	if err != nil {
		return ledger.Purged{}, fmt.Errorf("purge runs: %w", err)
	}
	return out, nil
}

func (l *Ledger) countPurgeable(ctx context.Context, p ledger.Purge) (out ledger.Purged, err error) {
	count := func(row scanner) (n int, err error) {
		err = row.Scan(&n)
		return n, err
	}
	n, err := query(ctx, l, count, `SELECT count(*)`+purgeable, bounds(p, l.now().UnixMicro())...)
	if err != nil {
		return out, err
	}
	out.Runs = n[0]
	return out, nil
}

func bounds(p ledger.Purge, now int64) []any {
	var from int64
	if !p.From.IsZero() {
		from = p.From.UnixMicro()
	}
	return []any{from, now - p.Retention.Microseconds(), now - p.DeadRetention.Microseconds()}
}

type doomed struct {
	key      int64
	runID    string
	jobID    string
	at, last int64 // its first and its newest instant
}

func (t *tx) purge(p ledger.Purge) (out ledger.Purged, err error) {
	scan := func(row scanner) (d doomed, err error) {
		err = row.Scan(&d.key, &d.runID, &d.jobID, &d.at, &d.last)
		return d, err
	}
	list, err := all(t, scan, `
		SELECT id, run_id, job_id, scheduled_at, coalesce(until, scheduled_at)`+purgeable+`
		ORDER BY scheduled_at LIMIT ?4`, append(bounds(p, t.now), p.Batch)...)
	if err != nil {
		return out, err
	}
	newest := map[string]int64{}
	for _, d := range list {
		if _, err := t.exec(`DELETE FROM runs WHERE id = ?`, d.key); err != nil { // its attempts go with it
			return out, err
		}
		if last, ok := newest[d.jobID]; !ledger.BesideSchedule(d.runID) && (!ok || d.last > last) {
			newest[d.jobID] = d.last
		}
	}
	for job, last := range newest {
		_, err := t.exec(`UPDATE jobs SET purged_before = max(?2, coalesce(purged_before, ?2)) WHERE job_id = ?1`, job, last)
		if err != nil {
			return out, err
		}
	}
	out.Runs, out.More = len(list), len(list) == p.Batch
	if len(list) > 0 {
		out.Reached = at(list[len(list)-1].at)
	}
	return out, nil
}
