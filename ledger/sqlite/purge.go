package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// purgeable are the runs past retention. ?1 and ?2 are the times up to which a
// run, and a dead one that nobody has acknowledged, must have been due and have
// finished. What is read and kept in the order of scheduled_at is what finished
// long after its time, or is dead and kept longer.
const purgeable = `
	FROM runs
	WHERE scheduled_at <= max(?1, ?2) AND finished_at <= iif(state = 'dead' AND acked_at IS NULL, ?2, ?1)
	  AND NOT (instr(run_id, '~') = 0 AND EXISTS (
		SELECT 1 FROM jobs
		WHERE jobs.job_id = runs.job_id AND ended_at IS NULL AND runs.scheduled_at > watermark))`

const (
	countPurgeable = `SELECT count(*)` + purgeable + ` AND scheduled_at > ?3`
	findPurgeable  = `SELECT id, run_id, scheduled_at` + purgeable + ` AND scheduled_at > ?3 ORDER BY scheduled_at, id LIMIT ?4`
	// tiedPurgeable are the other runs of the last one's time.
	tiedPurgeable = `SELECT id, run_id, scheduled_at` + purgeable + ` AND scheduled_at = ?3 AND id > ?4 ORDER BY id`
	// Its attempts go with it.
	purgeOne = `DELETE` + purgeable + ` AND run_id = ?3 RETURNING job_id, coalesce(until, scheduled_at)`
)

// PurgeRuns deletes a batch of finished runs past their retention, with their
// attempts. See ledger.Purge. It looks for them before it takes the write lock,
// as there may be very many that it keeps.
func (l *Ledger) PurgeRuns(ctx context.Context, p ledger.Purge) (out ledger.Purged, err error) {
	if p.DryRun {
		out, err = l.countPurgeable(ctx, p)
	} else {
		out, err = l.purgeBatch(ctx, p)
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
	n, err := query(ctx, l, count, countPurgeable, append(bounds(p, l.now().UnixMicro()), p.From.After.UnixMicro())...)
	if err != nil {
		return out, err
	}
	out.Runs = n[0]
	return out, nil
}

func bounds(p ledger.Purge, now int64) []any {
	return []any{now - p.Retention.Microseconds(), now - p.DeadRetention.Microseconds()}
}

// purgeBatch deletes what an earlier batch found and had no room for, else what
// it finds.
func (l *Ledger) purgeBatch(ctx context.Context, p ledger.Purge) (out ledger.Purged, err error) {
	out.Next, out.More = p.From, true
	if len(p.From.Found) == 0 {
		out.Next, err = l.findPurgeable(ctx, p)
		out.More = len(out.Next.Found) >= p.BatchSize()
	}
	if err != nil || len(out.Next.Found) == 0 {
		return out, err
	}
	n := min(p.BatchSize(), len(out.Next.Found))
	err = l.write(ctx, func(t *tx) error {
		out.Runs, err = t.purge(p, out.Next.Found[:n])
		return err
	})
	out.Next.Found = out.Next.Found[n:]
	return out, err
}

type purgeCandidate struct {
	key   int64
	runID string
	at    int64
}

func scanPurgeCandidate(row scanner) (d purgeCandidate, err error) {
	err = row.Scan(&d.key, &d.runID, &d.at)
	return d, err
}

// findPurgeable finds a batch, and all others of the last one's scheduled time,
// so that no run is looked at again.
func (l *Ledger) findPurgeable(ctx context.Context, p ledger.Purge) (next ledger.PurgeCursor, err error) {
	next = p.From
	err = l.snapshot(ctx, func(r *sql.Tx) error {
		limits := bounds(p, l.now().UnixMicro())
		found, err := queryTx(ctx, r, scanPurgeCandidate, findPurgeable, append(limits, p.From.After.UnixMicro(), p.BatchSize())...)
		if err != nil || len(found) == 0 {
			return err
		}
		last := found[len(found)-1]
		if len(found) == p.BatchSize() {
			tied, err := queryTx(ctx, r, scanPurgeCandidate, tiedPurgeable, append(limits, last.at, last.key)...)
			if err != nil {
				return err
			}
			found = append(found, tied...)
		}
		next = ledger.PurgeCursor{After: at(last.at)}
		for _, d := range found {
			next.Found = append(next.Found, d.runID)
		}
		return nil
	})
	return next, err
}

// purge deletes what was found and still is past its retention.
func (t *tx) purge(p ledger.Purge, found []string) (gone int, err error) {
	if _, err := t.exec(keepPosition, t.change); err != nil {
		return 0, err
	}
	newest := map[string]int64{}
	for _, id := range found {
		var job string
		var last int64
		found, err := t.one(purgeOne, append(bounds(p, t.now), id), &job, &last)
		if err != nil {
			return gone, err
		}
		if !found {
			continue // revived meanwhile, or gone
		}
		gone++
		if before, ok := newest[job]; !ledger.IsAdHoc(id) && (!ok || last > before) {
			newest[job] = last
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
