package executor

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	// inProgressWait is the wait before the next call to a target that says "in progress" without
	// a Retry-After.
	inProgressWait = time.Second
	// unsentWait is the wait before a call that could not be sent is tried again.
	unsentWait = time.Second
)

// outcomeOf turns an attempt's answer, which came at now on the ledger's clock, into
// the run's next state. It is pure; rnd gives a number in [0,1) for the jitter.
func outcomeOf(w ledger.Work, a Answer, now time.Time, rnd func() float64) ledger.Outcome {
	o := ledger.Outcome{
		Lease:    ledger.Lease{RunID: w.RunID, Token: w.Token},
		Failures: w.Failures, AckEarlier: w.Call.AckEarlier,
	}
	switch {
	case a.Unsent:
		o.State = ledger.Planned
		o.Wait = orElse(a.RetryAfter, unsentWait)
		o.WaitReason = waitReason(a)
		return o
	case a.Kind == ledger.AnswerFresh, a.Kind == ledger.AnswerReplayed:
		o.State = ledger.Succeeded
		o.Replayed = a.Kind == ledger.AnswerReplayed
		return o
	case a.Kind == ledger.AnswerAccepted && w.Call.Within == 0:
		o.State = ledger.Succeeded // a job without async takes a 202 for its answer
		return o
	case a.Kind != ledger.AnswerRefused && overdue(w, now):
		o.State, o.Reason = ledger.Dead, ledger.ReasonNotCompleted
		return o
	case a.Kind == ledger.AnswerAccepted:
		return acceptedOutcome(o, w, a, now, rnd)
	case a.Kind == ledger.AnswerInProgress:
		// The first call still works on it: another call is not a failure, and is bounded by
		// SendBefore alone.
		o.State = ledger.Retrying
		requested := capped(a.RetryAfter, w.Call.MaxRetryAfter)
		o.Wait = orElse(jitteredAfter(requested, requested/5, rnd), inProgressWait)
		return o
	case a.Kind == ledger.AnswerRefused:
		o.State, o.Reason = ledger.Dead, a.Reason
		if o.Reason == "" {
			o.Reason = ledger.ReasonPermanent
		}
		o.Failures++
		return o
	}
	return failureOutcome(o, w.Call, a, rnd)
}

// overdue reports whether the time for the work of an accepted run is over.
func overdue(w ledger.Work, now time.Time) bool {
	return !w.AcceptedAt.IsZero() && !now.Before(w.AcceptedAt.Add(w.Call.Within))
}

// acceptedOutcome has the target called again after the wait that it asks for, or else Poll, and for
// the last time when the time for its work is over. Earlier failures no longer count, since the
// target answers.
func acceptedOutcome(o ledger.Outcome, w ledger.Work, a Answer, now time.Time, rnd func() float64) ledger.Outcome {
	o.State, o.Failures, o.Progress = ledger.Accepted, 0, a.Progress
	o.Wait = orElse(capped(a.RetryAfter, max(w.Call.MaxRetryAfter, w.Call.Poll)), w.Call.Poll)
	if a.RetryAfter > 0 {
		o.Wait = jitteredAfter(o.Wait, o.Wait/5, rnd)
	}
	left := w.Call.Within
	if !w.AcceptedAt.IsZero() {
		left = w.AcceptedAt.Add(w.Call.Within).Sub(now)
	}
	o.Wait = min(o.Wait, left)
	return o
}

// waitReason returns why a call was not sent, as the run's row keeps it.
func waitReason(a Answer) ledger.WaitReason {
	why := a.WaitReason
	if why.Code == "" {
		why = ledger.WaitReason{Code: ledger.WaitNotSent, Text: a.Error}
	}
	return why
}

// failureOutcome has a failed attempt repeated after the next back-off of its call, or makes the
// run dead when none is left.
func failureOutcome(o ledger.Outcome, c ledger.CallSpec, a Answer, rnd func() float64) ledger.Outcome {
	o.Failures++
	if o.Failures > len(c.Backoff) {
		o.State, o.Reason = ledger.Dead, ledger.ReasonExhausted
		return o
	}
	o.State = ledger.Retrying
	step := c.Backoff[o.Failures-1]
	o.Wait = jittered(step, c.Jitter, rnd)
	if requested := capped(a.RetryAfter, c.MaxRetryAfter); requested > o.Wait {
		o.Wait = jitteredAfter(requested, step, rnd)
	}
	return o
}

// jitteredAfter spreads what a target asks for evenly over d to d+by. A target that takes one
// call a second tells all others the same time.
func jitteredAfter(d, by time.Duration, rnd func() float64) time.Duration {
	return d + time.Duration(float64(by)*rnd())
}

// jittered spreads d evenly over d*(1-by) to d*(1+by), so that what failed
// together does not come back together.
func jittered(d time.Duration, by float64, rnd func() float64) time.Duration {
	if by <= 0 {
		return d
	}
	return time.Duration(float64(d) * (1 + by*(2*rnd()-1)))
}

// capped returns d, or limit if that is set and shorter.
func capped(d, limit time.Duration) time.Duration {
	if limit > 0 && d > limit {
		return limit
	}
	return d
}

// orElse returns d if it is positive, or else another duration.
func orElse(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}
