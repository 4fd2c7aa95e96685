package ledger

import "time"

// RunTable is the part of a Tx that has the runs.
type RunTable interface {
	// Unfinished lists the unfinished runs of jobs, those with ~ too, but no members, in no order:
	// their IDs by job. A redrive finds busy jobs by it, before and without a lock.
	Unfinished(jobIDs []string) Future[map[string][]string]

	// Find returns the rows that exist, by ScheduledAt, then ID, with the bodies of their calls.
	Find(ids []string) Future[[]Row]
	// LockRuns is Find, and locks the rows until the transaction ends. A rule that decides by what
	// a row has locks it first.
	LockRuns(ids []string) Future[[]Row]
	// Runs returns the rows that a filter selects, by ScheduledAt, then ID, without the
	// bodies of their calls. A Limit below 1 is none.
	Runs(Filter) Future[[]Row]
	// Leased returns the runs that are leased under a token, by ScheduledAt, then ID. LeasedWork
	// calls it after the answer to a claim was lost; an engine needs no index for it.
	Leased(token string) Future[[]Row]
	// LockDue locks and returns due runs that do not wait for a slot, the earliest DueAt first. It
	// skips runs that another transaction has locked, so that two claims share what is due and
	// neither waits. A claim, and a release of members for the parents, call it.
	LockDue(DueQuery) Future[[]Row]
	// NextDue returns the DueAt of the first run that is not due yet and does not wait for a slot;
	// zero: there is none. A claim tells the process when to claim next.
	NextDue() Future[time.Time]
	// LastLease returns the latest LeasedAt of the unfinished runs; zero: there is none. One that
	// is ahead of the clock shows that the clock was set back.
	LastLease() Future[time.Time]
	// CountRunning counts the running runs of each process.
	CountRunning() Future[map[string]int]
	// LockLate locks and returns up to limit unfinished runs whose LateAt has come, the earliest
	// first. MarkLate calls it; nearly always it finds none.
	LockLate(limit int) Future[[]Row]
	// LockRanges locks and returns the range rows of a job in which a scheduled time of [first,
	// last] lies, the oldest first. An entry finds there the row that accounts for its time; a
	// backfill takes times out.
	LockRanges(jobID string, first, last time.Time) Future[[]Row]
	// CountSingles counts a job's rows of single scheduled times in [first, last], so that an
	// admission leaves them out of the count of a range row.
	CountSingles(jobID string, first, last time.Time) Future[int]
	// CountRuns counts the runs of a filter, without regard to its Limit: what an action leaves for
	// further requests.
	CountRuns(Filter) Future[int]
	// AckedOrRerun counts the runs of a filter that are acknowledged or were rerun, which an action
	// without IDs leaves out.
	AckedOrRerun(Filter) Future[[]AckedOrRerunCount]

	// Insert writes new rows, in order, and reports which it wrote: not those whose ID another row
	// has, which accounts for the scheduled time. A second run with a job's slot is an error: the
	// rule did not lock the job. A new row has no outcome: no Failures, Replayed, Status,
	// WaitReason, AcceptedAt, Progress, AckedAt or RerunID.
	Insert([]Row) Future[[]bool]
	// Update writes changes of rows that the transaction has locked. It fails if a row is not as
	// its change expects it: that is a defect of a rule.
	Update([]RowChange) error
	// UpdateFenced writes changes of rows that it need not have locked, and reports which it wrote:
	// not those of rows that are gone, or that are not as the change expects them. Record and
	// Extend write so, by the lease's token, and grant, which gives slots.
	UpdateFenced([]RowChange) Future[[]bool]
	// Delete deletes rows that the transaction has locked: range rows of which a backfill has taken
	// the last scheduled time.
	Delete(ids []string) error
	// PutExcerpts writes excerpts, new ones or in place of those of the same attempts. Record calls
	// it.
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
