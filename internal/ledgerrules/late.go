package ledgerrules

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// LateAt returns when to check whether a new run is late: zero for a run that its
// schedule did not make, and if its Call sets no bound.
func LateAt(r ledger.RunSpec) time.Time {
	if r.State != ledger.Planned || ledger.IsAdHoc(r.RunID) || r.Trigger != ledger.BySchedule && r.Trigger != ledger.ByCatchUp {
		return time.Time{}
	}
	switch start, finish := r.Call.StartWithin, r.Call.FinishWithin; {
	case start > 0 && (finish == 0 || start < finish):
		return r.ScheduledAt.Add(r.Call.Delay + start)
	case finish > 0:
		return r.ScheduledAt.Add(r.Call.Delay + finish)
	}
	return time.Time{}
}

// Late returns why an unfinished run is late at a time, and when to check it again;
// zero: never. A run on which an operator acted is not late.
func Late(r ledger.Run, now time.Time) (why ledger.Reason, next time.Time) {
	if r.By != "" {
		return "", time.Time{}
	}
	due := r.ScheduledAt.Add(r.Call.Delay)
	if within := r.Call.FinishWithin; within > 0 {
		if next = due.Add(within); !now.Before(next) {
			return ledger.ReasonNotFinished, time.Time{}
		}
	}
	if within := r.Call.StartWithin; within > 0 && r.StartedAt.IsZero() && !now.Before(due.Add(within)) {
		why = ledger.ReasonNotStarted
	}
	return why, next
}
