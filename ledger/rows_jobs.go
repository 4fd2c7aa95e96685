package ledger

// JobTable is the part of a Tx that has the jobs of the registry, with their slots.
type JobTable interface {
	// JobsAfter returns jobs by ID, without their bodies and without a lock: the first ones after
	// an ID, up to limit. Assignments and listings of all jobs page so.
	JobsAfter(after string, limit int) Future[[]JobRow]
	// JobBodies returns the definitions of the current revisions of jobs, by job. They are large,
	// so that no other method reads them.
	JobBodies(ids []string) Future[map[string][]byte]
	// LockJobs locks the jobs that exist, and returns them by ID, without their bodies. It is the
	// lock of a job's watermark, slot and places: a transaction that plans, enters, backfills or
	// purges runs of a job has it.
	LockJobs(ids []string) Future[[]JobRow]
	// Jobs returns the jobs that exist, by ID, without their bodies and without a lock.
	Jobs(ids []string) Future[[]JobRow]
	// Slots returns the slots of jobs, which the transaction has locked, by job: who has each, and
	// who is to get it next. It leaves out slots that no run has and no run waits for, and runs
	// with a Pace. A listing reads it without a lock.
	Slots(jobIDs []string) Future[[]Slot]
	// Paced returns runs that wait for a place of a job, which the transaction has locked, and
	// whose Pace is greater than the number of places taken: the oldest first, by Pace, then
	// those newest first; up to MaxParallel of each kind.
	Paced(jobID string) Future[[]PacedRun]
	// WaitingJobs returns the jobs for which runs wait, by ID: the first ones after a job ID, up to
	// limit. WaitingOf returns those of the jobs. A claim scans them for free slots, without a
	// lock.
	WaitingJobs(after string, limit int) Future[[]WaitingJob]
	WaitingOf(jobIDs []string) Future[[]WaitingJob]
	// PutJobs writes changes of jobs that the transaction has locked, or new jobs. A new
	// one that another transaction has inserted meanwhile stays as it is.
	PutJobs([]JobChange) error
}
