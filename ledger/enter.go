package ledger

import (
	"context"
	"fmt"
)

// Enter writes one run from outside the planner. See Entry.
func (l *Ledger) Enter(ctx context.Context, e Entry) (Entered, error) {
	if err := e.Validate(); err != nil {
		return Entered{}, err
	}
	return write(ctx, l, "enter "+e.RunID, func(tx Tx) (Entered, error) {
		j := JobRow{Position: Position{JobID: e.JobID}}
		if !IsAdHoc(e.RunID) {
			var err error
			if j, err = entryJob(tx, e.JobID); err != nil {
				return Entered{}, err
			}
		}
		return enter(tx, e, j)
	})
}

// entryJob locks and returns the job of an entry. A job that the ledger does not know
// gets a row, so that it has a place for what is purged.
func entryJob(tx Tx, id string) (JobRow, error) {
	for range 2 {
		jobs, err := tx.Jobs([]string{id})
		if err != nil {
			return JobRow{}, err
		}
		if len(jobs) > 0 {
			return jobs[0], nil
		}
		unknown := JobRow{Position: Position{JobID: id}, EndedAt: tx.Now()}
		if err := tx.PutJobs([]JobChange{{JobRow: unknown, Set: JobRevision}}); err != nil {
			return unknown, err
		}
	}
	return JobRow{}, fmt.Errorf("job %s: its row was deleted while it was entered: %w", id, ErrUnavailable)
}

func enter(tx Tx, e Entry, j JobRow) (Entered, error) {
	got := Entered{Now: tx.Now()}
	r, found, err := findEntry(tx, e)
	if err != nil {
		return got, err
	}
	if found {
		return entered(tx, e, r)
	}
	if !IsAdHoc(e.RunID) {
		if !e.ScheduledAt.After(j.PurgedThrough) {
			return got, ErrPurged
		}
		if err := grant(tx, []string{e.JobID}); err != nil {
			return got, err
		}
		if e.yields() && j.PausedAt.IsZero() {
			if got.Due, err = dueHolder(tx, e.JobID); got.Due != "" || err != nil {
				return got, err
			}
		}
	}
	if err := markRerun(tx, e); err != nil {
		return got, err
	}
	r = newRow(e.RunSpec, j, tx.Now())
	r.By, r.Why = e.By, e.Why
	if e.Lease && r.startable(tx.Now()) {
		r.lease(e.Owner, e.Token, tx.Now(), e.LeaseFor)
	}
	if r, err = insertEntry(tx, e, r); err != nil {
		return got, err
	}
	if got, err = entered(tx, e, r); err != nil {
		return got, err
	}
	got.Inserted = true
	if entryAction(e) != "" {
		return got, tx.AddAudit([]Audit{entryAudit(e)})
	}
	return got, nil
}

// yields reports whether the entry waits for an earlier run of its job.
func (e *Entry) yields() bool {
	return e.YieldToDue && e.State == Planned && e.Overlap != OverlapAllow && !IsAdHoc(e.RunID)
}

// findEntry finds the row that accounts for the entry: its own, or a range row.
func findEntry(tx Tx, e Entry) (r Row, found bool, err error) {
	rows, err := tx.Runs(RunQuery{Filter: Filter{IDs: []string{e.RunID}}, Body: true})
	if err == nil && len(rows) == 0 && !IsAdHoc(e.RunID) {
		rows, err = tx.Ranges(e.JobID, e.ScheduledAt, e.ScheduledAt, false)
	}
	if err != nil || len(rows) == 0 {
		return r, false, err
	}
	return rows[len(rows)-1], true, nil
}

// entered returns the result of an entry that has a row.
func entered(tx Tx, e Entry, r Row) (Entered, error) {
	got := Entered{Now: tx.Now(), Run: r.View()}
	if r.State == Running && r.Token == e.Token && e.Token != "" {
		work := r.work()
		got.Work = &work
	}
	if !r.Waiting || !e.yields() {
		return got, nil
	}
	err := grant(tx, []string{e.JobID})
	if err == nil {
		got.Due, err = dueHolder(tx, e.JobID)
	}
	if got.Due == e.RunID { // it has just got the slot
		got.Due = ""
	}
	return got, err
}

// dueHolder returns the run that has the job's slot if a claim may take it now.
func dueHolder(tx Tx, jobID string) (string, error) {
	rows, err := tx.Runs(RunQuery{SlotOf: []string{jobID}})
	if err != nil || len(rows) == 0 || rows[0].DueAt().After(tx.Now()) {
		return "", err
	}
	return rows[0].ID, nil
}

// insertEntry writes the entry's row, and returns it as it is then.
func insertEntry(tx Tx, e Entry, r Row) (Row, error) {
	inserted, err := tx.Insert([]Row{r})
	if err != nil || inserted[0] {
		return r, err
	}
	if r.HasSlot {
		r = r.behind(tx.Now())
		inserted, err = tx.Insert([]Row{r})
		if err != nil || inserted[0] {
			return r, err
		}
	}
	return r, fmt.Errorf("%w: another process entered the run at the same time; enter it again", ErrUnavailable)
}

// markRerun records in the repeated run which run repeats it.
func markRerun(tx Tx, e Entry) error {
	if e.RerunOf == "" {
		return nil
	}
	rows, err := tx.Runs(RunQuery{Filter: Filter{IDs: []string{e.RerunOf}}, Lock: true})
	if err != nil {
		return err
	}
	if len(rows) == 0 || !rows[0].State.Finished() || rows[0].RerunID != "" && !e.MayDouble {
		return fmt.Errorf("run %q: %w", e.RerunOf, ErrCannotRerun)
	}
	r := &rows[0]
	was := *r
	r.RerunID, r.By, r.Why = e.RunID, e.By, e.Why
	return updateAll(tx, []Change{Changed(&was, r)})
}

// entryAction returns the kind of action that made the entry's run, "" for a run that
// no operator made.
func entryAction(e Entry) ActionKind {
	switch e.Trigger {
	case ByOperator:
		return ActionTrigger
	case ByRerun:
		return ActionRerun
	}
	return ""
}

// entryAudit returns the audit entry that is written with the entry's run.
func entryAudit(e Entry) Audit {
	a := Audit{Action: entryAction(e), JobID: e.JobID, RunID: e.RunID, Actor: e.Actor}
	if e.RerunOf != "" {
		a.RunID, a.RerunID = e.RerunOf, e.RunID
	}
	return a
}
