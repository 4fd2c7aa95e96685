package ledger

import (
	"strings"
	"time"
)

// Overlap is the policy for a scheduled time that comes while an earlier run of
// its job is unfinished.
//
// Each job has one slot, which a store gives under the lock of the job's row. A
// run keeps the slot through leases and retries until it is succeeded, dead or
// canceled. The slot belongs to the job, not to a revision: an edit or a removal of
// the job does not change it.
//
// A run that waits for the slot is planned, or retrying if it was redriven. It cannot
// be leased, and its NextAt has no meaning. Admit, Enter and Claim first give a free
// slot to the oldest waiting run. Runs with ~ in their ID take no slot and wait for
// none, whatever their Overlap.
type Overlap string

const (
	// OverlapSkip takes the job's slot. The run becomes skipped (overlap) if the slot
	// is taken or other runs wait for it.
	OverlapSkip Overlap = "skip"
	// OverlapQueue takes the slot, or waits for it, oldest scheduled time first.
	OverlapQueue Overlap = "queue"
	// OverlapAllow takes no slot and waits for none.
	OverlapAllow Overlap = "allow"
)

// RunSpec is one row to write: a run, or a range of scheduled times that did not run. The planner
// makes it for a plan, and others for an Entry or a backfill.
type RunSpec struct {
	// RunID is the job's ID, "@" and ScheduledAt as 2006-01-02T15:04:05Z, then
	// nothing, "~" and a suffix, or "/" and Until. Stores find a job's runs and
	// their order by it.
	RunID       string
	ScheduledAt time.Time // in whole seconds; else ErrInvalidRun
	Until       time.Time // a range's last scheduled time, else zero
	Count       int       // 1, or how many scheduled times the range has
	State       State     // Planned, Missed or Superseded; Skipped in a schedule's last plan if its template is disabled
	Reason      Reason    // for the states other than Planned
	Trigger     Trigger
	Overlap     Overlap  // Planned only
	Call        CallSpec // Planned only
	Lease       bool     // Planned only: can start now, so lease it on admission
}

// IsAdHoc reports whether a run ID has a ~: a trigger, a rerun or an event of its
// own. Such a run is independent of the schedule: it accounts for no scheduled
// time, takes no slot, has revision 0 and does not raise PurgedThrough.
func IsAdHoc(runID string) bool {
	return strings.Contains(runID, "~")
}

// Plan has the rows of all scheduled times of one job in (After, Through]. It is made without a
// lock, from a position that the process remembers, and is admitted as a whole if the job is still
// there.
type Plan struct {
	JobID string
	Traits
	Revision int64
	After    time.Time // the watermark that the plan was made from
	Through  time.Time // the watermark after it
	// Runs are the rows to write, oldest first, all of them in (After, Through].
	Runs []RunSpec
	// Events are written with the rows: the local times that a time change skipped.
	Events []Event
	// Next, if set, ends the revision at Through. The next revision has this
	// definition and the watermark Through; with Next.Hash == "" the job was removed
	// and there is none. EventRevisionEnded and EventRevisionBegun are recorded, both
	// at Through.
	Next *Definition
}

// Admission is the request to write plans at once, at most one for each job. The store
// admits each plan as a whole or not at all:
//
//   - It locks the jobs' rows in the order of their IDs before it decides.
//   - It admits a plan only if the job has not ended, the job's revision and watermark
//     are those that the plan was made from, and Through is neither before After nor
//     after the store's clock. So no scheduled time is admitted twice, early, or for an
//     outgoing revision. A plan whose Through is After accounts for no time: it may
//     switch the revision of a job whose watermark is ahead of the clock.
//   - Rows that exist already, because a platform event came first, stay as they are and
//     are not leased. A range row counts only its scheduled times that have no row of
//     their own. It is not written if there are none.
//   - A planned run is due at its scheduled time: NextAt is ScheduledAt. Missed,
//     superseded and skipped rows are finished: FinishedAt is now.
//   - The watermark moves in the same transaction.
//   - The planned runs of a paused job become skipped (paused), as do those whose
//     scheduled time is in a Pause. One that catches up keeps them back until its end:
//     see Admitted.Deferred.
//   - The runs of a held target are not leased.
//   - The slot decides overlap: see Overlap.
//   - Runs marked Lease that can start are leased under Token.
type Admission struct {
	Plans    []Plan
	Process  string        // the process
	Token    string        // random, fresh for each admission
	LeaseFor time.Duration // length of the leases, from the store's clock; must be positive
}

// Admitted is the result of an Admission. Each plan is admitted, or is in Stale or Deferred.
type Admitted struct {
	Now    time.Time // the store's clock
	Leased []Work    // the runs that are leased to the caller
	// Stale has a position for each plan that was not admitted: plan again from it.
	Stale []Position
	// Deferred has an entry for each plan that a pause that catches up keeps back: of its scheduled
	// times, those in the pause. The others are admitted.
	Deferred []DeferredPlan
	// Skipped counts the scheduled times that became skipped, by reason.
	Skipped map[Reason]int
}

// DeferredPlan is the position of a job whose next scheduled times are kept back, and until when.
// Plan again from it then.
type DeferredPlan struct {
	Position
	Until time.Time // the end of the pause, unless an operator changes it
}

// Position is a job's revision and watermark: the place that a plan begins from. A plan from
// another place is not admitted.
type Position struct {
	JobID     string
	Revision  int64
	Watermark time.Time
}

// Entry is a single run from outside the planner: a trigger, a rerun, or a platform
// event. It moves no watermark.
//
// A run with ~ in its ID is new work and due at once, also if its job is paused, ended
// or unknown. The entry of a scheduled time is treated as an admission treats it: it is
// skipped (paused) if the job is paused, and the slot decides overlap. In a pause that
// catches up it is planned, and due at its end. A run of a held target is not leased.
//
//   - A scheduled time after the store's clock is planned, not leased, and due at its
//     time.
//   - One at or before the job's PurgedThrough is refused with ErrPurged.
//   - One of a job that the ledger does not know makes a row for the job: revision 0,
//     ended.
type Entry struct {
	JobID  string
	Traits // of the job, if it is the entry of a scheduled time
	RunSpec
	// Actor made the trigger or the rerun. The audit keeps it. It is empty for a
	// platform event.
	Actor
	// RerunOf is the run that a rerun repeats; its RerunID is set in the same
	// transaction. It must be finished and not rerun before, or the entry is refused
	// with ErrCannotRerun. MayDouble allows another rerun.
	RerunOf   string
	MayDouble bool
	// YieldToDue makes the entry wait for an earlier run of its job. It is for a
	// process that works on single runs, where no other process may claim due runs.
	// It matters if the scheduled time takes the slot of a job that is not paused, and
	// another run holds the slot, or is the first that waits for a free one. If that
	// run is due, or its lease has expired, nothing is written, and Entered.Due names
	// it: claim it (ClaimRequest.Only), then enter again.
	YieldToDue bool
	// Process, Token and LeaseFor are used when RunSpec.Lease is set. They mean the same as
	// in an Admission.
	Process  string
	Token    string
	LeaseFor time.Duration
}

// Entered is the result of an Entry.
type Entered struct {
	Now time.Time // the store's clock
	// Run is the row that accounts for the entry, perhaps a range row. Inserted reports
	// whether this Entry wrote it.
	Run      Run
	Inserted bool
	// Work is set if the run was leased to the caller. An Entry that is repeated under
	// the same Token returns it again while the lease is held.
	Work *Work
	// Due is the ID of the run to work on first; see Entry.YieldToDue. Run is then the
	// entry's row if it has one already, and waits.
	Due string
}

// Event is something that happened to a job and is neither a run nor an operator's
// action: a time change skipped a local time, or a revision began or ended. Events lists
// those of a job, the newest recorded first; a limit below 1 means 100.
type Event struct {
	JobID string
	At    time.Time // actual; a gap's nearest scheduled time; a revision's first or last watermark
	Kind  EventKind
	Local string // gap: the local time that does not exist, "2026-03-08T02:30:00"
	Zone  string // gap: the time zone
}

// EventKind names an Event.
type EventKind string

// The kinds of events.
const (
	EventGapSkipped    EventKind = "dst_gap" // a local time does not exist on this day
	EventRevisionBegun EventKind = "revision_begun"
	EventRevisionEnded EventKind = "revision_ended"
)

// admits reports whether a plan was made from where its job stands, and does not
// reach ahead of the clock.
func (j *JobRow) admits(p *Plan, now time.Time) bool {
	return j.EndedAt.IsZero() && j.Revision == p.Revision && j.Watermark.Equal(p.After) &&
		!p.Through.Before(p.After) && (!p.Through.After(now) || p.Through.Equal(p.After))
}
