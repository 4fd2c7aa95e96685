package ledger

import (
	"context"
	"time"
)

// Rows is what an engine stores for a [Ledger]. It knows no rule: which row is written,
// and when, is decided in this package.
type Rows interface {
	// Write runs f in a transaction and commits it. Nothing was written if f returns an
	// error. An error of the commit is ErrUnavailable: the transaction may or may not
	// have been applied. Write may run f more than once. The name says in an error
	// what failed.
	Write(ctx context.Context, name string, f func(Tx) error) error
	// Read runs f on one state of the rows.
	Read(ctx context.Context, name string, f func(Tx) error) error
}

// Tx is one transaction of an engine.
//
// Other transactions may run at the same time. To keep them from blocking each other for
// ever, a rule locks jobs first, then runs, then incidents; in each of them in the order
// of their IDs, except that Due skips runs that are locked.
type Tx interface {
	// Now returns the store's clock, to the microsecond. It is read once for a
	// transaction.
	Now() time.Time

	// Jobs locks the jobs that exist, and returns them by ID, without their bodies.
	Jobs(ids []string) ([]JobRow, error)
	// PutJobs writes the fields of Set, or a new row.
	PutJobs([]JobChange) error
	// Unfinished lists the unfinished runs of jobs, those with ~ too, in no order: their
	// IDs by job.
	Unfinished(jobIDs []string) (map[string][]string, error)

	// Insert writes new rows, in order, and reports which it wrote: not those
	// whose ID, or whose job's slot, another row has.
	Insert([]Row) (inserted []bool, err error)
	// Update writes the changes, and reports which it wrote: not those of rows that
	// are gone, or that another transaction has moved on.
	Update([]Change) (updated []bool, err error)
	// Delete deletes rows.
	Delete(ids []string) error
	// Runs returns the rows that a query selects.
	Runs(RunQuery) ([]Row, error)
	// Due locks and returns due runs.
	Due(DueQuery) (Due, error)
	// Free returns the runs that can be given the slots of jobs: the oldest run that waits,
	// of each of the jobs whose slot is free.
	Free(jobIDs []string) ([]Row, error)
	// Ranges returns the range rows of a job in which a scheduled time of [first, last]
	// lies, the oldest first. With lock, it locks them.
	Ranges(jobID string, first, last time.Time, lock bool) ([]Row, error)
	// Own counts a job's rows of single scheduled times in [first, last].
	Own(jobID string, first, last time.Time) (int, error)
	// Settled counts the runs of a filter that are acknowledged or were rerun.
	Settled(Filter) ([]SettledCount, error)

	// AddEvents and AddAudit add rows; IDs and the times of the audit are the engine's.
	AddEvents([]Event) error
	AddAudit([]Audit) error
	// Redriven returns those of the runs that a redrive by this operator under this
	// request, or a part of it, has made due again.
	Redriven(runIDs []string, by, request string) ([]string, error)

	// FindIncidents locks and returns incidents, by ID.
	FindIncidents(IncidentQuery) ([]Incident, error)
	// PutIncidents writes incidents; those with ID 0 are new. It reports which it
	// wrote: not a new one whose job has an open incident of its cause.
	PutIncidents([]Incident) (written []bool, err error)
}

// Row is a run's row as it is stored: a Run, and what only the rules need. LeasedBy,
// LeasedAt and Token are those of the last lease. They are kept after the outcome, so that
// a repeated record is recognized, and cleared by a cancel.
type Row struct {
	Run
	LeasedAt  time.Time
	Token     string
	LateAt    time.Time // when to check whether it is late; zero: never
	TakesSlot bool      // it runs only with its job's slot
	Waiting   bool      // for the slot
	HasSlot   bool

	overlap Overlap // of a new row that takes the slot
}

// DueAt returns when a claim may take the run: the NextAt of a planned, retrying or
// accepted one, the end of the lease of a running one. Zero: it is finished.
func (r *Row) DueAt() time.Time {
	if r.State == Running {
		return r.LeasedUntil
	}
	return r.NextAt
}

// SetDueAt sets what DueAt returns. An engine that reads a row sets its State first.
func (r *Row) SetDueAt(at time.Time) {
	r.NextAt, r.LeasedUntil = at, time.Time{}
	if r.State == Running {
		r.NextAt, r.LeasedUntil = time.Time{}, at
	}
}

// moveTo changes the run's state, and with it when the run is due.
func (r *Row) moveTo(to State, why Reason, due time.Time) {
	r.State, r.Reason = to, why
	r.SetDueAt(due)
}

// RunQuery selects rows. With a Limit below 1 it selects all.
type RunQuery struct {
	Filter
	// Oldest orders the rows by ScheduledAt, then ID; by default the newest comes first.
	Oldest bool
	Lock   bool
	Body   bool   // with the body of their call
	Token  string // not "": only runs that are leased under it
	// SlotOf, if not empty, selects the runs that have the slots of these jobs.
	SlotOf []string
	// LateBy, if set, selects unfinished runs whose LateAt has come by then, the
	// earliest first.
	LateBy time.Time
}

// DueQuery selects runs that are due and do not wait for a slot, the earliest DueAt
// first.
type DueQuery struct {
	Limit       int // below 1: none
	BusyTargets []string
	BusyJobs    []string
	Only        []string // not empty: only these
	// Granted says that the free slots were given: Due is to return runs although
	// there are some again.
	Granted bool
}

// Due is the result of a DueQuery.
type Due struct {
	Runs []Row
	// Next is the DueAt of the first run that is not due yet; zero: there is none.
	Next time.Time
	// Free are jobs whose slot is free while runs wait for it. If there are any and
	// Granted is not set, Runs is empty.
	Free []string
}

// JobRow is a job's row. It has ended if EndedAt is set.
type JobRow struct {
	Position
	Hash          string // of the current revision, or of the last
	Body          []byte
	EndedAt       time.Time
	PausedAt      time.Time
	PausedBy      string
	PausedWhy     string
	PurgedThrough time.Time
}

// JobColumns is a set of a JobRow's fields.
type JobColumns uint8

// The fields of a JobRow that change.
const (
	JobWatermark JobColumns = 1 << iota
	JobRevision             // Revision, Hash, Body and EndedAt
	JobPause                // PausedAt, PausedBy and PausedWhy
)

// JobChange writes some fields of a job's row. A job without a row gets one; it has
// all fields.
type JobChange struct {
	JobRow
	Set JobColumns
}

// SettledCount counts runs that are acknowledged, or were rerun, or both.
type SettledCount struct {
	Acknowledged bool
	Rerun        bool
	Count        int
}

// IncidentQuery selects incidents: those of an ID; or those of a cause, and of jobs if
// there are any.
type IncidentQuery struct {
	ID    int64
	Jobs  []string
	Cause IncidentCause // "": any
	Open  bool          // only open ones; else the last of each job and cause
}

// View returns the run as callers see it.
func (r *Row) View() Run {
	run := r.Run
	if run.State != Running {
		run.LeasedBy = ""
	}
	return run
}

// listed returns the run as lists show it: without the body that it sends.
func (r *Row) listed() Run {
	run := r.View()
	run.Call.Body = nil
	return run
}

// work returns what the holder of the run's lease gets.
func (r *Row) work() Work {
	return Work{
		RunID: r.ID, JobID: r.JobID, ScheduledAt: r.ScheduledAt, Trigger: r.Trigger, Attempt: r.Attempt,
		Failures: r.Failures, SendBefore: r.SendBefore, LeasedUntil: r.DueAt(), AcceptedAt: r.AcceptedAt, Token: r.Token, Call: r.Call,
	}
}
