package memory

import (
	"context"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// Claim leases what is due; see ledger.Claim.
func (l *Ledger) Claim(ctx context.Context, c ledger.Claim) (ledger.Claimed, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return ledger.Claimed{}, err
	}
	defer l.mu.Unlock()
	got := ledger.Claimed{Now: now}
	var left []*record
	l.queue.advance(now)
	for len(got.Work) < c.Limit {
		r := l.queue.pop()
		if r == nil {
			break
		}
		switch {
		case len(c.Only) > 0 && !slices.Contains(c.Only, r.ID):
			left = append(left, r)
		case pastSendBefore(r, now):
			l.loseAttempt(r, now)
			l.finish(r, ledger.Dead, ledger.ReasonKeyExpired, now)
			got.PastSendBefore = append(got.PastSendBefore, r.Run)
			l.queue.advance(now) // its slot's next may be due
		case slices.Contains(c.BusyTargets, r.Call.Target), slices.Contains(c.BusyJobs, r.JobID):
			left = append(left, r)
		default:
			l.loseAttempt(r, now)
			got.Work = append(got.Work, l.lease(r, c.Owner, c.Token, now, c.LeaseFor))
		}
	}
	l.openIncidents(ledger.IncidentDead, ledgerrules.DeadProblems(got.PastSendBefore), now)
	for _, r := range left {
		l.place(r)
	}
	l.queue.advance(now)
	if len(l.queue.later) > 0 {
		got.NextAt = l.queue.later[0].due()
	}
	return got, nil
}

// pastSendBefore reports whether the time is at or past the run's SendBefore.
func pastSendBefore(r *record, now time.Time) bool {
	return !r.SendBefore.IsZero() && !now.Before(r.SendBefore)
}

// loseAttempt ends a lease without a recorded outcome; its attempt may have been sent.
func (l *Ledger) loseAttempt(r *record, now time.Time) {
	if r.State != ledger.Running {
		return
	}
	r.attempts = append(r.attempts, ledger.Attempt{
		RunID: r.ID, N: r.Attempt, StartedAt: r.leasedAt, FinishedAt: now,
		Answer: ledger.AnswerLost, Owner: r.LeasedBy,
	})
	l.dropLease(r)
}

// dropLease deletes a run's lease.
func (l *Ledger) dropLease(r *record) {
	delete(l.leases[r.token], r.ID)
	if len(l.leases[r.token]) == 0 {
		delete(l.leases, r.token)
	}
	r.token, r.LeasedBy, r.LeasedUntil = "", "", time.Time{}
}

// lease gives a run to a process.
func (l *Ledger) lease(r *record, owner, token string, now time.Time, d time.Duration) ledger.Work {
	l.queue.remove(r)
	l.move(r, ledger.Running, "")
	if r.StartedAt.IsZero() {
		r.StartedAt, r.SendBefore = now, now.Add(r.Call.Horizon)
	}
	r.Attempt++
	r.NextAt = time.Time{}
	r.LeasedBy, r.LeasedUntil, r.leasedAt = owner, now.Add(d), now
	r.token, r.recordedToken = token, ""
	if l.leases[token] == nil {
		l.leases[token] = map[string]*record{}
	}
	l.leases[token][r.ID] = r
	l.place(r)
	return r.work()
}

// work is what the holder of a lease gets.
func (r *record) work() ledger.Work {
	return ledger.Work{
		RunID: r.ID, JobID: r.JobID, ScheduledAt: r.ScheduledAt, Trigger: r.Trigger,
		Attempt: r.Attempt, Failures: r.Failures, SendBefore: r.SendBefore,
		LeasedUntil: r.LeasedUntil, AcceptedAt: r.AcceptedAt, Token: r.token, Call: r.Call,
	}
}

// LeasedWork returns the work that is leased under a token, oldest scheduled time first.
func (l *Ledger) LeasedWork(ctx context.Context, token string) ([]ledger.Work, error) {
	if _, err := l.begin(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	var held []*record
	for _, r := range l.leases[token] {
		held = insertSorted(held, r)
	}
	var ws []ledger.Work
	for _, r := range held {
		ws = append(ws, r.work())
	}
	return ws, nil
}
