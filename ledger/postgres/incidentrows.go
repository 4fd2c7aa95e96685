package postgres

import (
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// FindIncidents returns incidents, by ID. A transaction that writes locks them.
func (t *tx) FindIncidents(q ledger.IncidentQuery) ([]ledger.Incident, error) {
	s := query{sql: `SELECT` + incidentColumns + `FROM incidents WHERE `}
	switch {
	case q.ID != 0:
		s.args.int8(q.ID)
		s.sql += `id = $1`
	case q.Open:
		s.args.texts(q.Jobs)
		s.args.text(string(q.Cause))
		s.sql += `closed_at IS NULL AND (cardinality($1) = 0 OR job_id = ANY ($1)) AND ($2 = '' OR cause = $2)`
	default:
		s.args.texts(q.Jobs)
		s.args.text(string(q.Cause))
		s.sql += `id = ANY (ARRAY(SELECT max(id) FROM incidents WHERE job_id = ANY ($1) AND cause = $2 GROUP BY job_id))`
	}
	if s.sql += ` ORDER BY id`; t.p.begin == beginWrite {
		s.sql += ` FOR UPDATE`
	}
	return ask(t, s, readIncident)
}

func readIncident(v *values) (i ledger.Incident, err error) {
	i.ID, i.JobID, i.Cause, i.Reason = v.int(), v.text(), ledger.IncidentCause(v.text()), ledger.Reason(v.text())
	i.Error, i.RunID, i.Count, i.Reopened = v.text(), v.text(), int(v.int()), int(v.int())
	i.OpenedAt, i.LastAt, i.ClosedAt, i.ClosedBy, i.ClosedByOperator = v.time(), v.time(), v.time(), v.text(), v.bool()
	i.AckedAt, i.AckedBy, i.Why, i.Version, i.NotifierState, i.DueAt = v.time(), v.text(), v.text(), v.int(), v.bytes(), v.time()
	return i, nil
}

const (
	insertIncidentSQL = `
		INSERT INTO incidents (job_id, cause, reason, error, run_id, count, reopened, opened_at, last_at,
			closed_at, closed_by, settled, acked_at, acked_by, why, version, told, due_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
		ON CONFLICT DO NOTHING RETURNING 1`
	updateIncidentSQL = `
		UPDATE incidents SET job_id = $1, cause = $2, reason = $3, error = $4, run_id = $5, count = $6, reopened = $7, opened_at = $8, last_at = $9,
			closed_at = $10, closed_by = $11, settled = $12, acked_at = $13, acked_by = $14, why = $15, version = $16, told = $17, due_at = $18
		WHERE id = $19 RETURNING 1`
)

// PutIncidents writes incidents, and reports which it wrote. They are few.
func (t *tx) PutIncidents(list []ledger.Incident) ([]bool, error) {
	written := make([]bool, len(list))
	for k, i := range list {
		q := query{sql: insertIncidentSQL, row: func(*values) error {
			written[k] = true
			return nil
		}}
		a := &q.args
		for _, s := range []string{i.JobID, string(i.Cause), string(i.Reason), i.Error, i.RunID} {
			a.text(s)
		}
		a.int8(int64(i.Count))
		a.int8(int64(i.Reopened))
		a.time(i.OpenedAt)
		a.time(i.LastAt)
		a.time(i.ClosedAt)
		a.text(i.ClosedBy)
		a.bool(i.ClosedByOperator)
		a.time(i.AckedAt)
		a.text(i.AckedBy)
		a.text(i.Why)
		a.int8(i.Version)
		a.bytes(i.NotifierState)
		a.time(i.DueAt)
		if i.ID != 0 {
			q.sql = updateIncidentSQL
			a.int8(i.ID)
		}
		t.p.add(q)
	}
	if err := t.p.flush(); err != nil {
		return nil, fmt.Errorf("incidents: %w", err)
	}
	return written, nil
}
