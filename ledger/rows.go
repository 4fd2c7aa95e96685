package ledger

import (
	"context"
	"time"
)

// Rows is what an engine stores for a [Ledger]. It knows no rule: which row is written,
// and when, is decided in this package. Package ledgertest has its contract as a test
// suite.
type Rows interface {
	// Write runs f in a transaction and commits it. Nothing was written if f returns an
	// error. An error of the commit is ErrUnavailable: the transaction may or may not
	// have been applied. Write may run f more than once. The name says in an error
	// what failed.
	Write(ctx context.Context, name string, f func(Tx) error) error
	// Read runs f on one state of the rows. It locks nothing.
	Read(ctx context.Context, name string, f func(Tx) error) error
}

// Tx is one transaction of an engine.
//
// An engine may keep calls back until a Future is asked for, until Now, or until the
// commit. It then sends all that it kept, in the order of the calls: over a network that
// is one round trip. So a rule first asks for all that it knows it needs, then takes the
// results, then writes. A write fails at once, in a later Get, in Now or in the commit;
// the transaction is then lost, and each further Get returns the error.
//
// A Future is valid in its transaction. Those of Insert and UpdateFenced are valid after
// the commit too: a rule that needs the result for its answer alone takes it there.
//
// Other transactions may run at the same time. To keep them from blocking each other for
// ever, a rule locks jobs first, then schedules, then templates, then runs (parents before
// their members), then incidents, then hours; in each of them in the order of their IDs,
// except that Due and DueSchedules skip what is locked. What a method does not lock,
// another transaction may change before this one commits.
type Tx interface {
	// Now returns the store's clock, to the microsecond. It is read once for a
	// transaction.
	Now() (time.Time, error)

	// BindRegistry stores the name of the registry that has the ledger, unless one is
	// stored, and returns the stored one.
	BindRegistry(name string) Future[string]
	// Processes returns all processes, by ID.
	Processes() Future[[]ProcessRow]
	// PutProcess writes a process, a new one or in place of the stored one.
	PutProcess(ProcessRow) error
	// SetHeartbeats writes the HeartbeatAt of those of the processes that exist.
	SetHeartbeats(ids []string, at time.Time) error
	// DeleteProcess deletes a process if it exists.
	DeleteProcess(id string) error
	// PutDefinitions adds definitions, by job ID, to a version. One that is new is the last
	// of its job: its Order is the greatest. The slice belongs to the caller.
	PutDefinitions(version string, list []Definition) error
	// Declared returns the definitions of a version, by job ID: the first ones after a job
	// ID, up to limit.
	Declared(version, after string, limit int) Future[[]JobDefinition]
	// CountDefinitions counts the definitions of each version that a process declares.
	CountDefinitions() Future[map[string]int]
	// Bodies returns the bodies of those of the definitions that exist, one of each job, by job.
	Bodies([]Definition) Future[map[string][]byte]
	// LockAll keeps other transactions from writing runs, incidents and processes. It is the
	// first call of its transaction.
	LockAll() error

	// JobsAfter returns jobs by ID, without their bodies and without a lock: the first ones
	// after an ID, up to limit.
	JobsAfter(after string, limit int) Future[[]JobRow]
	// JobBodies returns the definitions of the current revisions of jobs, by job.
	JobBodies(ids []string) Future[map[string][]byte]
	// Jobs locks the jobs that exist, and returns them by ID, without their bodies.
	Jobs(ids []string) Future[[]JobRow]
	// PeekJobs is Jobs without a lock.
	PeekJobs(ids []string) Future[[]JobRow]
	// Slots returns the slots of jobs, which the transaction has locked, by job. It leaves
	// out slots that no run has and no run waits for, and runs with a Pace.
	Slots(jobIDs []string) Future[[]Slot]
	// Paced returns runs that wait for a place of a job, which the transaction has locked, and
	// whose Pace is greater than the number of places taken: the oldest first, by Pace, then
	// those newest first; up to MaxParallel of each kind.
	Paced(jobID string) Future[[]PacedRun]
	// FreeJobs returns the jobs, by ID, whose slot is free, or that have a free place, while
	// runs wait for it.
	FreeJobs() Future[[]string]
	// Pauses returns the pauses that have no EndedAt, and, if a time is not zero, those whose
	// Until is after it; by ID, and without a lock.
	Pauses(after time.Time) Future[[]Pause]
	// LockPause locks and returns a pause, or none.
	LockPause(id int64) Future[[]Pause]
	// PutPause writes a pause that the transaction has locked, or a new one, whose ID is 0,
	// and returns its ID.
	PutPause(Pause) Future[int64]

	// Unfinished lists the unfinished runs of jobs, those with ~ too, but no members, in no
	// order: their IDs by job.
	Unfinished(jobIDs []string) Future[map[string][]string]

	// Find returns the rows that exist, by ScheduledAt, then ID.
	Find(ids []string) Future[[]Row]
	// LockRuns is Find, and locks the rows.
	LockRuns(ids []string) Future[[]Row]
	// Runs returns the rows that a filter selects, by ScheduledAt, then ID, without the
	// bodies of their calls. A Limit below 1 is none.
	Runs(Filter) Future[[]Row]
	// Leased returns the runs that are leased under a token, by ScheduledAt, then ID.
	Leased(token string) Future[[]Row]
	// Due locks and returns due runs that do not wait for a slot, the earliest DueAt first.
	// It skips runs that another transaction has locked.
	Due(DueQuery) Future[[]Row]
	// NextDue returns the DueAt of the first run that is not due yet and does not wait for
	// a slot; zero: there is none.
	NextDue() Future[time.Time]
	// LastLease returns the latest LeasedAt of the unfinished runs; zero: there is none.
	LastLease() Future[time.Time]
	// CountRunning counts the running runs of each process.
	CountRunning() Future[map[string]int]
	// Late locks and returns up to limit unfinished runs whose LateAt has come, the
	// earliest first.
	Late(limit int) Future[[]Row]
	// Ranges locks and returns the range rows of a job in which a scheduled time of
	// [first, last] lies, the oldest first.
	Ranges(jobID string, first, last time.Time) Future[[]Row]
	// CountOwn counts a job's rows of single scheduled times in [first, last].
	CountOwn(jobID string, first, last time.Time) Future[int]
	// CountRuns counts the runs of a filter, without regard to its Limit.
	CountRuns(Filter) Future[int]
	// Settled counts the runs of a filter that are acknowledged or were rerun.
	Settled(Filter) Future[[]SettledCount]

	// Insert writes new rows, in order, and reports which it wrote: not those whose ID
	// another row has. A second run with a job's slot is an error. A new row has no
	// outcome: no Failures, Replayed, Status, WaitReason, AcceptedAt, Progress, AckedAt or
	// RerunID.
	Insert([]Row) Future[[]bool]
	// Update writes changes of rows that the transaction has locked. It fails if a row is
	// not as its change expects it.
	Update([]Change) error
	// UpdateFenced writes changes, and reports which it wrote: not those of rows that are
	// gone, or that are not as the change expects them.
	UpdateFenced([]Change) Future[[]bool]
	// Delete deletes rows that the transaction has locked.
	Delete(ids []string) error
	// PutExcerpts writes excerpts, new ones or in place of those of the same attempts.
	PutExcerpts([]Excerpt) error
	// PutJobs writes changes of jobs that the transaction has locked, or new jobs. A new
	// one that another transaction has inserted meanwhile stays as it is.
	PutJobs([]JobChange) error

	// AddEvents and AddAudit add rows; IDs and the times of the audit are the engine's.
	// AddAudit fails with ErrRepeated if another entry has the key of one that is added.
	AddEvents([]Event) error
	AddAudit([]Audit) error
	// Kept returns the request under a key, or none.
	Kept(principal, key string) Future[[]KeptRequest]
	// SeriesEnd returns the last run that a series of an operator has changed, or none.
	SeriesEnd(by, series string) Future[[]Cursor]
	// Redriven returns those of the runs that a redrive of this operator's series has made
	// due again.
	Redriven(runIDs []string, by, series string) Future[[]string]

	// OpenIncidents returns the open incidents of a cause, "" being any, by ID; those of
	// jobs, if there are any.
	OpenIncidents(cause IncidentCause, jobIDs []string) Future[[]Incident]
	// LockIncidents locks and returns incidents, by ID.
	LockIncidents(ids []int64) Future[[]Incident]
	// LastIncidents locks and returns the last incident of a cause of each of the jobs,
	// by ID.
	LastIncidents(cause IncidentCause, jobIDs []string) Future[[]Incident]
	// PendingIncidents locks and returns the incidents that have a DueAt, by ID.
	PendingIncidents() Future[[]Incident]
	// PutIncidents writes incidents that the transaction has locked, or new ones, whose
	// ID is 0. A new one whose job has got an open incident of its cause meanwhile is
	// added to that: see Incident.Add.
	PutIncidents([]Incident) error

	History
	Listings
	MemberRows
	HourTable
	ScheduleTable
}

// DueQuery selects due runs.
type DueQuery struct {
	Limit       int // below 1: none
	BusyTargets []string
	BusyJobs    []string // with all schedules of those that are templates; parents of members too
	Only        []string // not empty: only these
	States      []State  // not empty: only runs in these
}
