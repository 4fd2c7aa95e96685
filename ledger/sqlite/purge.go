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

const (
	countPurgeable = `SELECT count(*)` + purgeable
	findPurgeable  = `
		SELECT id, run_id, job_id, scheduled_at, coalesce(until, scheduled_at)` + purgeable + `
		ORDER BY scheduled_at LIMIT ?4`
	// Its attempts go with it. A row's own key may be another's by now.
	purgeOne = `DELETE` + purgeable + ` AND id = ?4 AND run_id = ?5`
)

// PurgeRuns deletes a batch of finished runs past their retention, with their
// attempts. See ledger.Purge. It looks for them before it takes the write lock,
// as there may be very many that it keeps.
func (l *Ledger) PurgeRuns(ctx context.Context, p ledger.Purge) (out ledger.Purged, err error) {
	if p.DryRun {
		out, err = l.countPurgeable(ctx, p)
	} else {
		var found []doomed
		if found, err = l.findPurgeable(ctx, p); err == nil && len(found) > 0 {
			out, err = l.purge(ctx, p, found)
		}
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
	n, err := query(ctx, l, count, countPurgeable, bounds(p, l.now().UnixMicro())...)
	if err != nil {
		return out, err
	}
	out.Runs = n[0]
	return out, nil
}

func bounds(p ledger.Purge, now int64) []any {
	return []any{p.From.UnixMicro(), now - p.Retention.Microseconds(), now - p.DeadRetention.Microseconds()}
}

type doomed struct {
	key      int64
	runID    string
	jobID    string
	at, last int64 // its first and its newest instant
}

func scanDoomed(row scanner) (d doomed, err error) {
	err = row.Scan(&d.key, &d.runID, &d.jobID, &d.at, &d.last)
	return d, err
}

func (l *Ledger) findPurgeable(ctx context.Context, p ledger.Purge) ([]doomed, error) {
	return query(ctx, l, scanDoomed, findPurgeable, append(bounds(p, l.now().UnixMicro()), batchOf(p))...)
}

func batchOf(p ledger.Purge) int {
	if p.Batch <= 0 {
		return 1000
	}
	return p.Batch
}

// purge deletes what was found.
func (l *Ledger) purge(ctx context.Context, p ledger.Purge, found []doomed) (out ledger.Purged, err error) {
	err = l.write(ctx, func(t *tx) error {
		out.Runs, err = t.purge(p, found)
		return err
	})
	out.More, out.Reached = len(found) == batchOf(p), at(found[len(found)-1].at)
	return out, err
}

// purge deletes what was found and still is past its retention.
func (t *tx) purge(p ledger.Purge, found []doomed) (gone int, err error) {
	newest := map[string]int64{}
	for _, d := range found {
		n, err := t.exec(purgeOne, append(bounds(p, t.now), d.key, d.runID)...)
		if err != nil {
			return gone, err
		}
		if n == 0 {
			continue // revived meanwhile, or gone
		}
		gone++
		if last, ok := newest[d.jobID]; !ledger.BesideSchedule(d.runID) && (!ok || d.last > last) {
			newest[d.jobID] = d.last
		}
	}
	for job, last := range newest {
		_, err := t.exec(`UPDATE jobs SET purged_before = max(?2, coalesce(purged_before, ?2)) WHERE job_id = ?1`, job, last)
		if err != nil {
			return gone, err
		}
	}
	return gone, nil
}
