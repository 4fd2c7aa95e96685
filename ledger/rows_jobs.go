package ledger

import "time"

// JobTable is the part of a Tx that has the jobs of the registry, with their slots.
type JobTable interface {
	// JobsAfter returns jobs by ID, without their bodies and without a lock: the first ones after
	// an ID, up to limit. Assignments and listings of all jobs page so.
	JobsAfter(after string, limit int) Future[[]JobRow]
	// JobBodies returns the definitions of the current revisions of jobs, by job. They are large,
	// so that no other method reads them.
	JobBodies(ids []string) Future[map[string][]byte]
	// LockJobs locks the jobs that exist, and returns them by ID, without their bodies. It is the
	// lock of a job's watermark, slot and places: whoever plans, enters, backfills or purges runs
	// of a job has it.
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

// ProcessTable is the part of a Tx that has the registry's name, the processes, and the
// definitions that they declare.
type ProcessTable interface {
	// BindRegistry stores the name of the registry that has the ledger, unless one is
	// stored, and returns the stored one.
	BindRegistry(name string) Future[string]
	// Processes returns all processes, by ID.
	Processes() Future[[]ProcessRow]
	// PutProcess writes a process, a new one or in place of the stored one.
	PutProcess(ProcessRow) error
	// SetHeartbeats writes the HeartbeatAt of those of the processes that exist. A heartbeat does
	// that for its own, and a step of the clock for those ahead of it.
	SetHeartbeats(ids []string, at time.Time) error
	// DeleteProcess deletes a process if it exists.
	DeleteProcess(id string) error
	// PutDefinitions adds definitions, by job ID, to a version. One that is new is the last
	// of its job: its Order is the greatest. The slice belongs to the caller.
	PutDefinitions(version string, list []Definition) error
	// Declared returns the definitions of a version, by job ID: the first ones after a job ID, up
	// to limit. Assignments compares those of all live versions.
	Declared(version, after string, limit int) Future[[]JobDefinition]
	// CountDefinitions counts the definitions of each version that a process declares.
	CountDefinitions() Future[map[string]int]
	// Bodies returns the bodies of those of the definitions that exist, one of each job, by job. A
	// revision that begins takes its body from there, whichever process begins it.
	Bodies([]Definition) Future[map[string][]byte]
	// LockAll keeps other transactions from writing runs, incidents and processes, so that a step
	// of the clock is followed once. It is the first call of its transaction.
	LockAll() error
}

// PauseTable is the part of a Tx that has the pauses of many jobs, and the holds of targets.
type PauseTable interface {
	// Pauses returns the pauses that have no EndedAt, and, if a time is not zero, those whose Until
	// is after it; by ID, and without a lock. There are few, so that every rule that admits or
	// leases reads them.
	Pauses(after time.Time) Future[[]Pause]
	// LockPause locks and returns a pause, or none. A rule that makes runs due at the end of a
	// pause has the lock: a change of the end then finds them all.
	LockPause(id int64) Future[[]Pause]
	// PutPause writes a pause that the transaction has locked, or a new one, whose ID is 0,
	// and returns its ID.
	PutPause(Pause) Future[int64]
}
