package postgres

import "github.com/cronce/cronce/ledger"

// The column settled has ClosedByOperator, and told has NotifierState. They keep their names:
// in a rolling deploy, processes of the former release read and write them.
const incidentColumns = ` id, job_id, cause, reason, error, run_id, count, reopened, opened_at, last_at, closed_at, closed_by, settled,
	acked_at, acked_by, why, version, told, due_at `

// incidents asks for incidents, by ID.
func (t *tx) incidents(where, lock string, args params) ledger.Later[[]ledger.Incident] {
	return ask(t, query{sql: `SELECT` + incidentColumns + `FROM incidents WHERE ` + where + ` ORDER BY id` + lock, args: args}, readIncident)
}

func (t *tx) OpenIncidents(cause ledger.IncidentCause, jobIDs []string) ledger.Later[[]ledger.Incident] {
	var args params
	args.texts(jobIDs)
	args.text(string(cause))
	return t.incidents(`closed_at IS NULL AND (cardinality($1) = 0 OR job_id = ANY ($1)) AND ($2 = '' OR cause = $2)`, ``, args)
}

func (t *tx) LockIncidents(ids []int64) ledger.Later[[]ledger.Incident] {
	var args params
	array(&args, int8Kind, ids, func(b []byte, id *int64) []byte { return appendInt8(b, *id) })
	return t.incidents(`id = ANY ($1)`, t.forUpdate(), args)
}

func (t *tx) LastIncidents(cause ledger.IncidentCause, jobIDs []string) ledger.Later[[]ledger.Incident] {
	var args params
	args.texts(jobIDs)
	args.text(string(cause))
	return t.incidents(`id = ANY (ARRAY(SELECT max(id) FROM incidents WHERE job_id = ANY ($1) AND cause = $2 GROUP BY job_id))`,
		t.forUpdate(), args)
}

func (t *tx) PendingIncidents() ledger.Later[[]ledger.Incident] {
	return t.incidents(`due_at IS NOT NULL`, t.forUpdate(), params{})
}

func readIncident(v *values) (i ledger.Incident, err error) {
	i.ID, i.JobID, i.Cause, i.Reason = v.int(), v.text(), ledger.IncidentCause(v.text()), ledger.Reason(v.text())
	i.Error, i.RunID, i.Count, i.Reopened = v.text(), v.text(), int(v.int()), int(v.int())
	i.OpenedAt, i.LastAt, i.ClosedAt, i.ClosedBy, i.ClosedByOperator = v.time(), v.time(), v.time(), v.text(), v.bool()
	i.AckedAt, i.AckedBy, i.Why, i.Version, i.NotifierState, i.DueAt = v.time(), v.text(), v.text(), v.int(), v.bytes(), v.time()
	return i, nil
}

const (
	// insertIncidentSQL adds to an open incident what ledger.Incident.Add adds.
	insertIncidentSQL = `
		INSERT INTO incidents AS i (job_id, cause, reason, error, run_id, count, reopened, opened_at, last_at,
			closed_at, closed_by, settled, acked_at, acked_by, why, version, told, due_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
		ON CONFLICT (job_id, cause) WHERE closed_at IS NULL DO UPDATE SET
			reason = excluded.reason, error = excluded.error, run_id = excluded.run_id, last_at = excluded.last_at,
			due_at = excluded.due_at, count = i.count + excluded.count, version = i.version + 1`
	updateIncidentSQL = `
		UPDATE incidents SET job_id = $1, cause = $2, reason = $3, error = $4, run_id = $5, count = $6, reopened = $7, opened_at = $8, last_at = $9,
			closed_at = $10, closed_by = $11, settled = $12, acked_at = $13, acked_by = $14, why = $15, version = $16, told = $17, due_at = $18
		WHERE id = $19`
)

// PutIncidents writes incidents, and opens or adds to those without an ID. They are few.
func (t *tx) PutIncidents(list []ledger.Incident) error {
	for _, i := range list {
		q := query{sql: insertIncidentSQL}
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
	return nil
}
