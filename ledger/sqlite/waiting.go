package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

const (
	waitingRuns = `
		SELECT ` + listColumns + ` FROM runs
		WHERE run_id IN (SELECT value FROM json_each(?)) AND state IN ('planned', 'retrying')`
	slotHolders = `
		SELECT slot, run_id FROM runs WHERE slot IN (SELECT value FROM json_each(?))`
	heldTargets = `
		SELECT target, waits_for FROM runs
		WHERE waits_for IS NOT NULL AND due_at IS NOT NULL AND waits_for NOT LIKE 'not_sent%' AND target IN (SELECT value FROM json_each(?))
		GROUP BY target`
	runningOfJobs = `
		SELECT job_id, count(*) FROM runs
		WHERE due_at IS NOT NULL AND waiting = 0 AND state = 'running' AND job_id IN (SELECT value FROM json_each(?))
		GROUP BY job_id`
)

// Waiting returns why runs are not being sent. It counts a job's runs only if the job has a
// limit. See ledger.Store.
func (l *Ledger) Waiting(ctx context.Context, ids []string) (map[string]ledger.WaitReason, error) {
	why := map[string]ledger.WaitReason{}
	err := l.snapshot(ctx, func(r *sql.Tx) error {
		now := l.now().UnixMicro()
		runs, err := queryTx(ctx, r, scanRun, waitingRuns, array(ids))
		if err != nil || len(runs) == 0 {
			return err
		}
		var jobs, limited, targets []string
		for _, s := range runs {
			targets = append(targets, s.Call.Target)
			if jobs = append(jobs, s.JobID); s.Call.MaxInFlight > 0 {
				limited = append(limited, s.JobID)
			}
		}
		holders, err := queryTx(ctx, r, scanPair, slotHolders, array(jobs))
		if err != nil {
			return err
		}
		holder := map[string]string{}
		for _, p := range holders {
			holder[p[0]] = p[1]
		}
		given, err := queryTx(ctx, r, scanPair, heldTargets, array(targets))
		if err != nil {
			return err
		}
		held := map[string]ledger.WaitReason{}
		for _, p := range given {
			held[p[0]] = ledger.ParseWaitReason(p[1])
		}
		running := map[string]int{}
		if len(limited) > 0 {
			counts, err := queryTx(ctx, r, scanCount, runningOfJobs, array(limited))
			if err != nil {
				return err
			}
			for _, c := range counts {
				running[c.jobID] = c.n
			}
		}
		var living int
		err = r.QueryRowContext(ctx, `SELECT count(*) FROM processes WHERE beat_at > ?`, now-ledger.ProcessTTL.Microseconds()).Scan(&living)
		for _, s := range runs {
			why[s.ID] = ledgerrules.PendingRun{
				Run: s.Run, ForSlot: s.waiting, Holder: holder[s.JobID], Due: s.NextAt.UnixMicro() <= now,
				Running: running[s.JobID], Processes: living, Held: held[s.Call.Target],
			}.WaitReason()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look why runs wait: %w", err)
	}
	return why, nil
}

func scanPair(row scanner) (p [2]string, err error) {
	err = row.Scan(&p[0], &p[1])
	return p, err
}
