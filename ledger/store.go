package ledger

import (
	"context"
	"time"
)

// Store is a ledger: every operation of executors and operators. The rules of a
// method are in the comment of the type that it takes. Package ledgertest is the
// contract as a test suite. A consumer declares the part that it uses as an
// interface of its own.
//
// Every method that takes an Actor returns ErrInvalidActor if the Actor is invalid.
//
// Every method may return ErrUnavailable. It may then have been applied or not, and
// is safe to repeat with the same arguments. A Store is safe for concurrent use.
type Store interface {
	// Declare registers the process and its definitions, and counts as its first
	// heartbeat. The ledger belongs to the first registry that declares itself.
	// Declare returns ErrOtherRegistry for a registry of another name.
	Declare(context.Context, Declaration) error
	// Heartbeat renews the process's heartbeat. Call it well within ProcessTTL. It
	// returns ErrNotFound if the store forgot the process: declare it again.
	Heartbeat(ctx context.Context, process string) (HeartbeatReply, error)
	// Deregister deletes the process's heartbeat on graceful shutdown.
	Deregister(ctx context.Context, process string) error
	// Assignments lists every job that has not ended or that a live process
	// declares. A job that was never seen before, and whose desired definition the
	// version holds, begins: revision 1, watermark now.
	Assignments(ctx context.Context, version string) ([]JobAssignment, error)

	// Admit writes the plans of an Admission, and leases the runs that it marks. It
	// returns ErrInvalidRun if a plan is invalid; nothing is then written.
	Admit(context.Context, Admission) (Admitted, error)
	// Enter writes one run from outside the planner, and leases it if asked to. It
	// returns ErrInvalidRun, ErrPurged or ErrCannotRerun.
	Enter(context.Context, Entry) (Entered, error)
	// Claim leases runs that are due, oldest first.
	Claim(context.Context, Claim) (Claimed, error)
	// LeasedWork returns the work that is leased under a token, oldest ScheduledAt
	// first. After the reply of an Admit, Enter or Claim was lost, it tells what
	// that call had leased.
	LeasedWork(ctx context.Context, token string) ([]Work, error)
	// Extend moves the ends of the leases to now + d, and returns the leases that
	// are no longer held.
	Extend(ctx context.Context, leases []Lease, d time.Duration) (lost []Lease, err error)
	// Record writes the outcomes, each fenced by its lease's token, and
	// returns one result for each, in order. Repeating a record that was
	// applied returns Recorded again. The slice belongs to the caller: a store
	// copies what it keeps.
	Record(context.Context, []Outcome) ([]RecordResult, error)

	// Report stores what a target reports of a run outside of an answer. It returns
	// ErrNotFound or ErrFinished.
	Report(context.Context, Report) (Run, error)

	// Get returns one row by its ID, and the run's attempts by number. It returns
	// ErrNotFound for an ID that has no row.
	Get(ctx context.Context, runID string) (Run, []Attempt, error)
	// List returns a page of runs, newest ScheduledAt first, equal times by ID
	// descending in byte order. Its runs are without the body of their call, as are
	// those of Changes, Jobs, Cancel, Redrive and Ack. Get returns the body.
	List(context.Context, Filter) ([]Run, error)
	// Changes returns the runs that changed after a position; "" returns no runs and
	// the present position. Its cost is bounded by MaxChanges, whatever the ledger's
	// size.
	Changes(ctx context.Context, after string) (Changes, error)
	// Waiting returns why runs are not being sent, by ID, for those of the IDs
	// that are planned or retrying.
	Waiting(ctx context.Context, ids []string) (map[string]WaitReason, error)
	// Jobs lists every job that the ledger has a row of, ended ones too, by ID. With
	// IDs, it lists only those jobs.
	Jobs(ctx context.Context, ids ...string) ([]JobStatus, error)
	// JobStates lists the jobs that Jobs lists, in that order. It costs a small part
	// of Jobs: nearly always it reads one row of each job.
	JobStates(ctx context.Context) ([]JobState, error)
	// Definitions lists the definitions of a job that are still kept, the one with
	// the latest first declaration first. A limit below 1 means 100.
	Definitions(ctx context.Context, jobID string, limit int) ([]DeclaredDefinition, error)
	// Events lists a job's events, the newest recorded first. A limit below 1 means
	// 100. The list is empty for an unknown job.
	Events(ctx context.Context, jobID string, limit int) ([]Event, error)

	// Pause pauses a job. All its scheduled times until Resume are skipped with the reason
	// paused. Runs that were admitted before continue. Pausing a paused job changes nothing. The pause
	// outlives edits, removal and re-adding of the job. Pause returns ErrNotFound for
	// an unknown job.
	Pause(ctx context.Context, jobID string, who Actor) error
	// Resume ends a pause. A job that is not paused stays as it is. Resume returns
	// ErrNotFound for an unknown job.
	Resume(ctx context.Context, jobID string, who Actor) error
	// Cancel moves unfinished runs to canceled.
	Cancel(context.Context, Action) (ActionResult, error)
	// Redrive makes dead runs due again, under their own keys.
	Redrive(context.Context, Action) (ActionResult, error)
	// Ack records that an operator has seen dead runs.
	Ack(context.Context, Action) (ActionResult, error)
	// Backfill makes scheduled times that did not run planned. It returns ErrNotFound
	// for an unknown job, and ErrInvalidRun.
	Backfill(context.Context, Backfill) (Backfilled, error)
	// Audit returns a page of the actions of operators, newest first.
	Audit(context.Context, AuditFilter) ([]Audit, error)

	// Incidents returns a page of incidents, newest first. If only due incidents are
	// selected, it has the oldest DueAt first.
	Incidents(context.Context, IncidentFilter) ([]Incident, error)
	// AckIncident acknowledges or closes an incident. It returns ErrNotFound for an
	// unknown incident.
	AckIncident(context.Context, IncidentAction) (Incident, error)
	// ReconcileIncidents makes the open incidents of one cause match the current
	// problems: all jobs that have a problem of this cause. It opens an incident for
	// each such job that has none open. It closes the open incidents of all other
	// jobs. An open incident whose problem lasts stays as it is.
	ReconcileIncidents(context.Context, IncidentCause, []JobProblem) error
	// MarkLate opens the incidents of late runs. It checks up to limit runs of which a
	// bound (Call.StartWithin, Call.FinishWithin) has passed, and returns how many it
	// checked. It checks each run once for each bound. If the result is limit, there may
	// be more: call it again. With a limit below 1 it does nothing.
	MarkLate(ctx context.Context, limit int) (int, error)
	// Notify writes a Notification, and reports whether it was written. It returns
	// ErrInvalidRun.
	Notify(context.Context, Notification) (bool, error)

	// PurgeRuns deletes a batch of finished runs past their retention.
	PurgeRuns(context.Context, Purge) (Purged, error)
	// PurgeHistory deletes a batch of old rows that are not runs.
	PurgeHistory(context.Context, HistoryPurge) (PurgedHistory, error)

	// Counts counts the unfinished runs, the unacknowledged dead runs and the open
	// incidents.
	Counts(context.Context) (Counts, error)
	// Recent returns the newest rows of each of the jobs, at most n of each,
	// newest first, without ~ runs. It looks back over a job's newest
	// OutcomeWindow rows.
	Recent(ctx context.Context, jobIDs []string, n int) (map[string][]RunSummary, error)
	// Days counts a job's rows scheduled in [since, until), without ~ runs. Its
	// cost grows with the job's rows in the interval.
	Days(ctx context.Context, jobID string, since, until time.Time) (Days, error)
	// Timings returns how the runs scheduled in [since, until) went, ~ runs too. Its
	// cost grows with the rows in the interval.
	Timings(ctx context.Context, since, until time.Time) (Timings, error)
	// Processes lists the processes that the ledger knows, by ID. See
	// ProcessRetention.
	Processes(context.Context) ([]Process, error)
	// Ping returns ErrUnavailable if the store does not answer.
	Ping(context.Context) error
	// Close ends what the store has in progress and releases its resources. No other
	// method may be called afterwards.
	Close() error
}
