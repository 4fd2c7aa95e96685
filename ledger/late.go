package ledger

import (
	"context"
	"time"

	"github.com/cronce/cronce/internal/clocks"
)

// MarkLate opens the incidents of late runs. It checks up to limit runs of which a bound
// (Call.StartWithin, Call.FinishWithin) has passed, each once for each bound, and returns how
// many it checked. If that is limit, there may be more. With a limit below 1 it does nothing.
func (l *Ledger) MarkLate(ctx context.Context, limit int) (int, error) {
	if limit < 1 {
		return 0, nil
	}
	found, err := read(ctx, l, "look for late runs", func(tx Tx) ([]Row, error) { return tx.LockLate(1).Get() })
	if err != nil || len(found) == 0 { // usual; no need to write
		return 0, err
	}
	return write(ctx, l, "look for late runs", func(tx Tx) (int, error) {
		rowsFuture, pausesFuture := tx.LockLate(limit), tx.Pauses(time.Time{})
		now, err := tx.Now()
		if err != nil {
			return 0, err
		}
		rows, err := rowsFuture.Get()
		if err != nil {
			return 0, err
		}
		paused, err := pausesFuture.Get()
		if err != nil {
			return 0, err
		}
		changes, late := markLate(rows, paused, now)
		if err := update(tx, changes); err != nil {
			return 0, err
		}
		return len(rows), openIncidents(tx, IncidentLate, late, now)
	})
}

// markLate returns the changes of runs whose LateAt has come, and the problems of those
// that are late. Those of a held target are checked again when as much time has passed since
// the hold's end as they may take.
func markLate(rows []Row, paused pauses, now time.Time) (changes []RowChange, late []problem) {
	for i := range rows {
		r := &rows[i]
		old := *r
		why, next := isLate(r, now)
		if hold := paused.holdOf(r.Call.Target, now); hold != nil {
			why, next = "", hold.Until.Add(r.untilBound())
		}
		if why != "" {
			late = append(late, problem{JobID: r.JobID, RunID: r.ID, Reason: why, Count: 1})
		}
		r.LateAt = next
		c := DiffRows(&old, r)
		c.Unlisted = true
		changes = append(changes, c)
	}
	return changes, late
}

// lateAt returns when to check whether a new run is late: zero for a run that neither its
// schedule nor an incident made, and if its Call sets no bound.
func lateAt(r RunSpec) time.Time {
	scheduled := !IsAdHoc(r.RunID) && (r.Trigger == BySchedule || r.Trigger == ByCatchUp)
	if r.State != Planned || !scheduled && r.Trigger != ByIncident {
		return time.Time{}
	}
	due := r.ScheduledAt.Add(r.Call.Delay)
	switch start, finish := r.Call.StartWithin, r.Call.FinishWithin; {
	case start > 0 && (finish == 0 || start < finish):
		return due.Add(start)
	case finish > 0:
		return due.Add(finish)
	}
	return time.Time{}
}

// isLate returns why an unfinished run is late at a time, and when to check it again;
// zero: never. A run on which an operator acted is not late.
func isLate(r *Row, now time.Time) (why Reason, next time.Time) {
	if r.By != "" {
		return "", time.Time{}
	}
	due := r.ScheduledAt.Add(r.Call.Delay)
	if within := r.Call.FinishWithin; within > 0 {
		if next = due.Add(within); !now.Before(next) {
			return ReasonNotFinished, time.Time{}
		}
	}
	switch within := r.Call.StartWithin; {
	case within == 0 || now.Before(due.Add(within)):
	case r.unstarted(), r.State == Running && r.Attempt == 1 && r.LeasedAt.After(r.StartedAt) && !r.LeasedAt.Before(due.Add(within)):
		why = ReasonNotStarted // an earlier lease was given back unsent
	case r.State == Running && r.Attempt == 1: // sent, or it waits in its process: the next lease tells
		if again := clocks.Later(r.DueAt(), now.Add(time.Second)); next.IsZero() || again.Before(next) {
			next = again
		}
	}
	return why, next
}

// unstarted reports whether no call of the run was sent. A lease that is given back unsent
// takes its attempt back.
func (r *Run) unstarted() bool { return r.Attempt == 0 }

// untilBound returns how long a run may take to its next bound.
func (r *Run) untilBound() time.Duration {
	if r.Call.StartWithin > 0 && r.unstarted() {
		return r.Call.StartWithin
	}
	return r.Call.FinishWithin
}
