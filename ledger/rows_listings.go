package ledger

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
