package ledger

import "time"

// Purge asks for one bounded batch of finished runs, and their attempts, to be
// deleted, oldest ScheduledAt first: that is the order in which they are
// stored, and all but a few have finished in it. Kept are:
//
//   - a run that finished within its retention, however long ago it was
//     scheduled;
//   - a run that finished before its time (canceled), until its time too is
//     past retention;
//   - every unfinished run;
//   - a dead run that nobody has acknowledged, until DeadRetention;
//   - a run at an instant after its job's watermark while the job has an epoch
//     (an event came before the plan): its row is what keeps the plan from
//     running it again.
//
// In the same transaction the jobs' PurgedBefore rises to the newest instant
// deleted; it is never lowered, and ~ runs do not raise it. Watermarks stay.
type Purge struct {
	Retention     time.Duration // since FinishedAt
	DeadRetention time.Duration // since FinishedAt, of dead runs nobody has acknowledged
	Batch         int           // at most this many runs; below 1 the default, 1000
	// From continues after an earlier batch: its Reached. Runs scheduled
	// before it are not looked at. Zero: from the beginning.
	From time.Time
	// DryRun deletes nothing and counts all that are past retention,
	// whatever Batch.
	DryRun bool
}

// Purged is what became of a Purge.
type Purged struct {
	Runs    int       // deleted, a range row counted as one
	Reached time.Time // ScheduledAt of the newest found past its retention; zero when none was
	// More: a full batch was found, so ask again, From Reached. Runs may be fewer
	// all the same: what is revived before it is deleted stays.
	More bool
}
