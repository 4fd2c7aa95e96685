package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/cronce/cronce/ledger"
)

const incidentColumns = `id, job_id, cause, reason, error, run_id, count, reopened, opened_at, last_at, closed_at, closed_by, settled,
	acked_at, acked_by, why, version, told, due_at`

func scanIncident(row scanner) (i ledger.Incident, err error) {
	var opened, last int64
	var closed, acked, due nullTime
	err = row.Scan(&i.ID, &i.JobID, &i.Cause, &i.Reason, &i.Error, &i.RunID, &i.Count, &i.Reopened, &opened, &last, &closed, &i.ClosedBy, &i.ClosedByOperator,
		&acked, &i.AckedBy, &i.Why, &i.Version, &i.NotifierState, &due)
	i.OpenedAt, i.LastAt, i.ClosedAt, i.AckedAt, i.DueAt = at(opened), at(last), closed.time(), acked.time(), due.time()
	return i, err
}

// Incidents returns a page of incidents. See ledger.IncidentFilter.
func (l *Ledger) Incidents(ctx context.Context, f ledger.IncidentFilter) ([]ledger.Incident, error) {
	where, order, args := []string{`true`}, `id DESC`, []any(nil)
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if f.ID != 0 {
		add(`id = ?`, f.ID)
	}
	if f.JobID != "" {
		add(`job_id = ?`, f.JobID)
	}
	if f.Open {
		add(`closed_at IS NULL`)
	}
	if f.Before != 0 {
		add(`id < ?`, f.Before)
	}
	if f.Due {
		order = `due_at, id`
		add(`due_at <= ?`, l.now().UnixMicro())
	}
	page, err := query(ctx, l, scanIncident, `SELECT `+incidentColumns+` FROM incidents WHERE `+strings.Join(where, ` AND `)+
		` ORDER BY `+order+` LIMIT ?`, append(args, f.PageSize())...)
	if err != nil {
		return nil, fmt.Errorf("list incidents: %w", err)
	}
	return page, nil
}
