package ledger

import "time"

// Row is a run's row as it is stored: a Run, and what only the rules need. LeasedBy,
// LeasedAt and Token are those of the last lease. They are kept after the outcome, so that
// a repeated record is recognized, and cleared when a cancel, or a claim past SendBefore, ends
// the run.
type Row struct {
	Run
	LeasedAt  time.Time
	Token     string
	LateAt    time.Time // when to check whether it is late; zero: never
	TakesSlot bool      // it needs its job's slot to run; with a Pace, a place instead
	Pace      Pace      // 0: it needs no place
	Waiting   bool      // it waits for the slot or a place
	HasSlot   bool      // it has the slot or a place
}

// DueAt returns when a claim may take the run: the NextAt of a planned, retrying or
// accepted one, the next look at the members of one that has fanned out, the end of the lease of a
// running one. Zero: it is finished.
func (r *Row) DueAt() time.Time {
	if r.State == Running {
		return r.LeasedUntil
	}
	return r.NextAt
}

// SetDueAt sets what DueAt returns. An engine that reads a row sets its State first.
func (r *Row) SetDueAt(at time.Time) {
	r.NextAt, r.LeasedUntil = at, time.Time{}
	if r.State == Running {
		r.NextAt, r.LeasedUntil = time.Time{}, at
	}
}

// SlotKey returns what the row has in the unique column slot of an engine, so that no two runs have
// one slot: the job's ID in the run that has the job's slot, and the run's own ID in one that has a
// place, which is between job@ and jobA; "" in a run that has neither.
func (r *Row) SlotKey() string {
	switch {
	case !r.HasSlot:
		return ""
	case r.Pace != 0:
		return r.ID
	}
	return r.JobID
}

// Visible returns the run as callers see it: LeasedBy only while the lease lasts.
func (r *Row) Visible() Run {
	run := r.Run
	if run.State != Running {
		run.LeasedBy = ""
	}
	return run
}

// listed returns the run as lists show it: without the body that it sends.
func (r *Row) listed() Run {
	run := r.Visible()
	run.Call.Body = nil
	return run
}

// work returns what the holder of the run's lease gets.
func (r *Row) work() Work {
	return Work{
		RunID: r.ID, JobID: r.JobID, Parent: r.Parent, Frozen: r.Fan.Frozen(), ScheduledAt: r.ScheduledAt, Trigger: r.Trigger, Attempt: r.Attempt,
		Failures: r.Failures, SendBefore: r.SendBefore, KeySafeUntil: r.keySafeUntil(), LeasedUntil: r.DueAt(), AcceptedAt: r.AcceptedAt,
		Token: r.Token, Call: r.Call,
	}
}

// Slot is the slot of a job: the run that has it, and the oldest run that waits for it. If no run
// has it, a rule that locks the job gives it to that one: see grant.
type Slot struct {
	JobID          string
	Holder, Waiter SlotRun
}

// WaitingJob is a job for which runs wait.
type WaitingJob struct {
	JobID     string
	FreeSlot  bool // no run has its slot, and a run waits for it
	FreePlace bool // a run waits for a place, and its Pace allows more places than are taken
}

// SlotRun is a run that has a slot, or waits for one. Without an ID there is none.
type SlotRun struct {
	ID    string
	State State
	DueAt time.Time
}

// JobRow is a job's row. It has ended if EndedAt is set. Its lock is that of the job's watermark
// and slot; it stays when the registry no longer has the job, so that its runs are not planned
// again.
type JobRow struct {
	Position
	Hash          string // of the current revision; "" if it has ended
	Body          []byte
	EndedAt       time.Time
	PausedAt      time.Time
	PausedBy      string
	PausedWhy     string
	PurgedThrough time.Time
}

// JobColumns is a set of groups of a JobRow's fields.
type JobColumns uint8

// The groups of the fields that change.
const (
	JobColWatermark JobColumns = 1 << iota
	JobColRevision             // Revision, Hash, Body and EndedAt
	JobColPause                // PausedAt, PausedBy and PausedWhy
	JobColPurge                // PurgedThrough
)

// JobChange writes some fields of a job's row. A job without a row gets one; it has
// all fields.
type JobChange struct {
	JobRow
	Set JobColumns
}

// DiffJobs returns the change that makes a job's row, as it was read, what it is now. An engine
// writes only the groups that differ.
func DiffJobs(old, updated JobRow) JobChange {
	c := JobChange{JobRow: updated}
	if !old.Watermark.Equal(updated.Watermark) {
		c.Set |= JobColWatermark
	}
	if old.Revision != updated.Revision || old.Hash != updated.Hash || !old.EndedAt.Equal(updated.EndedAt) {
		c.Set |= JobColRevision
	}
	if !old.PausedAt.Equal(updated.PausedAt) || old.PausedBy != updated.PausedBy || old.PausedWhy != updated.PausedWhy {
		c.Set |= JobColPause
	}
	if !old.PurgedThrough.Equal(updated.PurgedThrough) {
		c.Set |= JobColPurge
	}
	return c
}

// JobDefinition is a definition of a job in a version.
type JobDefinition struct {
	JobID string
	Hash  string
	Order int64 // of two definitions of a job, the later first declared has the greater one
}

// AckedOrRerunCount counts runs that are acknowledged, or were rerun, or both. An action without
// IDs tells the operator how many it leaves out.
type AckedOrRerunCount struct {
	Acknowledged bool
	Rerun        bool
	Count        int
}

// newRow returns the row of a run that is not written yet, before it takes its job's slot.
// j is the job, and pause the one that its scheduled time is in, or nil; of a ~ run they are not
// needed. What waited for the end of a pause is never late.
func newRow(in RunSpec, j JobRow, pause *Pause, now time.Time) Row {
	r := Row{Run: Run{
		ID: in.RunID, JobID: j.JobID, ScheduledAt: in.ScheduledAt.UTC(), Count: max(in.Count, 1), Trigger: in.Trigger,
		State: in.State, Reason: in.Reason, Call: in.Call, PlannedAt: now,
	}}
	if !in.Until.IsZero() {
		r.Until = in.Until.UTC()
	}
	adHoc := IsAdHoc(in.RunID)
	if !adHoc {
		r.Revision = j.Revision
	}
	switch {
	case in.State != Planned:
		r.FinishedAt = now
	case adHoc:
		r.SetDueAt(now)
		r.LateAt = lateAt(in)
	case !j.PausedAt.IsZero(), pause != nil && pause.Kind == PauseSkip:
		r.skip(ReasonPaused, now)
	case pause != nil:
		r.SetDueAt(pause.Until)
		r.TakesSlot = in.takesSlot()
	default:
		r.SetDueAt(r.ScheduledAt)
		r.LateAt = lateAt(in)
		r.TakesSlot = in.takesSlot()
	}
	return r
}

// takesSlot reports whether a planned run is to take its job's slot.
func (in *RunSpec) takesSlot() bool {
	return in.State == Planned && in.Overlap != OverlapAllow && !IsAdHoc(in.RunID)
}
