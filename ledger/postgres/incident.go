package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// openingSQL are the parts of a statement that open an incident of a cause for each
// row of problem (job_id, reason, error, run_id, n), or add to it. The job's last
// incident is locked first: so that of two transactions the later one sees what the
// earlier one did to it.
func openingSQL(cause string) string {
	return `again AS (
	UPDATE incidents i SET
		reopened = i.reopened + CASE WHEN i.closed_at IS NULL THEN 0 ELSE 1 END, closed_at = NULL, closed_by = '',
		reason = p.reason, error = p.error, run_id = p.run_id, count = i.count + p.n,
		last_at = now(), due_at = now(), version = i.version + 1
	FROM problem p
	WHERE i.id = (SELECT max(l.id) FROM incidents l WHERE l.job_id = p.job_id AND l.cause = ` + cause + `)
		AND (i.closed_at IS NULL OR NOT i.settled AND i.closed_at > now() - interval '1 hour')
	RETURNING i.job_id
), opened AS (
	INSERT INTO incidents AS i (job_id, cause, reason, error, run_id, count, opened_at, last_at, due_at)
	SELECT p.job_id, ` + cause + `, p.reason, p.error, p.run_id, p.n, now(), now(), now()
	FROM problem p WHERE p.job_id NOT IN (SELECT a.job_id FROM again a)
	ORDER BY p.job_id
	ON CONFLICT (job_id, cause) WHERE closed_at IS NULL DO UPDATE SET
		reason = excluded.reason, error = excluded.error, run_id = excluded.run_id, count = i.count + excluded.count,
		last_at = excluded.last_at, due_at = excluded.due_at, version = i.version + 1
)`
}

// openSQL opens incidents of a cause ($1).
var openSQL = `
WITH problem AS (
	SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[]) AS p (job_id, reason, error, run_id, n)
), ` + openingSQL("$1") + `
SELECT`

// openIncidents opens an incident for each job with problems, or adds to it.
func openIncidents(ctx context.Context, q querier, cause ledger.IncidentCause, problems []ledgerrules.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	var jobs, reasons, errs, runs []string
	var counts []int64
	for _, p := range ledgerrules.MergeByJob(problems) {
		jobs, reasons, errs = append(jobs, p.JobID), append(reasons, string(p.Reason)), append(errs, sanitize(p.Error))
		runs, counts = append(runs, p.RunID), append(counts, int64(p.Count))
	}
	_, err := q.Exec(ctx, openSQL, string(cause), jobs, reasons, errs, runs, counts)
	return err
}

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

// AckIncident acknowledges or closes an incident. See ledger.IncidentAction.
func (l *Ledger) AckIncident(ctx context.Context, a ledger.IncidentAction) (i ledger.Incident, err error) {
	if err := a.Actor.Validate(); err != nil {
		return i, translate("acknowledge an incident", err)
	}
	set := `acked_at = now(), acked_by = $2`
	if a.Close {
		set = `closed_at = now(), closed_by = $2, settled = true`
	}
	err = l.transact(ctx, fmt.Sprintf("acknowledge incident %d", a.ID), func(tx pgx.Tx) error {
		if i, err = oneIncident(ctx, tx, `SELECT`+incidentColumns+`FROM incidents WHERE id = $1 FOR UPDATE`, a.ID); err != nil || !ledgerrules.ChangesIncident(a, i) {
			return err
		}
		if err := addAudit(ctx, tx, ledgerrules.IncidentAudit(a, i), ""); err != nil {
			return err
		}
		i, err = oneIncident(ctx, tx, `
			UPDATE incidents SET `+set+`, why = $3, due_at = now(), version = version + 1 WHERE id = $1
			RETURNING`+incidentColumns, a.ID, a.By, a.Why)
		return err
	})
	return i, err
}

// oneIncident returns pgx.ErrNoRows, which is ledger.ErrNotFound, where there is none.
func oneIncident(ctx context.Context, q querier, query string, args ...any) (ledger.Incident, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return ledger.Incident{}, err
	}
	return pgx.CollectOneRow(rows, scanIncident)
}
