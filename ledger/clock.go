package ledger

import (
	"fmt"
	"time"
)

// ClockTolerance is how far a recorded time may be ahead of the store's clock without
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

// AheadText says in a sentence that the latest watermark is ahead of the store's clock; ""
// if it is not.
func AheadText(watermark, now time.Time) string {
	ahead := AheadOfClock(watermark, now)
	if ahead == 0 {
		return ""
	}
	return fmt.Sprintf("the ledger is ahead of the clock by %s: jobs that it planned before the clock was set back run again after %s",
		ahead.Round(time.Second), watermark.UTC().Format(time.RFC3339))
}

// ClockStep is by how much the store's clock was set back since the latest heartbeat of
// any process, or the latest lease of an unfinished run. Heartbeat looks at the heartbeats
// before it writes its own, and Declare at the leases too, since a process that stops
// gracefully leaves no heartbeat. If there is a step, they move:
//
//   - the heartbeats that are ahead of the clock, to now: their processes have ProcessTTL
//     to send another;
//   - DueAt of the unfinished runs, back by the step, if they were planned or leased at a
//     time that is to come, or are due after the latest heartbeat: a lease and a wait last
//     as long as they would have lasted, or ProcessTTL. They may be of after the step, so
//     none becomes shorter than ProcessTTL. A run whose scheduled time is to come stays due at
//     its time, if it was never leased and has no ~ in its ID;
//   - SendBefore and KeySafeUntil of the unfinished and the dead runs, back by the step: the
//     target counts the key's TTL on another clock. A run that was first leased within ProcessTTL keeps
//     it: that may have been after the step;
//   - LeasedAt of the unfinished runs, to now at the latest, so that a step is followed once;
//   - DueAt of incidents, back by the step.
func ClockStep(latest, now time.Time) time.Duration { return AheadOfClock(latest, now) }

// FollowClock moves what is in progress in a row by a ClockStep, and reports whether it
// changed the row. SQL engines have the same rule in a statement.
func (r *Row) FollowClock(step time.Duration, now time.Time) (changed bool) {
	pending := !r.DueAt().IsZero()
	former := r.PlannedAt.After(now) || r.LeasedAt.After(now) || r.DueAt().After(now.Add(step))
	if pending && former && (!r.StartedAt.IsZero() || !r.ScheduledAt.After(now) || IsAdHoc(r.ID)) {
		due := r.DueAt().Add(-step)
		if least := now.Add(ProcessTTL); due.Before(least) {
			due = least
		}
		if changed = due.Before(r.DueAt()); changed {
			r.SetDueAt(due)
		}
	}
	lately := !r.StartedAt.After(now) && r.StartedAt.After(now.Add(-ProcessTTL))
	if !r.SendBefore.IsZero() && !lately && (pending || r.State == Dead) {
		r.SendBefore, changed = r.SendBefore.Add(-step), true
		if !r.KeySafeUntil.IsZero() {
			r.KeySafeUntil = r.KeySafeUntil.Add(-step)
		}
	}
	if pending && r.LeasedAt.After(now) {
		r.LeasedAt, changed = now, true
	}
	return changed
}
