package ledger

import "time"

// Reasons of an incident of CauseLate.
const (
	NotStarted  Reason = "not_started"  // Call.StartWithin after its scheduled time and delay
	NotFinished Reason = "not_finished" // Call.FinishWithin after them
)

// LateAt is when a row that is written has to be looked at for being late: zero for
// what its schedule did not make, and where its Call sets no bound.
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

// Late reports whether an unfinished run is late at a time, and when it has to be
// looked at again; zero: never. A run on which an operator acted is not late.
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
