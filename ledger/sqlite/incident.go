package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// changeIncidents closes and opens incidents after a record. Where no incident is
// open, which is usual, successes cost one look-up together.
func (t *tx) changeIncidents(e ledgerrules.IncidentChanges) error {
	closing := e.Closing()
	if len(closing) > 0 {
		var open bool
		if _, err := t.one(`SELECT EXISTS (SELECT 1 FROM incidents WHERE closed_at IS NULL)`, nil, &open); err != nil {
			return err
		}
		if !open {
			closing = nil
		}
	}
	for job, runID := range closing {
		_, err := t.exec(`
			UPDATE incidents SET closed_at = ?3, closed_by = ?2, due_at = ?3, version = version + 1
			WHERE closed_at IS NULL AND job_id = ?1 AND cause <> 'unplanned'`, job, runID, t.now)
		if err != nil {
			return err
		}
	}
	return t.openIncidents(ledger.IncidentDead, e.Dead)
}

// openIncidents opens an incident for each job with problems, or adds to it.
func (t *tx) openIncidents(cause ledger.IncidentCause, problems []ledgerrules.Problem) error {
	for _, p := range ledgerrules.MergeByJob(problems) {
		if err := t.openIncident(cause, p); err != nil {
			return fmt.Errorf("open the incident of job %s: %w", p.JobID, err)
		}
	}
	return nil
}

// openIncident adds to the job's last incident if it is open or may be opened again,
// else it opens another one.
func (t *tx) openIncident(cause ledger.IncidentCause, p ledgerrules.Problem) error {
	changed, err := t.exec(`
		UPDATE incidents SET reopened = reopened + (closed_at IS NOT NULL), closed_at = NULL, closed_by = '',
			reason = ?3, error = ?4, run_id = ?5, count = count + ?6, last_at = ?7, due_at = ?7, version = version + 1
		WHERE id = (SELECT max(id) FROM incidents WHERE job_id = ?1 AND cause = ?2)
		  AND (closed_at IS NULL OR NOT settled AND closed_at > ?8)`,
		p.JobID, string(cause), string(p.Reason), p.Error, p.RunID, p.Count, t.now, t.now-ledger.ReopenWithin.Microseconds())
	if err != nil || changed > 0 {
		return err
	}
	_, err = t.exec(`
		INSERT INTO incidents (job_id, cause, reason, error, run_id, count, opened_at, last_at, due_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?7)`,
		p.JobID, string(cause), string(p.Reason), p.Error, p.RunID, p.Count, t.now)
	return err
}

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

func (t *tx) incident(id int64) (i ledger.Incident, found bool, err error) {
	list, err := all(t, scanIncident, `SELECT `+incidentColumns+` FROM incidents WHERE id = ?`, id)
	if err != nil || len(list) == 0 {
		return i, false, err
	}
	return list[0], true, nil
}

// AckIncident acknowledges or closes an incident. See ledger.IncidentAction.
func (l *Ledger) AckIncident(ctx context.Context, a ledger.IncidentAction) (i ledger.Incident, err error) {
	if err := a.Actor.Validate(); err != nil {
		return i, fmt.Errorf("acknowledge an incident: %w", err)
	}
	err = l.write(ctx, func(t *tx) error {
		var found bool
		i, found, err = t.incident(a.ID)
		switch {
		case err != nil:
			return err
		case !found:
			return ledger.ErrNotFound
		case !ledgerrules.ChangesIncident(a, i):
			return nil
		}
		set := `acked_at = ?3, acked_by = ?2`
		if a.Close {
			set = `closed_at = ?3, closed_by = ?2, settled = 1`
		}
		if _, err := t.exec(`UPDATE incidents SET `+set+`, why = ?4, due_at = ?3, version = version + 1 WHERE id = ?1`, a.ID, a.By, t.now, a.Why); err != nil {
			return err
		}
		if err := t.addAudit(ledgerrules.IncidentAudit(a, i)); err != nil {
			return err
		}
		i, _, err = t.incident(a.ID)
		return err
	})
	if err != nil {
		return ledger.Incident{}, fmt.Errorf("acknowledge incident %d: %w", a.ID, err)
	}
	return i, nil
}
