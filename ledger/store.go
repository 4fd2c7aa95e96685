package ledger

import (
	"context"
	"time"
)

// Store is a ledger: every operation of executors and operators. Each type of
// this package states the rules of the method that takes it, and package
// ledgertest is the contract as a test suite. A consumer declares the part that
// it uses as an interface of its own.
//
// Every method may return ErrUnavailable. It may then have been applied or not,
// and is safe to repeat with the same arguments.
type Store interface {
	// Declare registers the process and its definitions and counts as its
	// first heartbeat. The ledger belongs to the first registry that declares
	// itself to it: ErrOtherRegistry for any other name.
	Declare(context.Context, Declaration) error
	// Heartbeat is the process's heartbeat, due well within ProcessTTL.
	// ErrNotFound: the store forgot the process; declare again.
	Heartbeat(ctx context.Context, process string) (HeartbeatReply, error)
	// Retire removes the process from the living ones on graceful shutdown.
	Retire(ctx context.Context, process string) error
	// Assignments lists every job that has not ended or that a living process
	// declares. A job that was never seen before, and whose desired definition the
	// version holds, begins: revision 1, watermark now.
	Assignments(ctx context.Context, version string) ([]JobAssignment, error)

	Admit(context.Context, Admission) (Admitted, error)
	Enter(context.Context, Entry) (Entered, error)
	Claim(context.Context, Claim) (Claimed, error)
	// Recall returns the work that is leased under a token: what an Admit,
	// Enter or Claim whose answer was lost had leased.
	Recall(ctx context.Context, token string) ([]Work, error)
	// Extend moves the ends of the leases to now + d and returns those that
	// are no longer held.
	Extend(ctx context.Context, leases []Lease, d time.Duration) (lost []Lease, err error)
	// Record writes the outcomes, each fenced by its lease's token, and
	// returns one result for each, in order. Repeating a record that was
	// applied returns Recorded again. The slice belongs to the caller: a store
	// copies what it keeps.
	Record(context.Context, []Outcome) ([]RecordResult, error)

	// Report keeps what a target says of an accepted run outside of an answer.
	Report(context.Context, Report) (Run, error)

	// Get returns one row by its id, a range row by its own, and the run's
	// attempts by number. ErrNotFound for an id that has no row.
	Get(ctx context.Context, runID string) (Run, []Attempt, error)
	// List returns a page of runs, newest ScheduledAt first, equal times by
	// id descending in byte order.
	List(context.Context, Filter) ([]Run, error)
	// Changes returns what changed after a position, "" for the present one: that
	// has no runs. Its cost is bounded by MaxChanges, whatever the ledger's size.
	Changes(ctx context.Context, after string) (Changes, error)
	// Waiting returns why runs are not being sent, by ID, for those of the IDs
	// that are planned or retrying.
	Waiting(ctx context.Context, ids []string) (map[string]WaitReason, error)
	// Jobs lists every job that the ledger has a row of, ended ones too, by
	// id; with ids, only those of them.
	Jobs(ctx context.Context, ids ...string) ([]JobStatus, error)
	// JobStates lists the jobs that Jobs lists, in that order. It costs a small part
	// of Jobs: nearly always it reads one row of each job.
	JobStates(ctx context.Context) ([]JobState, error)
	// Definitions lists what was declared of a job and is still kept, the latest
	// first declared first; a limit below 1 means 100.
	Definitions(ctx context.Context, jobID string, limit int) ([]Declared, error)
	// Events lists a job's events, the newest recorded first; a limit
	// below 1 means 100. A job without any, known or not, has an empty list.
	Events(ctx context.Context, jobID string, limit int) ([]Event, error)

	// Pause makes the job's scheduled times from now on skipped (paused). What was
	// admitted before continues. Pausing a paused job changes nothing: it keeps
	// the first who and why, and nothing is recorded. The pause outlives edits, removal and
	// re-adding of the job. ErrNotFound for an unknown job.
	Pause(ctx context.Context, jobID string, who Actor) error
	// Resume ends a pause; a job that is not paused stays as it is.
	// ErrNotFound for an unknown job.
	Resume(ctx context.Context, jobID string, who Actor) error
	Cancel(context.Context, Act) (Acted, error)
	Redrive(context.Context, Act) (Acted, error)
	Ack(context.Context, Act) (Acted, error)
	// Backfill: ErrNotFound for an unknown job.
	Backfill(context.Context, Backfill) (Backfilled, error)
	// Audit returns a page of the acts of operators, newest first.
	Audit(context.Context, AuditFilter) ([]Audit, error)

	// Incidents returns a page of incidents, newest first; the due ones oldest
	// DueAt first.
	Incidents(context.Context, IncidentFilter) ([]Incident, error)
	// AckIncident: ErrNotFound for an unknown incident.
	AckIncident(context.Context, IncidentAct) (Incident, error)
	// Observe opens an incident of this cause for each trouble whose job has none
	// open, and closes the open ones of the cause whose job has no trouble any
	// more. An open one that still has its trouble stays as it is.
	Observe(context.Context, IncidentCause, []Trouble) error
	// MarkLate looks at up to limit unfinished runs whose time has come (see
	// RunSpec.LateAt and Run.Late), opens the incidents of those that are late, and
	// returns how many it looked at. It looks at each run once for each bound.
	MarkLate(ctx context.Context, limit int) (int, error)
	// Tell reports whether the Telling was done.
	Tell(context.Context, Telling) (bool, error)

	PurgeRuns(context.Context, Purge) (Purged, error)
	PurgeHistory(context.Context, HistoryPurge) (PurgedHistory, error)

	Counts(context.Context) (Counts, error)
	// Recent returns the newest rows of each of the jobs, at most n of each,
	// newest first, without ~ runs. It looks back over a job's newest
	// OutcomeWindow rows.
	Recent(ctx context.Context, jobIDs []string, n int) (map[string][]Cell, error)
	// Days counts a job's rows scheduled in [since, until), without ~ runs. Its
	// cost grows with the job's rows in the interval.
	Days(ctx context.Context, jobID string, since, until time.Time) (Days, error)
	// Timings is about all runs scheduled in [since, until), ~ runs too. Its cost
	// grows with the rows in the interval.
	Timings(ctx context.Context, since, until time.Time) (Timings, error)
	// Processes lists the processes that the ledger knows, by id: see
	// ProcessRetention.
	Processes(context.Context) ([]Process, error)
	Ping(context.Context) error
	Close() error
}
