package ledger

import (
	"errors"
	"time"
)

var (
	// ErrNotFound: no such run or job.
	ErrNotFound = errors.New("not found")
	// ErrUnavailable: the store cannot be reached or is shutting down; the
	// statement may or may not have been applied, and may be tried again.
	ErrUnavailable = errors.New("ledger unavailable")
	// ErrOtherRegistry: the ledger belongs to a registry of another name.
	ErrOtherRegistry = errors.New("the ledger belongs to another registry")
	// ErrSchema: the store's tables are not of this program's version.
	ErrSchema = errors.New("the ledger's schema is not up to date")
)

// Filter selects runs. Zero fields select all.
type Filter struct {
	IDs    []string
	JobID  string
	States []State
	Reason Reason
	Since  time.Time // ScheduledAt at or after
	Until  time.Time // ScheduledAt before
	// Unacked selects only runs that nobody has acknowledged.
	Unacked bool
	Limit   int // default 100; newest ScheduledAt first
	// Before continues a listing after its last row (keyset, never an
	// offset).
	Before *Cursor
}

// Cursor is the last row of a page.
type Cursor struct {
	ScheduledAt time.Time
	ID          string
}

// JobStatus is one job's row, for listings.
type JobStatus struct {
	Position
	Ended     bool
	PausedAt  time.Time // zero: not paused
	PausedBy  string
	PausedWhy string
	// PurgedBefore: no door admits an instant at or before it, except as ~
	// work.
	PurgedBefore time.Time
	LastRun      *Run // the newest by ScheduledAt that is not a range; nil when none
}

// Act is an operator's doing: who and why are required of the caller and kept
// in the row.
type Act struct {
	Filter
	By, Why string
	// Force lets a redrive start beside another unfinished run of the job.
	Force bool
}

// Acted is what became of each selected run.
type Acted struct {
	Changed []Run
	Refused []Rejection
}

// Rejection is a run that an Act left as it was, and why, in words for the
// operator.
type Rejection struct {
	RunID string
	Why   string
}

// Backfill asks for the instants of a job that did not run to be run.
type Backfill struct {
	JobID string
	// Instants are the job's instants in the wanted span, oldest first, with
	// their calls. Those whose row is missed, superseded, skipped or
	// canceled (or stands in a range row, which is split) become planned and
	// queued; those that have any other row are left; those that have none,
	// or are at or before PurgedBefore, are refused.
	Instants []Instant
	By, Why  string
	DryRun   bool
}

// Backfilled counts what became of a Backfill's instants.
type Backfilled struct {
	Planned int
	Left    int // ran, or is about to
	Refused int // never planned, or purged
}

// Counts is the ledger's state for metrics, cheap at any size.
type Counts struct {
	Unfinished map[State]int // planned, running, retrying
	DeadUnseen int           // dead and not acknowledged
	OldestDue  time.Time     // NextAt of the oldest due, unstarted run; zero when none
}
