package ledger

import (
	"context"
	"errors"
	"time"
)

// Store is a ledger: every operation of executors and operators. A consumer declares what it
// uses as an interface of its own, and embeds the parts below of which it uses all. The rules
// of an operation are in the comment of the type that it takes or returns.
//
// Every operation may return ErrUnavailable. It may then have been applied or not, and is
// safe to repeat with the same arguments. Every operation with an Actor returns
// ErrInvalidActor if the Actor is invalid, and ErrRepeated if the request was made before.
// A Store is safe for concurrent use, and copies what it keeps of a slice.
type Store interface {
	ProcessStore
	RunStore
	ScheduleStore
	MemberStore
	PauseStore
	ActionStore
	IncidentStore
	RunReader
	ProgressReader
	JobReader
	HourReader
	AuditReader
	UpkeepStore

	Ping(context.Context) error // whether the store answers
	Close() error               // ends what is in progress; no operation may follow
}

// ProcessStore is the part of a Store by which a process takes part: what it declares, that it is
// alive, and which jobs it is to plan.
type ProcessStore interface {
	Declare(context.Context, Declaration) error                                      // or ErrOtherRegistry
	Heartbeat(ctx context.Context, process string) (HeartbeatReply, error)           // or ErrNotFound
	Deregister(ctx context.Context, process string) error                            // on graceful shutdown
	Assignments(ctx context.Context, version, after string) ([]JobAssignment, error) // by job ID
}

// RunStore is the part of a Store that has the runs, as executors make them and work on them.
type RunStore interface {
	Admit(context.Context, Admission) (Admitted, error)              // or ErrInvalidRun
	Enter(context.Context, Entry) (Entered, error)                   // or ErrInvalidRun, ErrPurged, ErrCannotRerun
	Claim(context.Context, ClaimRequest) (Claimed, error)            // oldest first
	LeasedWork(ctx context.Context, token string) ([]Work, error)    // after a reply was lost, oldest ScheduledAt first
	Extend(context.Context, []Lease, time.Duration) ([]Lease, error) // to now + duration; returns the lost leases
	Record(context.Context, []Outcome) ([]RecordResult, error)       // one result for each, in order
}

// ScheduleStore is the part of a Store that has the schedules made at run time.
type ScheduleStore interface {
	ChangeSchedules(context.Context, ChangeSchedulesRequest) ([]ScheduleResult, error) // one for each item, in order; or ErrInvalidSchedule
	PlanSchedules(context.Context, SchedulePlanning) (PlannedSchedules, error)
	SweepSchedules(context.Context, ScheduleSweep) (next int64, err error)
	Schedule(ctx context.Context, jobID string) (Schedule, error) // or ErrNotFound; a deleted one with it
	Schedules(context.Context, ScheduleFilter) ([]Schedule, error)
	Templates(context.Context) ([]TemplateCount, error) // by name
}

// MemberStore is the part of a Store that has the members of runs.
type MemberStore interface {
	FreezeMembers(context.Context, Freeze) (RecordResult, error) // or ErrInvalidRun
	ReleaseMembers(context.Context, ReleaseRequest) (Released, error)
	Members(context.Context, MemberFilter) (MemberPage, error)
	MemberCounts(ctx context.Context, parents []string) (map[string]map[State]int, error)
}

// PauseStore is the part of a Store that has the pauses of jobs and the holds of targets.
type PauseStore interface {
	PauseJob(ctx context.Context, jobID string, who Actor) error  // or ErrNotFound
	ResumeJob(ctx context.Context, jobID string, who Actor) error // or ErrNotFound
	Pauses(ctx context.Context, ended bool) ([]Pause, error)      // by ID
	ChangePause(context.Context, PauseChange) (Pause, error)      // or ErrNotFound, ErrPauseEnded, ErrInvalidPause
	ClosePauses(context.Context) (int, error)                     // notes the ends of those that are over
}

// ActionStore is the part of a Store that has the actions of operators on runs and incidents.
type ActionStore interface {
	Cancel(context.Context, Action) (ActionResult, error)
	Redrive(context.Context, Action) (ActionResult, error)
	Ack(context.Context, Action) (ActionResult, error)
	Backfill(context.Context, BackfillRequest) (Backfilled, error) // or ErrNotFound, ErrInvalidRun
	AckIncident(context.Context, IncidentAction) (Incident, error) // or ErrNotFound
}

// IncidentStore is the part of a Store that has the incidents and their notifications.
type IncidentStore interface {
	Incidents(context.Context, IncidentFilter) ([]Incident, error)
	ReconcileIncidents(context.Context, IncidentCause, []JobProblem) error
	MarkLate(ctx context.Context, limit int) (checked int, err error)
	Notify(context.Context, Notification) (written bool, err error) // or ErrInvalidRun
}

// RunReader is the part of a Store that lists runs.
type RunReader interface {
	Get(ctx context.Context, runID string) (Run, []Attempt, error) // attempts by number; or ErrNotFound
	List(context.Context, Filter) ([]Run, error)
	Groups(context.Context, Filter) ([]RunGroup, error)
	Recent(ctx context.Context, jobIDs []string, n int) (map[string][]RunSummary, error)
	Ranges(ctx context.Context, jobID string, first, last time.Time) ([]RunSummary, error)
	Counts(context.Context) (Counts, error)
}

// ProgressReader is the part of a Store that tells how runs go on.
type ProgressReader interface {
	LastAttempts(ctx context.Context, runIDs []string) (map[string]Attempt, error)
	Changes(ctx context.Context, after string) (Changes, error)
	Waiting(ctx context.Context, runIDs []string) (map[string]WaitReason, error)
	Slowdowns(context.Context) (map[string]float64, error) // by job, as RollUp has counted them
}

// JobReader is the part of a Store that lists jobs, and what happened to them.
type JobReader interface {
	Jobs(ctx context.Context, jobIDs ...string) ([]JobStatus, error)
	JobBodies(ctx context.Context, jobIDs ...string) (map[string][]byte, error)
	JobStates(context.Context) ([]JobState, error)
	Events(ctx context.Context, jobID string, limit int) ([]Event, error)
	Definitions(ctx context.Context, jobID string, limit int) ([]DeclaredDefinition, error)
}

// HourReader is the part of a Store that counts the runs of past hours.
type HourReader interface {
	Hours(ctx context.Context, jobID string, since, until time.Time) ([]Hour, error) // jobID "": of all jobs
	SumHours(ctx context.Context, jobIDs []string, since, until time.Time) ([]Hour, error)
	CountedFrom(context.Context) (time.Time, error)
}

// AuditReader is the part of a Store that lists processes and the actions of operators.
type AuditReader interface {
	Processes(context.Context) ([]Process, error) // by ID
	Audit(context.Context, AuditFilter) ([]Audit, error)
	FindAnswer(context.Context, Request) (answer []byte, found bool, err error)
}

// UpkeepStore is the part of a Store that counts past hours and deletes old rows, in batches.
type UpkeepStore interface {
	RollUp(context.Context) (more bool, err error) // counts for an HourReader
	PurgeRuns(context.Context, Purge) (Purged, error)
	PurgeHistory(context.Context, HistoryPurge) (PurgedHistory, error)
}

var (
	// ErrNotFound is returned for a run, job, incident or process that the store
	// does not have.
	ErrNotFound = errors.New("not found")
	// ErrUnavailable reports that the store cannot be reached or is shutting down.
	// The statement may or may not have been applied; it is safe to repeat it.
	ErrUnavailable = errors.New("ledger unavailable")
	// ErrOtherRegistry reports that the ledger belongs to a registry of another name.
	ErrOtherRegistry = errors.New("the ledger belongs to another registry")
	// ErrPurged reports that a scheduled time is at or before its job's PurgedThrough.
	// Whether it ran is no longer known, so only a run with ~ can be entered.
	ErrPurged = errors.New("the scheduled time was purged from the ledger")
	// ErrInvalidRun reports a mistake of the caller: for example, a run's ID does not
	// match its time, or the time has a fraction of a second. Nothing was written.
	ErrInvalidRun = errors.New("invalid run")
	// ErrCannotRerun reports that the run that an Entry repeats is not finished, was
	// rerun already, or is gone. Nothing was written.
	ErrCannotRerun = errors.New("the run was rerun already, is not finished, or is gone: look at it again")
	// ErrSchema reports that the store's tables are not of this program's version.
	ErrSchema = errors.New("the ledger's schema is not up to date")
)
