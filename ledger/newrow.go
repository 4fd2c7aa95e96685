package ledger

import "time"

// newRow returns the row of a run that is not written yet, as it is if its job's slot
// is free. j is the job; of a ~ run it is not needed.
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
		if in.Overlap != OverlapAllow {
			r.TakesSlot, r.HasSlot = true, true
			r.overlap = in.Overlap
		}
	}
	return r
}

// skip makes a new row skipped.
func (r *Row) skip(why Reason, now time.Time) {
	r.moveTo(Skipped, why, time.Time{})
	r.FinishedAt, r.LateAt = now, time.Time{}
	r.TakesSlot, r.HasSlot, r.Waiting = false, false, false
}

// behind returns what a new row becomes because its job's slot is taken.
func (r Row) behind(now time.Time) Row {
	if r.State == Running {
		r.release()
	}
	if r.overlap != OverlapQueue {
		r.skip(ReasonOverlap, now)
		return r
	}
	r.HasSlot, r.Waiting = false, true
	return r
}

// release takes back the lease of a new row.
func (r *Row) release() {
	r.moveTo(Planned, "", r.ScheduledAt)
	r.Attempt, r.StartedAt, r.SendBefore = 0, time.Time{}, time.Time{}
	r.dropLease()
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
