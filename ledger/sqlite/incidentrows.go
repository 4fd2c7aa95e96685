package sqlite

import (
	"fmt"

	"github.com/cronce/cronce/ledger"
)

// FindIncidents returns incidents, by ID. The write lock protects them.
func (t *tx) FindIncidents(q ledger.IncidentQuery) ([]ledger.Incident, error) {
	const find = `SELECT ` + incidentColumns + ` FROM incidents WHERE `
	switch {
	case q.ID != 0:
		return all(t, scanIncident, find+`id = ?`, q.ID)
	case !q.Open:
		return all(t, scanIncident, find+`id IN (
			SELECT max(id) FROM incidents WHERE job_id IN (SELECT value FROM json_each(?1)) AND cause = ?2 GROUP BY job_id)
			ORDER BY id`, array(q.Jobs), string(q.Cause))
	}
	var open bool
	if _, err := t.one(`SELECT EXISTS (SELECT 1 FROM incidents WHERE closed_at IS NULL)`, nil, &open); err != nil || !open { // usual
		return nil, err
	}
	where, args := `closed_at IS NULL`, []any(nil)
	if len(q.Jobs) > 0 {
		where, args = where+` AND job_id IN (SELECT value FROM json_each(?))`, append(args, array(q.Jobs))
	}
	if q.Cause != "" {
		where, args = where+` AND cause = ?`, append(args, string(q.Cause))
	}
	return all(t, scanIncident, find+where+` ORDER BY id`, args...)
}

// PutIncidents writes incidents, and reports which it wrote.
func (t *tx) PutIncidents(list []ledger.Incident) ([]bool, error) {
	written := make([]bool, len(list))
	for k, i := range list {
		args := []any{i.JobID, string(i.Cause), string(i.Reason), i.Error, i.RunID, i.Count, i.Reopened, i.OpenedAt.UnixMicro(), i.LastAt.UnixMicro(),
			micros(i.ClosedAt), i.ClosedBy, i.ClosedByOperator, micros(i.AckedAt), i.AckedBy, i.Why, i.Version, i.NotifierState, micros(i.DueAt)}
		var n int64
		var err error
		if i.ID == 0 {
			n, err = t.exec(`
				INSERT INTO incidents (job_id, cause, reason, error, run_id, count, reopened, opened_at, last_at,
					closed_at, closed_by, settled, acked_at, acked_by, why, version, told, due_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, args...)
		} else {
			n, err = t.exec(`
				UPDATE incidents SET job_id = ?, cause = ?, reason = ?, error = ?, run_id = ?, count = ?, reopened = ?, opened_at = ?, last_at = ?,
					closed_at = ?, closed_by = ?, settled = ?, acked_at = ?, acked_by = ?, why = ?, version = ?, told = ?, due_at = ?
				WHERE id = ?`, append(args, i.ID)...)
		}
		if err != nil {
			return nil, fmt.Errorf("incident of job %s: %w", i.JobID, err)
		}
		written[k] = n > 0
	}
	return written, nil
}
