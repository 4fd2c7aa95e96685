package sqlite

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// Enter writes one run from outside the planner. See ledger.Entry.
func (l *Ledger) Enter(ctx context.Context, e ledger.Entry) (out ledger.Entered, err error) {
	if err := e.Validate(); err != nil {
		return out, fmt.Errorf("enter: %w", err)
	}
	err = l.write(ctx, func(t *tx) error {
		out, err = t.enter(e)
		return err
	})
	if err != nil {
		return ledger.Entered{}, fmt.Errorf("enter %s: %w", e.RunID, err)
	}
	return out, nil
}

func (t *tx) enter(e ledger.Entry) (ledger.Entered, error) {
	out := ledger.Entered{Now: t.clock()}
	n := newRun{RunSpec: e.RunSpec, jobID: e.JobID, by: e.By, why: e.Why, holder: holder{e.Owner, e.Token, e.LeaseFor}}
	there, found, err := t.accounts(e)
	if err != nil {
		return out, err
	}
	if e.YieldToDue && e.State == ledger.Planned && e.Overlap != ledger.OverlapAllow && !ledger.IsAdHoc(e.RunID) {
		if out.Due, err = t.dueHolder(e, there, found); err != nil {
			return out, err
		}
	}
	if !found {
		if err := t.markRerun(e); err != nil {
			return out, err
		}
		if err := t.joinJob(&n); err != nil {
			return out, err
		}
		if out.Due != "" && !n.paused {
			return out, nil
		}
		out.Due = ""
		w, err := t.insert(n)
		if err != nil {
			return out, err
		}
		out.Inserted = w.inserted
		if ledgerrules.EntryAction(e) != "" {
			if err := t.addAudit(ledgerrules.EntryAudit(e)); err != nil {
				return out, err
			}
		}
		if there, _, err = t.run(e.RunID); err != nil {
			return out, err
		}
	}
	out.Run = there.Run
	if there.State == ledger.Running && e.Lease && there.token == e.Token {
		w := there.work()
		out.Work = &w
	}
	return out, nil
}

// markRerun records in the repeated run which run repeats it.
func (t *tx) markRerun(e ledger.Entry) error {
	if e.RerunOf == "" {
		return nil
	}
	n, err := t.exec(`
		UPDATE runs SET changed = ?6, rerun_id = ?2, by = ?3, why = ?4
		WHERE run_id = ?1 AND finished_at IS NOT NULL AND (rerun_id = '' OR ?5)`, e.RerunOf, e.RunID, e.By, e.Why, e.MayDouble, t.change)
	if err == nil && n == 0 {
		err = fmt.Errorf("run %s: %w", e.RerunOf, ledger.ErrCannotRerun)
	}
	return err
}

// accounts finds the row that accounts for the entry's scheduled time: its own, or a
// range that it lies in.
func (t *tx) accounts(e ledger.Entry) (stored, bool, error) {
	s, found, err := t.run(e.RunID)
	if found || err != nil || ledger.IsAdHoc(e.RunID) {
		return s, found, err
	}
	return t.rangeAt(e.JobID, e.ScheduledAt.UnixMicro())
}

// rangeAt finds the range row that covers a scheduled time. Ranges of a job do not
// overlap, so only the last that begins by then can.
func (t *tx) rangeAt(jobID string, scheduled int64) (s stored, found bool, err error) {
	rows, err := all(t, scanRun, `
		SELECT `+runColumns+` FROM runs
		WHERE job_id = ? AND scheduled_at <= ? AND until IS NOT NULL
		ORDER BY scheduled_at DESC LIMIT 1`, jobID, scheduled)
	if err != nil || len(rows) == 0 || rows[0].Until.UnixMicro() < scheduled {
		return s, false, err
	}
	return rows[0], true, nil
}

// joinJob puts the run of a scheduled time in its job's revision. A job that the ledger
// does not know gets a row, so that it has a place for what is purged.
func (t *tx) joinJob(n *newRun) error {
	if ledger.IsAdHoc(n.RunID) {
		return nil
	}
	var purged nullTime
	found, err := t.one(`SELECT revision, paused_at IS NOT NULL, purged_before FROM jobs WHERE job_id = ?`,
		[]any{n.jobID}, &n.revision, &n.paused, &purged)
	switch {
	case err != nil:
		return err
	case !found:
		_, err := t.exec(`INSERT INTO jobs (job_id, revision, hash, ended_at) VALUES (?, 0, '', ?)`, n.jobID, t.now)
		return err
	case purged.Valid && n.ScheduledAt.UnixMicro() <= purged.Int64:
		return ledger.ErrPurged
	}
	return nil
}

// dueHolder is the run that holds the slot of the entry's job if a claim may take
// it now. An entry whose row does not wait is not in its way.
func (t *tx) dueHolder(e ledger.Entry, there stored, found bool) (id string, err error) {
	if found && !there.waiting {
		return "", nil
	}
	_, err = t.one(`SELECT run_id FROM runs WHERE slot = ? AND due_at <= ?`, []any{e.JobID, t.now}, &id)
	return id, err
}
