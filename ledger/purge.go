package ledger

import "time"

// Purge asks for one bounded batch of finished runs, with their attempts, to be
// deleted, oldest ScheduledAt first. That is the order in which runs are stored, and
// nearly all finish in it. Kept are:
//
//   - a run that finished within its retention, however long ago it was
//     scheduled;
//   - a run that finished before its time (canceled), until its time too is
//     past retention;
//   - every unfinished run;
//   - an unacknowledged dead run, until DeadRetention;
//   - a run at a scheduled time after its job's watermark while the job has a revision
//     (an event came before the plan): its row is what keeps the plan from
//     running it again.
//
// In the same transaction the jobs' PurgedThrough rises to the newest scheduled time
// deleted; it is never lowered, and ~ runs do not raise it. Watermarks stay.
type Purge struct {
	Retention     time.Duration // since FinishedAt
	DeadRetention time.Duration // since FinishedAt, of unacknowledged dead runs
	Batch         int           // at most this many runs; below 1 the default, 1000
	// From continues after an earlier batch: it is its Next. Zero begins anew.
	From PurgeCursor
	// DryRun deletes nothing and counts all runs that are past retention, whatever
	// Batch.
	DryRun bool
}

// Purged is the result of a Purge.
type Purged struct {
	Runs int // deleted, a range row counted as one
	// Next is where the next batch continues.
	Next PurgeCursor
	// More reports that a full batch was found: ask again, From Next. Runs may still
	// be fewer than a batch, as a run that is redriven before it is deleted stays.
	More bool
}

// PurgeCursor is the position of a purge. Many runs may have one scheduled time,
// and most of them may be kept: the purge reads them once, and Found lists those
// that no batch had room for yet.
type PurgeCursor struct {
	After time.Time // runs scheduled up to it are not read again
	Found []string  // run IDs up to After that were past their retention
}

// BatchSize returns the number of runs that the purge may delete at once.
func (p Purge) BatchSize() int { return fullBatch(p.Batch) }

func fullBatch(batch int) int {
	if batch < 1 {
		return 1000
	}
	return batch
}

// HistoryPurge asks for one bounded batch of old rows that are not runs to be deleted.
// Kept are:
//
//   - an action of an operator, for AuditRetention;
//   - an event, for Retention after its time;
//   - an incident, while it is open, and for Retention after its closing;
//   - a process, for ProcessRetention after its last heartbeat, and with it the
//     definitions that it declared;
//   - a definition that any process of the ledger declares, or that is the
//     current one of a job that has not ended;
//   - a definition of which the job has a newer one, for Retention after the newer
//     one was first declared;
//   - the newest definition of a job that has not ended, or ended within Retention;
//     of a job that never had a revision, for Retention after its first declaration.
//
// A run has its call frozen in its row and needs no definition. A definition
// that was deleted and is declared again counts as first declared then.
type HistoryPurge struct {
	Retention      time.Duration
	AuditRetention time.Duration
	Batch          int // at most this many rows of each kind; below 1 the default, 1000
	// DryRun deletes nothing and counts all rows that may be deleted, whatever Batch.
	// Definitions that only a process to be deleted declares count as kept.
	DryRun bool
}

// BatchSize returns the number of rows of each kind that the purge may delete at once.
func (p HistoryPurge) BatchSize() int { return fullBatch(p.Batch) }

// ProcessRetention is how long after its last heartbeat a killed process is kept. A
// process that was suspended for longer declares itself again.
const ProcessRetention = 24 * time.Hour

// PurgedHistory counts what a HistoryPurge deleted.
type PurgedHistory struct {
	Audit     int
	Events    int
	Incidents int
	Processes int
	// VersionEntries counts the rows that say which definitions belong to a version. They
	// are deleted when no process declares the version.
	VersionEntries int
	Definitions    int
	More           bool // a full batch of some kind was deleted: ask again
}

// Total returns the number of deleted rows of all kinds.
func (p PurgedHistory) Total() int {
	return p.Audit + p.Events + p.Incidents + p.Processes + p.VersionEntries + p.Definitions
}

// Full reports whether a full batch of any kind was deleted.
func (p PurgedHistory) Full(batch int) bool {
	return max(p.Audit, p.Events, p.Incidents, p.Processes, p.VersionEntries, p.Definitions) >= batch
}
