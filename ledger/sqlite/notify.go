package sqlite

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// ReconcileIncidents makes the open incidents of a cause match the current problems. See
// ledger.Store.
func (l *Ledger) ReconcileIncidents(ctx context.Context, cause ledger.IncidentCause, observed []ledger.JobProblem) error {
	open, err := query(ctx, l, text, openOfCause, string(cause))
	if err != nil || len(open) == 0 && len(observed) == 0 { // usual; no need to write
		return err
	}
	return l.write(ctx, func(t *tx) error {
		open, err := all(t, text, openOfCause, string(cause))
		if err != nil {
			return err
		}
		closing, opening := ledgerrules.CompareProblems(open, observed)
		for _, job := range closing {
			_, err := t.exec(`
				UPDATE incidents SET closed_at = ?3, closed_by = '', due_at = ?3, version = version + 1
				WHERE closed_at IS NULL AND job_id = ?1 AND cause = ?2`, job, string(cause), t.now)
			if err != nil {
				return err
			}
		}
		return t.openIncidents(cause, opening)
	})
}

const openOfCause = `SELECT job_id FROM incidents WHERE closed_at IS NULL AND cause = ?`

const lateRuns = `SELECT ` + listColumns + ` FROM runs WHERE late_at <= ?1 AND late_at IS NOT NULL AND due_at IS NOT NULL ORDER BY late_at LIMIT ?2`

// MarkLate opens the incidents of late runs. See ledger.Store.
func (l *Ledger) MarkLate(ctx context.Context, limit int) (n int, err error) {
	if limit < 1 {
		return 0, nil
	}
	there, err := query(ctx, l, scanRun, lateRuns, l.now().UnixMicro(), 1)
	if err != nil || len(there) == 0 { // usual; no need to write
		return 0, err
	}
	err = l.write(ctx, func(t *tx) error {
		due, err := all(t, scanRun, lateRuns, t.now, limit)
		if err != nil {
			return err
		}
		var late []ledgerrules.Problem
		for _, s := range due {
			why, next := ledgerrules.Late(s.Run, t.clock())
			if _, err := t.exec(`UPDATE runs SET late_at = ?2 WHERE id = ?1`, s.key, micros(next)); err != nil {
				return err
			}
			if why != "" {
				late = append(late, ledgerrules.Problem{JobID: s.JobID, RunID: s.ID, Reason: why, Count: 1})
			}
		}
		n = len(due)
		return t.openIncidents(ledger.IncidentLate, late)
	})
	if err != nil {
		return 0, fmt.Errorf("look for late runs: %w", err)
	}
	return n, nil
}

// Notify writes the notifications of an incident, if it has not changed. See
// ledger.Notification.
func (l *Ledger) Notify(ctx context.Context, tell ledger.Notification) (done bool, err error) {
	if err := tell.Validate(); err != nil {
		return false, fmt.Errorf("tell: %w", err)
	}
	err = l.write(ctx, func(t *tx) error {
		changed, err := t.exec(`UPDATE incidents SET told = ?3, due_at = ?4, version = version + 1 WHERE id = ?1 AND version = ?2`,
			tell.ID, tell.Version, tell.NotifierState, micros(tell.DueAt))
		if done = changed > 0; err != nil || !done {
			return err
		}
		for _, e := range tell.Runs {
			if _, err := t.insert(newRun{RunSpec: e.RunSpec, jobID: e.JobID}); err != nil {
				return fmt.Errorf("%s: %w", e.RunID, err)
			}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("tell of incident %d: %w", tell.ID, err)
	}
	return done, nil
}
