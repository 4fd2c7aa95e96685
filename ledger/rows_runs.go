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

// MemberTable is the part of a Tx that has the frozen lists. A list belongs to its parent's row,
// which the transaction has locked if it writes.
type MemberTable interface {
	// PutMembers adds members to a list, and leaves those that it has, so that a part may be sent
	// twice.
	PutMembers(parent string, list []Member) error
	// DropMembers deletes a list that an earlier attempt has begun and not finished.
	DropMembers(parent string) error
	// SelectMembers returns members of a list, by run ID. A release takes the next ones, and a
	// listing a page.
	SelectMembers(MemberQuery) Future[[]MemberState]
	// CountMembers counts the members of parents by state, of states other than Succeeded: those
	// are few, and have an index.
	CountMembers(parents []string, states []State) Future[[]MemberCount]
	// CountFailed counts the members of parents that are finished and have not succeeded. It reads
	// counts that are kept with each change, and no members, which are inserted unfinished.
	CountFailed(parents []string) Future[[]FailedCount]
	// DeleteOldMembers deletes up to limit members from the lists of those of the parents that are
	// old, with their runs, and returns their run IDs. A purge calls it until none is left, before
	// it deletes the parents.
	DeleteOldMembers(parents []string, q OldRuns, limit int) Future[[]string]
}

// MemberState is a member of a frozen list and the state of its run; "": no run was made yet.
type MemberState struct {
	Member
	State State
}

// MemberCount counts the members of a parent that have a run in a state other than Succeeded.
type MemberCount struct {
	Parent string
	State  State
	Count  int
}

// MemberQuery selects members of a frozen list, by run ID.
type MemberQuery struct {
	Parent string
	After  string // run ID; "": from the first one
	Below  string // run ID, excluded; "": to the last one
	Prefix string // of the key
	Limit  int
	// All selects all members; else those that have no run, and those whose run is in one of
	// the States.
	All    bool
	States []State
}

// ListingQueries is the part of a Tx that operators' listings read. It locks nothing.
type ListingQueries interface {
	// Newest is Runs in the other order: the newest ScheduledAt first, equal times by ID
	// descending.
	Newest(Filter) Future[[]Row]
	// Groups groups the rows of Newest, in no order. Rows that are alike may be in several
	// groups.
	Groups(Filter) Future[[]RunGroup]
	// Attempts returns a run's attempts by number.
	Attempts(runID string) Future[[]Attempt]
	// Excerpts returns what is kept of the answers to a run's attempts, in no order.
	Excerpts(runID string) Future[[]Excerpt]
	// ChangedAfter returns up to limit of the rows that changed after a position, without bodies;
	// after the position "" it returns none.
	ChangedAfter(after string, limit int) Future[ChangedRows]
	// Recent reads the newest rows of each job, up to window, and returns the first n of them that
	// are no ~ runs. The rows of a job are ordered newest first.
	Recent(jobIDs []string, n, window int) Future[[]RunSummary]
	// JobsAndNewest returns all jobs by ID, each with the state of its newest row that is no range.
	JobsAndNewest() Future[[]JobAndNewest]
	// Last reads the newest rows of each job that are no ranges, up to window, and returns the first
	// in one of the states; nil: in any. It leaves out the bodies of calls.
	Last(jobIDs []string, states []State, window int) Future[[]Row]
	// Streaks returns, by job, since when the runs in state bad are newer than each run in
	// state good. It reads the same rows as Last.
	Streaks(jobIDs []string, bad, good State, window int) Future[map[string]Streak]
	// CountUnacknowledged counts the unacknowledged dead runs of jobs, by job.
	CountUnacknowledged(jobIDs []string) Future[map[string]int]
	// Definitions and Events return those of a job, the newest first.
	Definitions(jobID string, limit int) Future[[]DeclaredDefinition]
	Events(jobID string, limit int) Future[[]Event]
	// Incidents returns the incidents of a filter, with its limit.
	Incidents(IncidentFilter) Future[[]Incident]
	// Audits returns a page of the entries of a filter, newest first.
	Audits(AuditFilter) Future[[]Audit]
	// GivenBack returns for each of the targets the run that was given back for a cause of the
	// target and whose wait has not passed. See GivenBack.
	GivenBack(targets []string) Future[[]GivenBack]
	// CountByJob counts the runs in an unfinished state that do not wait for a slot, by their
	// LimitKey.
	CountByJob(state State, jobIDs []string) Future[map[string]int]
	// Counts returns what it says, but for Now. OldestDue is of the runs in the given
	// states.
	Counts(waiting []State) Future[Counts]
}

// ChangedRows has the rows that changed after a position. See Changes.
type ChangedRows struct {
	Rows     []Row
	Position string // where to continue
	Lost     bool   // the ledger has never been at the position
}
