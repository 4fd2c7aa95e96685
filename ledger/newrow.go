package ledger

import "time"

// newRow returns the row of a run that is not written yet, before it takes its job's slot.
// j is the job; of a ~ run it is not needed.
func newRow(in RunSpec, j JobRow, now time.Time) Row {
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
	case !j.PausedAt.IsZero():
		r.skip(ReasonPaused, now)
	default:
		r.SetDueAt(r.ScheduledAt)
		r.LateAt = lateAt(in)
		r.TakesSlot = in.takesSlot()
	}
	return r
}

// skip makes a new row skipped.
func (r *Row) skip(why Reason, now time.Time) {
	r.moveTo(Skipped, why, time.Time{})
	r.FinishedAt, r.LateAt = now, time.Time{}
	r.TakesSlot, r.HasSlot, r.Waiting = false, false, false
}

// place gives a new row that takes its job's slot the slot, or what its overlap policy
// says if the slot is taken.
func (s slots) place(r *Row, policy Overlap, now time.Time) {
	switch {
	case !r.TakesSlot:
	case !s.taken(r.JobID):
		s.take(r)
	case policy == OverlapQueue:
		r.Waiting = true
	default:
		r.skip(ReasonOverlap, now)
	}
}

// takesSlot reports whether a planned run is to take its job's slot.
func (in *RunSpec) takesSlot() bool {
	return in.State == Planned && in.Overlap != OverlapAllow && !IsAdHoc(in.RunID)
}

// startable reports whether a new row can be leased at once.
func (r *Row) startable(now time.Time) bool {
	return r.State == Planned && !r.Waiting && !r.DueAt().After(now)
}

// lease gives a run to a process. Its first lease fixes SendBefore.
func (r *Row) lease(owner, token string, now time.Time, d time.Duration) {
	if r.StartedAt.IsZero() {
		r.StartedAt, r.SendBefore = now, now.Add(microsecond(r.Call.Horizon))
	}
	r.moveTo(Running, "", now.Add(microsecond(d)))
	r.WaitReason = WaitReason{}
	r.Attempt++
	r.LeasedBy, r.Token, r.LeasedAt = owner, token, now
}
