// Package ledgertest is the executable contract of a ledger: whatever passes
// Run can stand behind the executor and the operators' commands.
//
// Each case is named after the rule that it defends; the rules themselves
// stand in package ledger, beside the type that they concern.
package ledgertest

import (
	"context"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Store is all that a ledger can do: what the executor consumes and what the
// operators' commands consume. Each of them declares its own, smaller
// interface; this is their union, for the suite.
//
// Every method may return ledger.ErrUnavailable, and is safe to repeat with
// the same arguments after it.
type Store interface {
	Declare(context.Context, ledger.Declaration) error
	Beat(ctx context.Context, process string) (ledger.Pulse, error)
	Retire(ctx context.Context, process string) error
	Standings(ctx context.Context, version string) ([]ledger.Standing, error)

	Admit(context.Context, ledger.Admission) (ledger.Admitted, error)
	Enter(context.Context, ledger.Entry) (ledger.Entered, error)
	Claim(context.Context, ledger.Claim) (ledger.Claimed, error)
	Recall(ctx context.Context, token string) ([]ledger.Work, error)
	Extend(ctx context.Context, leases []ledger.Lease, d time.Duration) (lost []ledger.Lease, err error)
	Record(context.Context, []ledger.Outcome) ([]ledger.Fate, error)

	// Get returns one row by its id, a range row by its own, and the run's
	// attempts by number. ledger.ErrNotFound for an id that has no row.
	Get(ctx context.Context, runID string) (ledger.Run, []ledger.Attempt, error)
	// List returns a page of runs, newest ScheduledAt first, equal times by
	// id descending in byte order.
	List(context.Context, ledger.Filter) ([]ledger.Run, error)
	// Waiting says why runs are not being sent: of those of the ids that are
	// planned or retrying, by id.
	Waiting(ctx context.Context, ids []string) (map[string]ledger.WaitReason, error)
	// Jobs lists every job that the ledger has a row of, ended ones too, by
	// id.
	Jobs(context.Context) ([]ledger.JobStatus, error)
	// Events lists a job's events, the newest recorded first; a limit
	// below 1 means 100. A job without any, known or not, has an empty list.
	Events(ctx context.Context, jobID string, limit int) ([]ledger.Event, error)

	// Pause makes the job's instants from now on skipped (paused). What was
	// admitted before goes on. A paused job stays as it is: the first who and
	// why stand, and nothing is recorded. The pause outlives edits, removal and
	// re-adding of the job. ledger.ErrNotFound for an unknown job.
	Pause(ctx context.Context, jobID string, who ledger.Actor) error
	// Resume ends a pause; a job that is not paused stays as it is.
	// ledger.ErrNotFound for an unknown job.
	Resume(ctx context.Context, jobID string, who ledger.Actor) error
	Cancel(context.Context, ledger.Act) (ledger.Acted, error)
	Redrive(context.Context, ledger.Act) (ledger.Acted, error)
	Ack(context.Context, ledger.Act) (ledger.Acted, error)
	// Backfill: ledger.ErrNotFound for an unknown job.
	Backfill(context.Context, ledger.Backfill) (ledger.Backfilled, error)
	// Audit returns a page of the acts of operators, newest first.
	Audit(context.Context, ledger.AuditFilter) ([]ledger.Audit, error)
	PurgeRuns(context.Context, ledger.Purge) (ledger.Purged, error)
	PurgeHistory(context.Context, ledger.HistoryPurge) (ledger.PurgedHistory, error)

	Counts(context.Context) (ledger.Counts, error)
	Ping(context.Context) error
	Close() error
}
