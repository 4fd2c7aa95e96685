package ledger

import (
	"errors"
	"time"
)

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

// Filter selects runs. Zero fields select all. Listed runs are without the body of their
// call, as are those of Changes, JobStatus and ActionResult; Get returns it.
type Filter struct {
	IDs    []string
	JobID  string
	JobIDs []string // of any of these jobs; empty: of all
	// WithSchedules says that JobIDs may have templates, which select all their schedules.
	WithSchedules bool
	States        []State
	Reason        Reason
	Since         time.Time // ScheduledAt at or after
	Until         time.Time // ScheduledAt before
	// Unacknowledged selects only unacknowledged runs (AckedAt zero).
	Unacknowledged bool
	// NotRerun selects only runs that were not rerun (RerunID empty).
	NotRerun bool
	// Parent selects only the members of a parent. Without it, and without IDs, no members
	// are selected, unless WithMembers is set.
	Parent      string
	WithMembers bool
	// Limit is the size of a page; below 1, it is 100. A page has the newest
	// ScheduledAt first, equal times by ID descending in byte order. An Action
	// without IDs changes up to Limit runs, the oldest that it does not reject;
	// below 1, all.
	Limit int
	// Before continues a listing after its last row (keyset, never an
	// offset).
	Before *Cursor
	// After selects only the runs that a listing shows before the cursor's row. AfterID does
	// so for the members of a Parent, all of which have its scheduled time.
	After   *Cursor
	AfterID string
}

// Cursor is the last row of a page.
type Cursor struct {
	ScheduledAt time.Time
	ID          string
}

// JobStatus is one job's row. Jobs lists those of the jobs that are asked for, by ID, or of
// every job that the ledger has a row of, ended ones too.
type JobStatus struct {
	Position
	Ended bool
	// PausedAt, who and why of the pause that holds; zero: not paused.
	PausedAt  time.Time
	PausedBy  string
	PausedWhy string
	// PurgedThrough is the latest scheduled time of which a run was purged. No scheduled
	// time at or before it is admitted or entered; runs with ~ are.
	PurgedThrough time.Time
	LastRun       *Run // the newest by ScheduledAt that is not a range; nil when none
	SlotRun       *Run // the unfinished run that has the job's slot; nil when it is free

	// The results of the job's runs, from its newest OutcomeWindow rows, ranges not
	// counted.
	LastOutcome        *Run      // the newest run that is succeeded or dead; nil when none
	FailingSince       time.Time // where that is dead: the first dead run after the last success; else zero
	FailingEarlier     bool      // FailingSince is a bound, as none of these rows is a success
	DeadUnacknowledged int       // all of its unacknowledged dead runs

	Incidents []Incident // its open ones, by ID
}

// JobState is the part of a job's row that a list of very many jobs needs. Its
// fields mean what they mean in a JobStatus. JobStates lists them by job ID, at a small part
// of the cost of Jobs: nearly always it reads one row of each job.
type JobState struct {
	JobID     string
	Ended     bool
	Watermark time.Time
	PausedAt  time.Time
	Failing   bool // FailingSince is set
}

// State is the part of a JobStatus that a list needs.
func (s JobStatus) State() JobState {
	return JobState{JobID: s.JobID, Ended: s.Ended, Watermark: s.Watermark, PausedAt: s.PausedAt, Failing: !s.FailingSince.IsZero()}
}

// OutcomeWindow bounds how many rows of a job are read for its last outcome and
// for how long it has been failing.
const OutcomeWindow = 1000

// Action is an operator's action on runs: a cancel, a redrive or an acknowledgement.
// The audit keeps who acted, why and by which interface. The run's row keeps who and
// why of the last action.
//
// With IDs, an ID that does not exist or that the action cannot be applied to is
// rejected with a reason. Without IDs, only runs in a state that the action applies to
// are selected.
//
// An action takes the oldest ScheduledAt first, equal times by ID: those runs have
// the least time left before their keys may expire. With a Limit, further requests of a
// series continue after the runs that it changed.
//
// Cancel moves unfinished runs to canceled (operator).
//
//   - The slot is given back.
//   - The attempt of a running run may have been sent. It stays counted and is kept in
//     the history as lost. The record of its holder is fenced.
//
// Redrive moves dead runs to retrying, due now.
//
//   - The run keeps its key and attempt numbers. SendBefore becomes now + Call.Horizon, at
//     most KeySafeUntil. Its Failures become 0. Its Reason, FinishedAt, AckedAt and AcceptedAt are cleared.
//   - Without IDs, acknowledged runs are left out unless IncludeAcknowledged is set, and
//     runs that were rerun unless MayDouble is set. With IDs, a run that was rerun is
//     rejected unless MayDouble is set.
//   - A run whose KeySafeUntil has passed is rejected, even with Force.
//   - Without Force, a run is rejected while the job has an unfinished run that neither
//     this action nor its series has redriven. Waiting runs and ~ runs count.
//   - A run that had the slot takes it again. If the slot is taken, the run waits for
//     it, so that the runs of one action start one after the other. With Force it
//     starts without the slot.
//
// Ack acknowledges dead runs.
//
//   - Without IDs, acknowledged runs are left out.
//   - A run that was acknowledged before keeps its first time, who and why, and counts
//     as changed.
type Action struct {
	Filter
	Actor
	// Force lets a redrive start even if another run of the job is unfinished.
	Force bool
	// IncludeAcknowledged lets a redrive without IDs take acknowledged runs too.
	IncludeAcknowledged bool
	// MayDouble lets a redrive take runs that were rerun too. The target may then
	// apply their work twice.
	MayDouble bool
	// DryRun changes nothing. Changed then has the runs that would be changed, as
	// they are.
	DryRun bool
}

// ActionResult is the result of an Action for each selected run.
type ActionResult struct {
	Changed []Run // oldest ScheduledAt first
	// Remaining counts the selected runs after the last changed one, if the Limit was
	// reached. The action may reject some of them.
	Remaining int
	// Rejected lists the selected runs that the action does not apply to. With a
	// Limit, it lists those before the last changed run.
	Rejected []Rejection
	// LeftOut counts the runs that an action without IDs left out, by cause:
	// RejectedAcknowledged or RejectedRerun. They are not in Rejected. All that the
	// Filter selects are counted, whatever its Limit, by the first request of a series.
	LeftOut map[RejectionCause]int
}

// Backfill asks for scheduled times of a job that did not run to be run. A pause of
// the job does not stop it.
//
// A scheduled time whose row is missed, superseded, skipped or canceled becomes planned
// (backfill), due now, whatever the revision of its row. It waits for the slot, oldest first, whatever RunSpec.Overlap
// says, or, with a Pace, for a place beside the slot. A scheduled time that has any other row is left as it is. One without a row, unless
// NeverPlanned is set, or at or before PurgedThrough, is refused. So is one whose run was rerun, as its work may
// have been done.
//
// A canceled run that was leased before keeps its call and attempt numbers, and SendBefore
// moves as with a redrive. It is refused if KeySafeUntil has passed. Any other run takes the call given here. Failures
// and AcceptedAt are cleared.
//
// A scheduled time in a range row gets a row of its own, and the range's Count falls by
// one. The range row is deleted with its last scheduled time; its ID, ScheduledAt and
// Until never change. Where a scheduled time has a row of its own, that row accounts for
// it, not the range that it lies in. A time in a range row of an earlier revision is
// refused, as another definition planned it and it may never have been a scheduled time.
type Backfill struct {
	JobID string
	// Runs are the job's scheduled times in the wanted span, each once, oldest first,
	// with their calls. They come from the schedule of the job's current revision, or
	// of an ended job its last.
	Runs []RunSpec
	Pace Pace
	// NeverPlanned takes scheduled times without a row too, up to the watermark: those from
	// before the job, or its schedule, existed.
	NeverPlanned bool
	Actor
	DryRun bool
}

// Backfilled counts a Backfill's scheduled times by result.
type Backfilled struct {
	Planned int
	Left    int // ran, or is about to
	Refused int // never planned, purged, rerun, or in a range row of an earlier revision
}

// Counts is the ledger's state for metrics. Its cost does not grow with the number of
// finished runs.
type Counts struct {
	Unfinished         map[State]int // by state; no members
	DeadUnacknowledged int           // dead and not acknowledged
	Incidents          int           // open
	// OldestDue is the NextAt of the oldest planned, retrying or accepted run that is
	// due; zero if none is. A run that waits for the slot is not due.
	OldestDue time.Time
	Now       time.Time // the store's clock
	// PlannedThrough is the latest watermark of a job that has not ended; zero if there is
	// none.
	PlannedThrough time.Time
}

// Ahead returns how far the ledger's latest plan is ahead of its clock. See AheadOfClock.
func (c Counts) Ahead() time.Duration { return AheadOfClock(c.PlannedThrough, c.Now) }
