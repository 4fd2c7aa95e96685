package ledger

import "time"

// Reasons of an incident of CauseLate.
const (
	NotStarted  Reason = "not_started"  // Call.StartWithin after its scheduled time and delay
	NotFinished Reason = "not_finished" // Call.FinishWithin after them
)

// LateAt returns when to check whether the run is late: zero for a run that its
// schedule did not make, and if its Call sets no bound.
func (in RunSpec) LateAt() time.Time {
	if in.State != Planned || AdHoc(in.RunID) || in.Trigger != BySchedule && in.Trigger != ByCatchUp {
		return time.Time{}
	}
	switch start, finish := in.Call.StartWithin, in.Call.FinishWithin; {
	case start > 0 && (finish == 0 || start < finish):
		return in.ScheduledAt.Add(in.Call.Delay + start)
	case finish > 0:
		return in.ScheduledAt.Add(in.Call.Delay + finish)
	}
	return time.Time{}
}

// Late reports why an unfinished run is late at a time, and when to check it again;
// zero: never. A run on which an operator acted is not late.
func (r Run) Late(now time.Time) (why Reason, next time.Time) {
	if r.By != "" {
		return "", time.Time{}
	}
	due := r.ScheduledAt.Add(r.Call.Delay)
	if within := r.Call.FinishWithin; within > 0 {
		if next = due.Add(within); !now.Before(next) {
			return NotFinished, time.Time{}
		}
	}
	if within := r.Call.StartWithin; within > 0 && r.StartedAt.IsZero() && !now.Before(due.Add(within)) {
		why = NotStarted
	}
	return why, next
}
