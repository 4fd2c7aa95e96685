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
// canceled. A run that waits for the slot is planned (a redriven run:
// retrying), cannot be leased, and has no meaningful NextAt. Admit, Enter and
// Claim first give a free slot to the oldest waiting run. Runs with ~ in their
// ID take no slot and wait for none, whatever their Overlap. The slot belongs
// to the job, not to a revision: an edit or a removal does not change it.
type Overlap string

const (
	// OverlapSkip: takes the job's slot; becomes skipped (overlap) when the
	// slot is taken or other runs wait for it.
	OverlapSkip Overlap = "skip"
	// OverlapQueue: takes the slot, or waits for it, oldest scheduled time first.
	OverlapQueue Overlap = "queue"
	// OverlapAllow: takes no slot.
	OverlapAllow Overlap = "allow"
)

// RunSpec is one row that an admission writes.
type RunSpec struct {
	// RunID is the job's ID, "@" and ScheduledAt as 2006-01-02T15:04:05Z, then
	// nothing, "~" and a token, or "/" and Until. Stores find a job's runs and
	// their order by it: see RunIDRange.
	RunID       string
	ScheduledAt time.Time // in whole seconds; else ErrInvalidRun
	Until       time.Time // a range's last scheduled time, else zero
	Count       int       // 1, or how many scheduled times the range has
	State       State     // Planned, Missed or Superseded
	Reason      Reason    // for Missed and Superseded
	Trigger     Trigger
	Overlap     Overlap // Planned only
	Call        Call    // Planned only
	Lease       bool    // Planned only: can start now, so lease it on admission
}

// AdHoc reports whether a run ID has a ~: a trigger, a rerun or an event of its
// own. Such a run is independent of the schedule: it accounts for no scheduled
// time, takes no slot, has revision 0 and does not raise PurgedBefore.
func AdHoc(runID string) bool {
	return strings.Contains(runID, "~")
}

// Plan is all of one job's scheduled times in (After, Through].
type Plan struct {
	JobID    string
	Revision int64
	After    time.Time // the watermark that the plan was made from
	Through  time.Time // the watermark after it
	// Runs are the rows to write, oldest first, all of them in (After, Through];
	// otherwise nothing of the Admission is written: ErrInvalidRun.
	Runs []RunSpec
	// Events are recorded with them (local times in a gap).
	Events []Event
	// Next, when set, ends the revision at Through and starts another one with
	// this definition (an edit), or none (Next.Hash == "": removed), and
	// records RevisionEnded and RevisionBegun, both at Through. The new revision's
	// watermark is Through.
	Next *Definition
}

// Admission is what a planner writes at once, at most one plan per job. The
// store admits each plan as a whole or not at all:
//
//   - it locks the jobs' rows in the order of their IDs before it decides;
//   - a plan is admitted only if the job's revision and watermark are those the
//     plan was made from, it has not ended, and Through is not before After
//     nor after the store's clock, so no scheduled time is admitted twice, early, or
//     for an outgoing revision;
//   - rows that exist already (a platform event came first) stay as they are
//     and are not leased; a range row counts only its scheduled times that have
//     no row of their own, and is not written if there are none;
//   - a planned run is due at its scheduled time (NextAt is ScheduledAt);
//     missed, superseded and skipped rows are finished (FinishedAt is now);
//   - the watermark moves in the same transaction;
//   - the planned runs of a paused job become skipped (paused);
//   - the slot decides overlap (see Overlap);
//   - runs marked Lease that can start are leased under Token.
type Admission struct {
	Plans    []Plan
	Owner    string // the process
	Token    string // random, fresh for each admission
	LeaseFor time.Duration
}

// Admitted is the result of an Admission.
type Admitted struct {
	Now    time.Time // the store's clock
	Leased []Work    // those leased to the caller now
	Stale  []Position
	// Skipped counts the scheduled times that became skipped, by reason.
	Skipped map[Reason]int
}

// Position is a job's revision and watermark. For a plan that was not admitted,
// it is where to plan again from: the revision or watermark had moved, or
// Through was ahead of the store's clock.
type Position struct {
	JobID     string
	Revision  int64
	Watermark time.Time
}

// Entry is a single run from outside the planner: a trigger, a rerun, or a
// platform event. It moves no watermark.
//
// A ~ id is new work at once, of a paused, ended or unknown job too. The entry
// of a scheduled time is treated as an admission treats it: it is skipped (paused)
// when the job is paused, and the slot decides overlap. A scheduled time that the
// store's clock has not reached yet is planned, not leased, and due at its
// time. One at or before the job's PurgedBefore is ErrPurged. A scheduled time of a
// job that the ledger does not know makes a row for the job: revision 0, ended.
type Entry struct {
	JobID string
	RunSpec
	// Actor: who made a trigger or a rerun, kept in the audit. It is empty for
	// a platform event.
	Actor
	// RerunOf is the run that a rerun repeats; its RerunID is set in the same
	// transaction. It has to be finished and not rerun before, else the entry
	// is ErrMayDouble; MayDouble allows another rerun.
	RerunOf   string
	MayDouble bool
	// YieldToDue is for a caller who works on single runs where nobody else may
	// claim what is due. Where the scheduled time takes the slot of a job that is not
	// paused, and another run that holds the slot, or is first of those that
	// wait for a free one, is due or its lease lapsed, nothing is written and
	// Entered.Due names that run: claim it (Claim.Only), then enter again.
	YieldToDue bool
	// Owner, Token and LeaseFor are used when RunSpec.Lease is set.
	Owner    string
	Token    string
	LeaseFor time.Duration
}

// Entered is the result of an Entry. Inserted is false where the scheduled time was
// accounted for before: Run is then the row that accounts for it (perhaps a
// range row). Work is set when the run was leased to the caller; an Entry
// repeated under the same Token finds it again while that lease is held.
type Entered struct {
	Now      time.Time
	Run      Run
	Inserted bool
	Work     *Work
	// Due is the run to be worked on first; see Entry.YieldToDue. Run is then
	// the entry's row if it has one already, and waits.
	Due string
}

// Event is something about a job that is not a run and that no operator did: a
// gap time that daylight saving skipped, a new revision, the end of one.
type Event struct {
	JobID string
	At    time.Time // actual; a gap's nearest scheduled time; a revision's first or last watermark
	Kind  EventKind
	Local string // gap: the local time that does not exist, "2026-03-08T02:30:00"
	Zone  string // gap: the time zone
}

// EventKind names an Event.
type EventKind string

const (
	GapSkipped    EventKind = "dst_gap"
	RevisionBegun EventKind = "revision_begun"
	RevisionEnded EventKind = "revision_ended"
)
