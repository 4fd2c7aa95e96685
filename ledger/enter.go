package ledger

import (
	"context"
	"fmt"
	"time"
)

// Enter writes one run from outside the planner, or returns the row that accounts for it already.
// See Entry. To repeat it with the same token is safe, and returns the work again.
func (l *Ledger) Enter(ctx context.Context, e Entry) (Entered, error) {
	if err := e.Validate(); err != nil {
		return Entered{}, err
	}
	var m entryTx
	err := l.rows.Write(ctx, "enter "+e.RunID, func(tx Tx) error {
		m = entryTx{Entry: e, tx: tx}
		return m.run()
	})
	if err == nil && m.got.Inserted {
		err = m.isInserted()
	}
	if err != nil {
		return Entered{}, err
	}
	return m.got, nil
}

// entryTx is an Entry in its transaction. For a scheduled time it locks the job, as an admission
// does, so that the row is written once; a ~ run has a row of its own and needs no lock.
type entryTx struct {
	Entry
	tx       Tx
	now      time.Time
	job      JobRow // of a scheduled time
	found    []Row  // the row that accounts for the entry, or none
	pauses   pauses
	slots    slots
	repeated []Row // the run that a rerun repeats
	inserted Future[[]bool]
	got      Entered
}

// run returns the row that the entry has already, or makes one, unless another run of the job is to
// come first.
func (m *entryTx) run() error {
	if err := m.readAll(); err != nil {
		return err
	}
	m.got.Now = m.now
	if len(m.found) > 0 {
		m.setResult(m.found[0])
		return nil
	}
	if !IsAdHoc(m.RunID) {
		if !m.ScheduledAt.After(m.job.PurgedThrough) {
			return ErrPurged
		}
		if m.yields() && m.job.PausedAt.IsZero() && m.pause() == nil {
			if m.got.Due = m.dueHolder(); m.got.Due != "" {
				return nil
			}
		}
	}
	if err := m.markRepeated(); err != nil {
		return err
	}
	return m.insert()
}

// readAll reads what the entry depends on. A job that the ledger does not know gets a row,
// so that it has a place for what is purged.
func (m *entryTx) readAll() error {
	for range 2 {
		if known, err := m.read(); err != nil || known {
			return err
		}
		if err := m.tx.PutJobs([]JobChange{unknownJob(m.JobID, m.now)}); err != nil {
			return err
		}
	}
	return fmt.Errorf("job %s: its row was deleted while it was entered: %w", m.JobID, ErrUnavailable)
}

// read reads what the entry depends on, and reports whether the ledger knows its job, if it
// needs one.
func (m *entryTx) read() (known bool, err error) {
	scheduled, id := !IsAdHoc(m.RunID), []string{m.JobID}
	var jobsFuture Future[[]JobRow]
	var slotsFuture Future[[]Slot]
	var rangesFuture, repeatedFuture Future[[]Row]
	if scheduled {
		jobsFuture, slotsFuture = m.tx.LockJobs(id), m.tx.Slots(id)
	}
	if m.RerunOf != "" {
		repeatedFuture = m.tx.LockRuns([]string{m.RerunOf})
	}
	ownFuture, pausesFuture := m.tx.Find([]string{m.RunID}), m.tx.Pauses(m.ScheduledAt)
	if scheduled {
		rangesFuture = m.tx.LockRanges(m.JobID, m.ScheduledAt, m.ScheduledAt)
	}
	if m.now, err = m.tx.Now(); err != nil {
		return false, err
	}
	jobs := take(&err, jobsFuture)
	m.repeated, m.found = take(&err, repeatedFuture), take(&err, ownFuture)
	if len(m.found) == 0 {
		m.found = take(&err, rangesFuture)
	}
	slots := take(&err, slotsFuture)
	m.pauses = take(&err, pausesFuture)
	if err != nil || scheduled && len(jobs) == 0 {
		return false, err
	}
	if scheduled {
		m.job = jobs[0]
	}
	if scheduled && len(m.found) == 0 {
		covers := func(p Pause) bool { return p.Covers(m.JobID, m.Traits, m.ScheduledAt) }
		if m.pauses, err = m.pauses.lockCatchUps(m.tx, covers); err != nil {
			return false, err
		}
	}
	m.slots = grant(m.tx, slots)
	return true, nil
}

// yields reports whether the entry waits for an earlier run of its job.
func (e *Entry) yields() bool { return e.YieldToDue && e.takesSlot() }

// dueHolder returns the run that has the job's slot if a claim may take it now: none may
// while the target is held, nor a parent whose members are called.
func (m *entryTx) dueHolder() string {
	h := m.slots.holder(m.JobID)
	if h.ID == "" || h.State == FannedOut || h.DueAt.After(m.now) || m.pauses.holdOf(m.Call.Target, m.now) != nil {
		return ""
	}
	return h.ID
}

// setResult makes the result of an entry that has a row.
func (m *entryTx) setResult(r Row) {
	m.got.Run = r.Visible()
	if r.State == Running && r.Token == m.Token && m.Token != "" {
		work := r.work()
		m.got.Work = &work
	}
	if due := m.dueHolder(); r.Waiting && m.yields() && due != m.RunID { // it may have got the slot now
		m.got.Due = due
	}
}

// pause returns the pause that the scheduled time is in, or nil.
func (m *entryTx) pause() *Pause { return m.pauses.covering(m.JobID, m.Traits, m.ScheduledAt) }

// insert writes the entry's row, leased if that was asked for and it can start, and the audit of a
// trigger or a rerun.
func (m *entryTx) insert() error {
	r := newRow(m.RunSpec, m.job, m.pause(), m.now)
	r.JobID, r.By, r.Why = m.JobID, m.By, m.Why
	m.slots.applyOverlap(&r, m.Overlap, m.now)
	if m.Lease && r.startable(m.now) && m.pauses.holdOf(r.Call.Target, m.now) == nil {
		r.lease(m.Process, m.Token, m.now, m.LeaseFor)
	}
	m.inserted = m.tx.Insert([]Row{r})
	if IsAdHoc(m.RunID) { // nothing is written if another process enters it too
		if err := m.isInserted(); err != nil {
			return err
		}
	}
	m.setResult(r)
	m.got.Inserted = true
	if entryAction(m.Entry) != "" {
		return addAudit(m.tx, entryAudit(m.Entry), nil, m.got)
	}
	return nil
}

// isInserted returns an error if the row was not written.
func (m *entryTx) isInserted() error {
	written, err := m.inserted.Get()
	if err == nil && !written[0] {
		err = fmt.Errorf("run %s: %w: another process entered it at the same time; enter it again", m.RunID, ErrUnavailable)
	}
	return err
}

// markRepeated records in the repeated run which run repeats it.
func (m *entryTx) markRepeated() error {
	if m.RerunOf == "" {
		return nil
	}
	if len(m.repeated) == 0 || !m.repeated[0].State.Finished() || m.repeated[0].RerunID != "" && !m.MayDouble {
		return fmt.Errorf("run %q: %w", m.RerunOf, ErrCannotRerun)
	}
	r := &m.repeated[0]
	old := *r
	r.RerunID, r.By, r.Why = m.RunID, m.By, m.Why
	return update(m.tx, []RowChange{DiffRows(&old, r)})
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
	a := Audit{Action: entryAction(e), JobID: e.JobID, RunID: e.RunID, Count: 1, Actor: e.Actor}
	if e.RerunOf != "" {
		a.RunID, a.RerunID = e.RerunOf, e.RunID
	}
	return a
}
