package sqltx

import (
	"fmt"

	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/internal/sqlfilter"
)

// The column settled has ClosedByOperator, and told has NotifierState. They keep their names:
// in a rolling deploy, processes of the former release read and write them.
const incidentColumns = `id, job_id, cause, reason, error, run_id, count, reopened, opened_at, last_at, closed_at, closed_by, settled,
	acked_at, acked_by, why, version, told, due_at`

func readIncident(v Values) (i ledger.Incident, err error) {
	i.ID, i.JobID, i.Cause, i.Reason = v.Int(), v.Text(), ledger.IncidentCause(v.Text()), ledger.Reason(v.Text())
	i.Error, i.RunID, i.Count, i.Reopened = v.Text(), v.Text(), int(v.Int()), int(v.Int())
	i.OpenedAt, i.LastAt, i.ClosedAt, i.ClosedBy, i.ClosedByOperator = v.Time(), v.Time(), v.Time(), v.Text(), v.Bool()
	i.AckedAt, i.AckedBy, i.Why, i.Version, i.NotifierState, i.DueAt = v.Time(), v.Text(), v.Text(), v.Int(), v.Bytes(), v.Time()
	return i, nil
}

// incidents asks for incidents, by ID.
func (t Tx) incidents(where, lock string, args ...any) ledger.Future[[]ledger.Incident] {
	return List(t, readIncident, `SELECT `+incidentColumns+` FROM incidents WHERE `+where+` ORDER BY id`+lock, args...)
}

func (t Tx) OpenIncidents(cause ledger.IncidentCause, jobIDs []string) ledger.Future[[]ledger.Incident] {
	s := sqlfilter.Select{Dialect: t.Dialect}
	s.Add(`closed_at IS NULL`)
	if len(jobIDs) > 0 {
		s.Add(`job_id `+t.Dialect.Among, jobIDs)
	}
	if cause != "" {
		s.Add(`cause = ?`, string(cause))
	}
	return t.incidents(s.Where(), ``, s.Args...)
}

func (t Tx) LockIncidents(ids []int64) ledger.Future[[]ledger.Incident] {
	return t.incidents(`id `+t.Dialect.In("$1"), t.Lock, ids)
}

func (t Tx) LockLastIncidents(cause ledger.IncidentCause, jobIDs []string) ledger.Future[[]ledger.Incident] {
	last := `SELECT max(id) FROM incidents WHERE job_id ` + t.Dialect.In("$1") + ` AND cause = $2 GROUP BY job_id`
	return t.incidents(`id `+t.Dialect.InQuery(last), t.Lock, jobIDs, string(cause))
}

func (t Tx) LockPendingIncidents() ledger.Future[[]ledger.Incident] {
	return t.incidents(`due_at IS NOT NULL`, t.Lock)
}

func (t Tx) Incidents(f ledger.IncidentFilter) ledger.Future[[]ledger.Incident] {
	now, args := t.now("?")
	s, order := t.Dialect.Incidents(f, `due_at <= `+now, args...)
	text := s.Text(incidentColumns, `incidents`, order, f.Limit) // adds an argument
	return list(t, readIncident, Query{Text: text, Args: s.Args, Varies: true})
}

const (
	// insertIncident adds to an open incident what ledger.Incident.Add adds.
	insertIncident = `
		INSERT INTO incidents AS i (job_id, cause, reason, error, run_id, count, reopened, opened_at, last_at,
			closed_at, closed_by, settled, acked_at, acked_by, why, version, told, due_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
		ON CONFLICT (job_id, cause) WHERE closed_at IS NULL DO UPDATE SET
			reason = excluded.reason, error = excluded.error, run_id = excluded.run_id, last_at = excluded.last_at,
			due_at = excluded.due_at, count = i.count + excluded.count, version = i.version + 1`
	updateIncident = `
		UPDATE incidents SET job_id = $1, cause = $2, reason = $3, error = $4, run_id = $5, count = $6, reopened = $7, opened_at = $8, last_at = $9,
			closed_at = $10, closed_by = $11, settled = $12, acked_at = $13, acked_by = $14, why = $15, version = $16, told = $17, due_at = $18
		WHERE id = $19`
)

// PutIncidents writes incidents, and opens or adds to those without an ID. They are few.
func (t Tx) PutIncidents(list []ledger.Incident) error {
	for _, i := range list {
		text := insertIncident
		args := []any{i.JobID, string(i.Cause), string(i.Reason), i.Error, i.RunID, i.Count, i.Reopened, i.OpenedAt, i.LastAt,
			i.ClosedAt, i.ClosedBy, i.ClosedByOperator, i.AckedAt, i.AckedBy, i.Why, i.Version, i.NotifierState, i.DueAt}
		if i.ID != 0 {
			text, args = updateIncident, append(args, i.ID)
		}
		if err := t.Engine.Exec(text, args...); err != nil {
			return fmt.Errorf("incident of job %s: %w", i.JobID, err)
		}
	}
	return nil
}
