package ledger

import (
	"context"
	"time"
)

// Claim leases due runs. See Claim.
func (l *Ledger) Claim(ctx context.Context, c Claim) (Claimed, error) {
	var got Claimed
	granted := false
	for {
		step, err := write(ctx, l, "claim", func(tx Tx) (claimStep, error) {
			return claim(tx, c, c.Limit-len(got.Work), granted)
		})
		if err != nil {
			return got, err
		}
		got.Now, got.NextAt = step.Now, step.NextAt
		got.Work = append(got.Work, step.Work...)
		got.PastSendBefore = append(got.PastSendBefore, step.PastSendBefore...)
		if len(step.free) > 0 {
			if err := l.grantFree(ctx, step.free); err != nil {
				return got, err
			}
		}
		// Runs past their SendBefore took places in the batch, and free slots.
		granted = len(step.PastSendBefore) == 0
		if granted && len(step.free) == 0 || len(got.Work) >= c.Limit {
			return got, nil
		}
	}
}

// claimStep is what one transaction claimed, and the jobs whose slots are to be given
// first: the oldest run goes first.
type claimStep struct {
	Claimed
	free []string
}

func claim(tx Tx, c Claim, limit int, granted bool) (claimStep, error) {
	due, err := tx.Due(DueQuery{Limit: limit, BusyTargets: c.BusyTargets, BusyJobs: c.BusyJobs, Only: c.Only, Granted: granted})
	if err != nil {
		return claimStep{}, err
	}
	now := tx.Now()
	got := claimStep{Claimed: Claimed{Now: now, NextAt: due.Next}}
	if !granted && len(due.Free) > 0 {
		got.free = due.Free
		return got, nil
	}
	changes := make([]Change, len(due.Runs))
	var dead []problem
	for i := range due.Runs {
		r := &due.Runs[i]
		changes[i] = takeDue(r, c, now)
		switch r.State {
		case Running:
			got.Work = append(got.Work, r.work())
			if got.NextAt.IsZero() || r.LeasedUntil.Before(got.NextAt) {
				got.NextAt = r.LeasedUntil
			}
		default:
			got.PastSendBefore = append(got.PastSendBefore, r.View())
			dead = append(dead, problem{JobID: r.JobID, RunID: r.ID, Reason: r.Reason, Count: r.Count})
		}
	}
	if err := updateAll(tx, changes); err != nil {
		return got, err
	}
	return got, openIncidents(tx, IncidentDead, dead)
}

// takeDue leases a due run, or makes it dead if it is at or past its SendBefore: the
// target may have forgotten its key.
func takeDue(r *Row, c Claim, now time.Time) Change {
	was := *r
	if r.pastSendBefore(now) {
		r.finish(Dead, ReasonKeyExpired, now)
		r.dropLease()
	} else {
		r.lease(c.Owner, c.Token, now, c.LeaseFor)
	}
	ch := Changed(&was, r)
	ch.Attempt = was.lostAttempt(now)
	return ch
}

// pastSendBefore reports whether the time is at or past the run's SendBefore.
func (r *Row) pastSendBefore(now time.Time) bool {
	return !r.SendBefore.IsZero() && !now.Before(r.SendBefore)
}

// lostAttempt returns the attempt of a lease that ends without a recorded outcome: it
// may have been sent. It returns nil for a run that is not leased.
func (r *Row) lostAttempt(now time.Time) *Attempt {
	if r.State != Running {
		return nil
	}
	return &Attempt{RunID: r.ID, N: r.Attempt, StartedAt: r.LeasedAt, FinishedAt: now, Answer: AnswerLost, Owner: r.LeasedBy}
}

// dropLease forgets the lease, so that the record of its holder is fenced.
func (r *Row) dropLease() { r.LeasedBy, r.Token, r.LeasedAt = "", "", time.Time{} }

// finish ends a run, which gives its slot back.
func (r *Row) finish(to State, why Reason, now time.Time) {
	r.moveTo(to, why, time.Time{})
	r.WaitReason, r.FinishedAt = WaitReason{}, now
	r.Waiting, r.HasSlot = false, false
}

// LeasedWork returns the work that is leased under a token, oldest scheduled time first.
func (l *Ledger) LeasedWork(ctx context.Context, token string) ([]Work, error) {
	return read(ctx, l, "read leased work", func(tx Tx) (work []Work, err error) {
		rows, err := tx.Runs(RunQuery{Token: token, Filter: Filter{States: []State{Running}}, Oldest: true, Body: true})
		for i := range rows {
			work = append(work, rows[i].work())
		}
		return work, err
	})
}
