package ledger

import (
	"errors"
	"slices"
	"time"
)

var (
	// ErrNotFound: no such run or job.
	ErrNotFound = errors.New("not found")
	// ErrUnavailable: the store cannot be reached or is shutting down. The
	// statement may or may not have been applied; retrying it is safe.
	ErrUnavailable = errors.New("ledger unavailable")
	// ErrOtherRegistry: the ledger belongs to a registry of another name.
	ErrOtherRegistry = errors.New("the ledger belongs to another registry")
	// ErrPurged: the scheduled time is at or before its job's PurgedBefore. Whether
	// it ran is no longer known, so it cannot be entered; only a run with ~ can.
	ErrPurged = errors.New("the scheduled time was purged from the ledger")
	// ErrInvalidRun: a run's ID does not match its time, or the time has a
	// fraction of a second. Nothing was written; the caller is at fault.
	ErrInvalidRun = errors.New("invalid run")
	// ErrMayDouble: the run that an Entry repeats is not finished, was rerun
	// already, or is gone. Nothing was written.
	ErrMayDouble = errors.New("the run was rerun already, is not finished, or is gone: look at it again")
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
	// Unacked selects only unacknowledged runs (AckedAt zero).
	Unacked bool
	// NotRerun selects only runs that were not rerun (RerunID empty).
	NotRerun bool
	// Limit is a page's size, below 1 the default, 100; newest ScheduledAt
	// first, equal times by ID descending in byte order. An Act without
	// IDs changes up to Limit runs, the oldest that it does not refuse; below 1 all.
	Limit int
	// Before continues a listing after its last row (keyset, never an
	// offset).
	Before *Cursor
	// After selects only the runs that a listing shows before the cursor's row.
	After *Cursor
}

// Exception returns the one exceptional state that the filter selects, by state or
// by reason; "" if it selects several, or other states.
func (f Filter) Exception() State {
	state := f.Reason.State()
	if state == "" && len(f.States) == 1 {
		state = f.States[0]
	}
	if !slices.Contains(Exceptional, state) {
		return ""
	}
	return state
}

// Cursor is the last row of a page.
type Cursor struct {
	ScheduledAt time.Time
	ID          string
}

// JobStatus is one job's row, for listings.
type JobStatus struct {
	Position
	Ended bool
	// Body is the current revision's definition; nil when the job has ended.
	Body []byte
	// PausedAt, who and why of the pause that holds; zero: not paused.
	PausedAt  time.Time
	PausedBy  string
	PausedWhy string
	// PurgedBefore: no scheduled time at or before it is admitted or entered;
	// runs with ~ are.
	PurgedBefore time.Time
	LastRun      *Run // the newest by ScheduledAt that is not a range; nil when none
	SlotRun      *Run // the unfinished run that has the job's slot; nil when it is free

	// The results of the job's runs, from its newest OutcomeWindow rows, ranges not
	// counted.
	LastOutcome  *Run      // the newest run that is succeeded or dead; nil when none
	FailingSince time.Time // where that is dead: the first dead run after the last success; else zero
	DeadUnseen   int       // all of its unacknowledged dead runs
}

// JobState is the part of a job's row that a list of very many jobs needs. Its
// fields mean what they mean in a JobStatus.
type JobState struct {
	JobID     string
	Ended     bool
	Watermark time.Time
	PausedAt  time.Time
	Failing   bool // FailingSince is set
}

// OutcomeWindow bounds how many rows of a job are read for its last outcome and
// for how long it has been failing.
const OutcomeWindow = 1000

// Act is an operator's action on runs. The audit keeps who acted, why and by which
// interface; the run's row keeps who and why of the last action. With IDs, each ID
// that does not exist or cannot be acted on is refused with a reason. Without IDs,
// only runs in a state that the action applies to are selected.
//
// An action takes the oldest ScheduledAt first, equal times by ID: those runs have
// the least time left before their keys may expire. With a Limit, repeating the
// action continues after the runs that it changed.
//
//   - Cancel: planned, running, retrying, accepted -> canceled (operator). The slot is
//     given back. A running run's attempt may have been sent: it stays counted
//     and is kept in the history as lost; its holder's record is refused.
//   - Redrive: dead -> retrying, due now, under its own key, SendBefore and attempt numbers, with Failures 0 and no reason,
//     FinishedAt, AckedAt or AcceptedAt. Without IDs it leaves out the runs that an operator
//     has settled: the acknowledged ones, unless IncludeAcknowledged, and those
//     that were rerun, unless MayDouble. A run that was rerun is refused
//     without MayDouble with IDs too. Refused from SendBefore on, Force or not.
//     Refused, unless forced, while a run of the job that this act did not
//     redrive is unfinished (waiting and ~ runs count). A run that had taken
//     the slot takes it again. If the slot is taken, the run waits for it, so
//     that the runs of one action start one after the other; forced, it starts
//     without the slot.
//   - Ack: dead, acknowledged now. Without IDs it leaves out those that are
//     acknowledged. A run that was acknowledged before keeps its first
//     time, who and why, and counts as changed.
type Act struct {
	Filter
	Actor
	// Force lets a redrive start even if another run of the job is unfinished.
	Force bool
	// IncludeAcknowledged: a redrive without IDs takes acknowledged runs too.
	IncludeAcknowledged bool
	// MayDouble: a redrive takes runs that were rerun too. The target may then
	// apply their work twice.
	MayDouble bool
	// Continues is the Request of a redrive by the same By of which this is a further
	// part: the runs of its other parts do not count as unfinished runs beside it.
	// The Request of a further part is PartOf(Continues, name).
	Continues string
	// DryRun changes nothing: Changed are the runs that would be changed, as
	// they are.
	DryRun bool
}

// PartOf returns the name of a request that continues another one.
func PartOf(request, name string) string { return request + "/" + name }

// Acted is the result of an Act for each selected run.
type Acted struct {
	Changed []Run // oldest ScheduledAt first
	// Refused are the selected runs that were refused; of an act with a Limit, those
	// before its last changed run.
	Refused []Rejection
	// LeftOut counts the runs that an act without IDs left out as settled:
	// Acknowledged, Rerun. They are not among the Refused, and no Limit counts
	// them; it counts all that the Filter selects.
	LeftOut map[Cause]int
}

// Backfill asks for the scheduled times of a job that did not run to be run.
type Backfill struct {
	JobID string
	// Scheduled times are the job's scheduled times in the wanted span, each once, oldest
	// first, with their calls. They come from the schedule of the job's current
	// revision: within a range row the store cannot tell a scheduled time from another
	// time.
	// Those whose row is missed, superseded, skipped or canceled become planned
	// (backfill), due now and queued: they wait for the slot, oldest first,
	// whatever RunSpec.Overlap says. Scheduled times that have any other row are
	// left; those that have none, or are at or before PurgedBefore, are
	// refused.
	//
	// A scheduled time that stands in a range row is taken out of it: it gets a row
	// of its own, the range's count falls by one, and the range row goes with
	// its last scheduled time. A range row's id, first and last scheduled time never
	// change; a scheduled time's own row always goes before the range it lies in.
	// Only a range row of the job's current revision (of an ended job, its last)
	// gives scheduled times: in one of an earlier revision, which another definition
	// planned, the time may never have been a scheduled time, and is refused. Rows
	// of their own are moved whatever their revision.
	//
	// A canceled run that was leased before keeps its call, SendBefore and
	// attempt numbers, and is refused from SendBefore on; any other takes the
	// call given here. Failures begin at 0 again, and it has not been accepted. A pause does not hold a
	// backfill back.
	//
	// A run that was rerun is refused: its work may have been done.
	Runs []RunSpec
	Actor
	DryRun bool
}

// Backfilled counts a Backfill's scheduled times by result.
type Backfilled struct {
	Planned int
	Left    int // ran, or is about to
	Refused int // never planned, purged, rerun, or in a range row of an earlier revision
}

// Counts is the ledger's state for metrics, cheap at any size.
type Counts struct {
	Unfinished map[State]int // planned, running, retrying, accepted
	DeadUnseen int           // dead and not acknowledged
	Incidents  int           // open
	// OldestDue is the NextAt of the oldest planned, retrying or accepted run that is
	// due; zero when none. A run that waits for the slot is not due.
	OldestDue time.Time
}
