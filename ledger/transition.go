package ledger

import (
	"time"

	"github.com/cronce/cronce/internal/clocks"
)

// The moves of a run's row, which all operations share. See State for which are allowed.

// moveTo changes the run's state, and with it when the run is due.
func (r *Row) moveTo(to State, why Reason, due time.Time) {
	r.State, r.Reason = to, why
	r.SetDueAt(due)
}

// startable reports whether a new row can be leased at once.
func (r *Row) startable(now time.Time) bool {
	return r.State == Planned && !r.Waiting && !r.DueAt().After(now)
}

// lease gives a run to a process. Its first lease fixes SendBefore and KeySafeUntil.
func (r *Row) lease(process, token string, now time.Time, d time.Duration) {
	if r.StartedAt.IsZero() {
		r.start(now, now)
	}
	r.moveTo(Running, "", now.Add(microsecond(d)))
	r.WaitReason = WaitReason{}
	r.Attempt++
	r.LeasedBy, r.Token, r.LeasedAt = process, token, now
}

// start notes the run's first lease, whose key the target has from a time on.
func (r *Row) start(now, keyFrom time.Time) {
	r.StartedAt = now
	r.SendBefore, r.KeySafeUntil = keyFrom.Add(microsecond(r.Call.Horizon)), keyFrom.Add(r.Call.keySafeFor())
}

// sendAgain gives a run that is to be sent again under its key another Horizon from now
// on, as far as its key is safe.
func (r *Row) sendAgain(now time.Time) {
	if r.SendBefore.IsZero() {
		return // never leased
	}
	if until := clocks.Earlier(r.keySafeUntil(), now.Add(microsecond(r.Call.Horizon))); until.After(r.SendBefore) {
		r.SendBefore = until
	}
}

// endKeySafety notes that the key is safe only until a time, and the run is sent no longer.
func (r *Row) endKeySafety(until time.Time) {
	r.KeySafeUntil = clocks.Earlier(r.keySafeUntil(), until)
	r.SendBefore = clocks.Earlier(r.SendBefore, r.KeySafeUntil)
}

// keySafeUntil returns when the target may begin to forget the run's key. Zero: the run was
// never leased.
func (r *Run) keySafeUntil() time.Time {
	if r.KeySafeUntil.IsZero() {
		return r.SendBefore
	}
	return r.KeySafeUntil
}

// KeyUnsafe reports whether the target may have forgotten the run's key by a time. A parent
// whose list is frozen sends nothing of its own.
func (r *Run) KeyUnsafe(now time.Time) bool {
	until := r.keySafeUntil()
	return !until.IsZero() && !now.Before(until) && !r.Fan.Frozen()
}

// revive makes a finished run due again, under its key.
func (r *Row) revive(to State, now time.Time) {
	r.moveTo(to, "", now)
	r.sendAgain(now)
	r.Failures = 0
	r.FinishedAt, r.AckedAt, r.AcceptedAt = time.Time{}, time.Time{}, time.Time{}
}

// skip makes a new row skipped.
func (r *Row) skip(why Reason, now time.Time) {
	r.moveTo(Skipped, why, time.Time{})
	r.FinishedAt, r.LateAt = now, time.Time{}
	r.TakesSlot, r.HasSlot, r.Waiting = false, false, false
}

// pastSendBefore reports whether the time is at or past the run's SendBefore.
func (r *Row) pastSendBefore(now time.Time) bool {
	return !r.SendBefore.IsZero() && !now.Before(r.SendBefore) && !r.Fan.Frozen()
}

// lostAttempt returns the attempt of a lease that ends without a recorded outcome: it
// may have been sent. It returns nil for a run that is not leased.
func (r *Row) lostAttempt(now time.Time) *Attempt {
	if r.State != Running {
		return nil
	}
	return &Attempt{RunID: r.ID, N: r.Attempt, StartedAt: r.LeasedAt, FinishedAt: now, Answer: AnswerLost, Process: r.LeasedBy}
}

// dropLease forgets the lease, so that the record of its holder is fenced.
func (r *Row) dropLease() { r.LeasedBy, r.Token, r.LeasedAt = "", "", time.Time{} }

// finish ends a run, which gives its slot back.
func (r *Row) finish(to State, why Reason, now time.Time) {
	r.moveTo(to, why, time.Time{})
	r.WaitReason, r.FinishedAt = WaitReason{}, now
	r.Waiting, r.HasSlot = false, false
}
