package ledger

import "time"

// RunTable is the part of a Tx that has the runs.
type RunTable interface {
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
	// LockDue locks and returns due runs that do not wait for a slot, the earliest DueAt first.
	// It skips runs that another transaction has locked.
	LockDue(DueQuery) Future[[]Row]
	// NextDue returns the DueAt of the first run that is not due yet and does not wait for
	// a slot; zero: there is none.
	NextDue() Future[time.Time]
	// LastLease returns the latest LeasedAt of the unfinished runs; zero: there is none.
	LastLease() Future[time.Time]
	// CountRunning counts the running runs of each process.
	CountRunning() Future[map[string]int]
	// LockLate locks and returns up to limit unfinished runs whose LateAt has come, the
	// earliest first.
	LockLate(limit int) Future[[]Row]
	// LockRanges locks and returns the range rows of a job in which a scheduled time of
	// [first, last] lies, the oldest first.
	LockRanges(jobID string, first, last time.Time) Future[[]Row]
	// CountSingles counts a job's rows of single scheduled times in [first, last].
	CountSingles(jobID string, first, last time.Time) Future[int]
	// CountRuns counts the runs of a filter, without regard to its Limit.
	CountRuns(Filter) Future[int]
	// AckedOrRerun counts the runs of a filter that are acknowledged or were rerun.
	AckedOrRerun(Filter) Future[[]AckedOrRerunCount]

	// Insert writes new rows, in order, and reports which it wrote: not those whose ID
	// another row has. A second run with a job's slot is an error. A new row has no
	// outcome: no Failures, Replayed, Status, WaitReason, AcceptedAt, Progress, AckedAt or
	// RerunID.
	Insert([]Row) Future[[]bool]
	// Update writes changes of rows that the transaction has locked. It fails if a row is
	// not as its change expects it.
	Update([]RowChange) error
	// UpdateFenced writes changes, and reports which it wrote: not those of rows that are
	// gone, or that are not as the change expects them.
	UpdateFenced([]RowChange) Future[[]bool]
	// Delete deletes rows that the transaction has locked.
	Delete(ids []string) error
	// PutExcerpts writes excerpts, new ones or in place of those of the same attempts.
	PutExcerpts([]Excerpt) error
}

// DueQuery selects due runs.
type DueQuery struct {
	Limit       int // below 1: none
	BusyTargets []string
	BusyJobs    []string // with all schedules of those that are templates; parents of members too
	Only        []string // not empty: only these
	States      []State  // not empty: only runs in these
}
