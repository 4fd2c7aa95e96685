package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

const (
	waitingRuns = `
		SELECT ` + listColumns + ` FROM runs
		WHERE run_id IN (SELECT value FROM json_each(?)) AND state IN ('planned', 'retrying')`
	slotHolders = `
		SELECT slot, run_id FROM runs WHERE slot IN (SELECT value FROM json_each(?))`
	heldTargets = `
		SELECT h.target, h.run_id, h.due_at, h.waits_for
		FROM (SELECT DISTINCT value AS target FROM json_each(?1)) t CROSS JOIN runs h ON h.id = (
			SELECT id FROM runs INDEXED BY runs_held
			WHERE target = t.target AND due_at > ?2 AND substr(waits_for, 1, 8) <> 'not_sent'
			ORDER BY due_at DESC, run_id DESC LIMIT 1)`
	runningOfJobs = `
		SELECT job_id, count(*) FROM runs
		WHERE due_at IS NOT NULL AND waiting = 0 AND state = 'running' AND job_id IN (SELECT value FROM json_each(?))
		GROUP BY job_id`
)

// Waiting returns why runs are not being sent. It counts a job's runs only if the job has a
// limit.
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
		given, err := queryTx(ctx, r, scanGivenBack, heldTargets, array(targets), now)
		if err != nil {
			return err
		}
		held := map[string]ledger.GivenBack{}
		for _, g := range given {
			held[g.target] = g.GivenBack
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
		err = r.QueryRowContext(ctx, `SELECT count(*) FROM processes WHERE beat_at BETWEEN ?1 - ?2 AND ?1 + ?2`, now, ledger.ProcessTTL.Microseconds()).Scan(&living)
		for _, s := range runs {
			why[s.ID] = ledger.PendingRun{
				Run: s.View(), ForSlot: s.Waiting, Holder: holder[s.JobID], Due: s.DueAt().UnixMicro() <= now,
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

// givenBack is why the runs of a target wait.
type givenBack struct {
	target string
	ledger.GivenBack
}

func scanGivenBack(row scanner) (g givenBack, err error) {
	var until int64
	var why string
	err = row.Scan(&g.target, &g.RunID, &until, &why)
	g.Until, g.Why = at(until), ledger.ParseWaitReason(why)
	return g, err
}

func scanPair(row scanner) (p [2]string, err error) {
	err = row.Scan(&p[0], &p[1])
	return p, err
}
