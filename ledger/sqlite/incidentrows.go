package sqlite

import (
	"encoding/json"
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// The column settled has ClosedByOperator, and told has NotifierState; see the engine of
// PostgreSQL.
const incidentColumns = `id, job_id, cause, reason, error, run_id, count, reopened, opened_at, last_at, closed_at, closed_by, settled,
	acked_at, acked_by, why, version, told, due_at`

func scanIncident(row scanner) (i ledger.Incident, err error) {
	var opened, last int64
	var closed, acked, due nullTime
	err = row.Scan(&i.ID, &i.JobID, &i.Cause, &i.Reason, &i.Error, &i.RunID, &i.Count, &i.Reopened, &opened, &last, &closed, &i.ClosedBy,
		&i.ClosedByOperator,
		&acked, &i.AckedBy, &i.Why, &i.Version, &i.NotifierState, &due)
	i.OpenedAt, i.LastAt, i.ClosedAt, i.AckedAt, i.DueAt = at(opened), at(last), closed.time(), acked.time(), due.time()
	return i, err
}

const (
	findIncidents = `SELECT ` + incidentColumns + ` FROM incidents WHERE `
	lastIncidents = findIncidents + `id IN (
		SELECT max(id) FROM incidents WHERE job_id IN (SELECT value FROM json_each(?1)) AND cause = ?2 GROUP BY job_id)
		ORDER BY id`
	putIncident = `
		UPDATE incidents SET job_id = ?, cause = ?, reason = ?, error = ?, run_id = ?, count = ?, reopened = ?, opened_at = ?, last_at = ?,
			closed_at = ?, closed_by = ?, settled = ?, acked_at = ?, acked_by = ?, why = ?, version = ?, told = ?, due_at = ?
		WHERE id = ?`
	// openIncident adds to an open incident what ledger.Incident.Add adds.
	openIncident = `
		INSERT INTO incidents (job_id, cause, reason, error, run_id, count, reopened, opened_at, last_at,
			closed_at, closed_by, settled, acked_at, acked_by, why, version, told, due_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (job_id, cause) WHERE closed_at IS NULL DO UPDATE SET
			reason = excluded.reason, error = excluded.error, run_id = excluded.run_id, last_at = excluded.last_at,
			due_at = excluded.due_at, count = count + excluded.count, version = version + 1`
)

// OpenIncidents returns the open incidents of a cause and of jobs, by ID. Usually none is
// open.
func (t *tx) OpenIncidents(cause ledger.IncidentCause, jobIDs []string) ledger.Later[[]ledger.Incident] {
	var open bool
	if _, err := t.one(`SELECT EXISTS (SELECT 1 FROM incidents WHERE closed_at IS NULL)`, nil, &open); err != nil || !open {
		return ledger.Known[[]ledger.Incident](nil, err)
	}
	where, args := `closed_at IS NULL`, []any(nil)
	if len(jobIDs) > 0 {
		where, args = where+` AND job_id IN (SELECT value FROM json_each(?))`, append(args, array(jobIDs))
	}
	if cause != "" {
		where, args = where+` AND cause = ?`, append(args, string(cause))
	}
	return ledger.Known(all(t, scanIncident, findIncidents+where+` ORDER BY id`, args...))
}

// LockIncidents returns incidents, by ID. The write lock protects them.
func (t *tx) LockIncidents(ids []int64) ledger.Later[[]ledger.Incident] {
	list, err := json.Marshal(ids)
	if err != nil {
		return ledger.Known[[]ledger.Incident](nil, err)
	}
	return ledger.Known(all(t, scanIncident, findIncidents+`id IN (SELECT value FROM json_each(?)) ORDER BY id`, string(list)))
}

func (t *tx) LastIncidents(cause ledger.IncidentCause, jobIDs []string) ledger.Later[[]ledger.Incident] {
	return ledger.Known(all(t, scanIncident, lastIncidents, array(jobIDs), string(cause)))
}

func (t *tx) PendingIncidents() ledger.Later[[]ledger.Incident] {
	return ledger.Known(all(t, scanIncident, findIncidents+`due_at IS NOT NULL ORDER BY id`))
}

func (t *tx) PutIncidents(list []ledger.Incident) error {
	for _, i := range list {
		query := openIncident
		args := []any{i.JobID, string(i.Cause), string(i.Reason), i.Error, i.RunID, i.Count, i.Reopened, i.OpenedAt.UnixMicro(),
			i.LastAt.UnixMicro(),
			micros(i.ClosedAt), i.ClosedBy, i.ClosedByOperator, micros(i.AckedAt), i.AckedBy, i.Why, i.Version, i.NotifierState, micros(i.DueAt)}
		if i.ID != 0 {
			query, args = putIncident, append(args, i.ID)
		}
		if _, err := t.exec(query, args...); err != nil {
			return fmt.Errorf("incident of job %s: %w", i.JobID, err)
		}
	}
	return nil
}
