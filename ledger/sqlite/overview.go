package sqlite

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

const cellColumns = `run_id, scheduled_at, until, count, state, reason, replayed, started_at, finished_at`

var processList = `
	SELECT process, version, beat_at, ` + isAlive + `,
		(SELECT count(*) FROM version_jobs v WHERE v.version = p.version), coalesce(r.n, 0), host, program
	FROM processes p LEFT JOIN (
		SELECT leased_by, count(*) AS n FROM runs
		WHERE due_at IS NOT NULL AND waiting = 0 AND state = 'running' GROUP BY leased_by
	) r ON r.leased_by = p.process ORDER BY process`

func scanCell(row scanner) (c ledger.RunSummary, err error) {
	var scheduled int64
	var until, started, finished nullTime
	err = row.Scan(&c.RunID, &scheduled, &until, &c.Count, &c.State, &c.Reason, &c.Replayed, &started, &finished)
	c.ScheduledAt, c.Until, c.StartedAt, c.FinishedAt = at(scheduled), until.time(), started.time(), finished.time()
	return c, err
}

// Processes lists the processes by ID.
func (l *Ledger) Processes(ctx context.Context) ([]ledger.Process, error) {
	list, err := query(ctx, l, func(row scanner) (p ledger.Process, err error) {
		var beat int64
		err = row.Scan(&p.ID, &p.Version, &beat, &p.Alive, &p.Definitions, &p.Running, &p.Host, &p.Program)
		p.HeartbeatAt = at(beat)
		return p, err
	}, processList, l.now().UnixMicro())
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	return list, nil
}
