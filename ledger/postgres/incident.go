package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/ledger"
)

const incidentColumns = ` id, job_id, cause, reason, error, run_id, count, reopened, opened_at, last_at, closed_at, closed_by, settled,
	acked_at, acked_by, why, version, told, due_at `

func scanIncident(row pgx.CollectableRow) (i ledger.Incident, err error) {
	closed, acked, due := orNull(i.ClosedAt), orNull(i.AckedAt), orNull(i.DueAt)
	err = row.Scan(&i.ID, &i.JobID, &i.Cause, &i.Reason, &i.Error, &i.RunID, &i.Count, &i.Reopened, &i.OpenedAt, &i.LastAt, &closed, &i.ClosedBy, &i.ClosedByOperator,
		&acked, &i.AckedBy, &i.Why, &i.Version, &i.NotifierState, &due)
	i.ClosedAt, i.AckedAt, i.DueAt = timeOf(closed), timeOf(acked), timeOf(due)
	return i, err
}

// Incidents returns a page of incidents; see ledger.IncidentFilter.
func (l *Ledger) Incidents(ctx context.Context, f ledger.IncidentFilter) ([]ledger.Incident, error) {
	where, order := []string{"true"}, "id DESC"
	var args []any
	add := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(condition+" $%d", len(args)))
	}
	if f.ID != 0 {
		add("id =", f.ID)
	}
	if f.JobID != "" {
		add("job_id =", sanitize(f.JobID))
	}
	if f.Before != 0 {
		add("id <", f.Before)
	}
	if f.Open {
		where = append(where, "closed_at IS NULL")
	}
	if f.Due {
		order, where = "due_at, id", append(where, "due_at <= now()")
	}
	args = append(args, f.PageSize())
	rows, err := l.pool.Query(ctx, fmt.Sprintf(`SELECT`+incidentColumns+`FROM incidents WHERE %s ORDER BY %s LIMIT $%d`,
		strings.Join(where, " AND "), order, len(args)), args...)
	if err != nil {
		return nil, translate("list incidents", err)
	}
	page, err := pgx.CollectRows(rows, scanIncident)
	return page, translate("list incidents", err)
}
