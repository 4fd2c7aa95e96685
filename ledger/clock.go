package ledger

import (
	"context"
	"fmt"
	"time"
)

// ClockTolerance is the time by which a recorded time may be ahead of the store's clock without
// meaning that the clock was set back. Servers of one database differ by less.
const ClockTolerance = 5 * time.Second

// AheadOfClock returns how far a recorded time is ahead of the store's clock; 0 if it is
// not, or by at most ClockTolerance.
//
// A store's clock may be set back: it was wrong before, or is now. What is recorded
// stays, so nothing is planned twice: a job whose watermark is ahead of the clock is
// planned again when the clock reaches the watermark. What is in progress goes on: see
// ClockStep.
func AheadOfClock(recorded, now time.Time) time.Duration {
	if ahead := recorded.Sub(now); ahead > ClockTolerance {
		return ahead
	}
	return 0
}

// AheadText returns in a sentence that the latest watermark is ahead of the store's clock; ""
// if it is not.
func AheadText(watermark, now time.Time) string {
	ahead := AheadOfClock(watermark, now)
	if ahead == 0 {
		return ""
	}
	return fmt.Sprintf("the ledger is ahead of the clock by %s: jobs that it planned before the clock was set back run again after %s",
		ahead.Round(time.Second), watermark.UTC().Format(time.RFC3339))
}

// ClockStep returns how far the store's clock was set back since the latest heartbeat of
// any process, or the latest lease of an unfinished run. Heartbeat looks at the heartbeats
// before it writes its own, and Declare at the leases too, since a process that stops
// gracefully leaves no heartbeat. If there is a step, they move:
//
//   - the heartbeats that are ahead of the clock, to now: their processes have ProcessTTL
//     to send another;
//   - DueAt of the unfinished runs, back by the step, if they were planned or leased at a time
//     that is to come, or are due after the latest heartbeat; of those that are not running also
//     if they were planned and last leased more than ProcessTTL ago. A lease and a wait last as
//     long as they would have lasted, or ProcessTTL: what is newer may be of after the step. A run
//     whose scheduled time is to come stays due at its time, if it was never leased and has no ~
//     in its ID, and one that waits for the end of a pause stays due then;
//   - SendBefore and KeySafeUntil of the unfinished, the dead and the canceled runs, back by the
//     step: the target counts the key's TTL on another clock. A run that was first leased within
//     ProcessTTL keeps it: that may have been after the step;
//   - LeasedAt of the unfinished runs, to now at the latest, so that a step is followed once;
//   - DueAt of incidents, back by the step;
//   - From of the pauses that began when they were made, to now: they last. Their ends stay, and
//     those whose ends are to come again have not ended, unless an operator ended them.
func ClockStep(latest, now time.Time) time.Duration { return AheadOfClock(latest, now) }

// clockStep returns the ClockStep since the latest heartbeat or lease.
func clockStep(processesFuture Future[[]ProcessRow], leaseFuture Future[time.Time], now time.Time) (time.Duration, error) {
	list, err := processesFuture.Get()
	if err != nil {
		return 0, err
	}
	latest, err := leaseFuture.Get()
	if at := latestHeartbeat(list); at.After(latest) {
		latest = at
	}
	return ClockStep(latest, now), err
}

// latestHeartbeat returns the latest heartbeat of any process, alive or not; zero: there is none.
func latestHeartbeat(list []ProcessRow) (latest time.Time) {
	for _, p := range list {
		if p.HeartbeatAt.After(latest) {
			latest = p.HeartbeatAt
		}
	}
	return latest
}

// writeAfterClockStep runs f in a transaction. If f finds that the clock was set back, it writes
// nothing: what is in progress moves first, and f runs again.
func (l *Ledger) writeAfterClockStep(ctx context.Context, name string, f func(Tx) (stepped bool, err error)) error {
	for {
		stepped := false
		err := l.rows.Write(ctx, name, func(tx Tx) (err error) {
			stepped, err = f(tx)
			return err
		})
		if err != nil || !stepped {
			return err
		}
		if err := l.rows.Write(ctx, "follow the clock", followClock); err != nil {
			return err
		}
	}
}

// followClock moves what is in progress if the clock was set back. It locks all other
// writers out, so that two processes do not do it both.
func followClock(tx Tx) error {
	if err := tx.LockAll(); err != nil {
		return err
	}
	processesFuture, leaseFuture, incidentsFuture := tx.Processes(), tx.LastLease(), tx.LockPendingIncidents()
	now, err := tx.Now()
	if err != nil {
		return err
	}
	step, err := clockStep(processesFuture, leaseFuture, now)
	if err != nil || step == 0 {
		return err
	}
	if err := moveHeartbeats(tx, processesFuture, now); err != nil {
		return err
	}
	if err := moveIncidents(tx, incidentsFuture, step); err != nil {
		return err
	}
	list, err := tx.Pauses(now).Get()
	if err != nil {
		return err
	}
	if err := pauses(list).followClock(tx, now); err != nil {
		return err
	}
	// What waits for an end that is not to come any more moves with the clock.
	var lastingPauses []Pause
	for _, p := range list {
		if p.followClock(now).EndedAt.IsZero() {
			lastingPauses = append(lastingPauses, p)
		}
	}
	if err := moveRuns(tx, Unfinished, lastingPauses, step, now); err != nil {
		return err
	}
	return moveRuns(tx, []State{Dead, Canceled}, lastingPauses, step, now)
}

// moveHeartbeats sets the heartbeats that are ahead of the clock to now: their processes have
// ProcessTTL to send another.
func moveHeartbeats(tx Tx, processesFuture Future[[]ProcessRow], now time.Time) error {
	list, err := processesFuture.Get()
	if err != nil {
		return err
	}
	var ids []string
	for _, p := range list {
		if p.HeartbeatAt.After(now) {
			ids = append(ids, p.ID)
		}
	}
	return tx.SetHeartbeats(ids, now)
}

// moveIncidents has the notifier check incidents as long after now as before the step.
func moveIncidents(tx Tx, incidentsFuture Future[[]Incident], step time.Duration) error {
	list, err := incidentsFuture.Get()
	if err != nil || len(list) == 0 {
		return err
	}
	for i := range list {
		list[i].DueAt = list[i].DueAt.Add(-step)
	}
	return tx.PutIncidents(list)
}

// movePage is the number of runs that are moved at a time.
const movePage = 5000

// moveRuns moves the runs in some states, page by page in the one transaction, so that no step is
// followed in part. A run that waits for the end of a pause that lasts stays due then.
func moveRuns(tx Tx, states []State, paused pauses, step time.Duration, now time.Time) error {
	f := Filter{States: states, Limit: movePage, WithMembers: true}
	for {
		rows, err := tx.Runs(f).Get()
		if err != nil {
			return err
		}
		changes := make([]RowChange, len(rows))
		for i := range rows {
			old := rows[i]
			due := old.DueAt()
			rows[i].followClock(step, now)
			if paused.delays(&old) {
				rows[i].SetDueAt(due)
			}
			changes[i] = DiffRows(&old, &rows[i])
		}
		if err := update(tx, changes); err != nil || len(rows) < movePage {
			return err
		}
		last := rows[len(rows)-1]
		f.After = &Cursor{ScheduledAt: last.ScheduledAt, ID: last.ID}
	}
}

// followClock moves what is in progress in a row by a ClockStep, as that describes. It moves
// nothing to earlier than ProcessTTL from now: a lease that another process has just extended must
// not expire by the step.
func (r *Row) followClock(step time.Duration, now time.Time) {
	pending := !r.DueAt().IsZero()
	latest := r.PlannedAt
	if !r.LeasedAt.IsZero() {
		latest = r.LeasedAt
	}
	before := r.PlannedAt.After(now) || r.LeasedAt.After(now) || r.DueAt().After(now.Add(step)) ||
		r.State != Running && !recent(latest, now) // a running one may have been extended since
	if pending && before && (!r.StartedAt.IsZero() || !r.ScheduledAt.After(now) || IsAdHoc(r.ID)) {
		due := r.DueAt().Add(-step)
		if earliest := now.Add(ProcessTTL); due.Before(earliest) {
			due = earliest
		}
		if due.Before(r.DueAt()) {
			r.SetDueAt(due)
		}
	}
	if !r.SendBefore.IsZero() && !recent(r.StartedAt, now) {
		r.SendBefore = r.SendBefore.Add(-step)
		if !r.KeySafeUntil.IsZero() {
			r.KeySafeUntil = r.KeySafeUntil.Add(-step)
		}
	}
	if pending && r.LeasedAt.After(now) {
		r.LeasedAt = now
	}
}

// recent reports whether a time may be of after the step.
func recent(at, now time.Time) bool { return !at.After(now) && at.After(now.Add(-ProcessTTL)) }
