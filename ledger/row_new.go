package ledger

import "time"

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
