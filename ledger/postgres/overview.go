package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

// Processes lists the processes by ID.
func (l *Ledger) Processes(ctx context.Context) ([]ledger.Process, error) {
	rows, err := l.pool.Query(ctx, `
		SELECT process, version, heartbeat_at, `+isAlive+`,
			(SELECT count(*) FROM version_jobs v WHERE v.version = p.version), coalesce(r.n, 0), host, program
		FROM processes p LEFT JOIN (
			SELECT leased_by, count(*) AS n FROM runs
			WHERE due_at IS NOT NULL AND NOT waiting AND state = 'running' GROUP BY leased_by
		) r ON r.leased_by = p.process ORDER BY process`, microseconds(ledger.ProcessTTL))
	if err != nil {
		return nil, translate("list processes", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ledger.Process])
	return list, translate("list processes", err)
}
