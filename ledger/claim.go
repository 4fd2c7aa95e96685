package ledger

import (
	"context"
	"slices"
	"time"
)

// Claim leases due runs, as the type Claim describes.
func (l *Ledger) Claim(ctx context.Context, c Claim) (Claimed, error) {
	var got Claimed
	again := false // it is to look further at once
	for look := l.free.look(c.Only); ; {
		step, err := write(ctx, l, "claim", func(tx Tx) (claimStep, error) { return claim(tx, c, c.Limit-len(got.Work), look) })
		if err != nil {
			l.free.failed(look)
			return got, err
		}
		if again = l.free.looked(look, step.found, step.Now) || again; again {
			step.wake(step.Now)
		}
		got.Now, got.NextAt = step.Now, step.NextAt
		got.Work = append(got.Work, step.Work...)
		got.PastSendBefore = append(got.PastSendBefore, step.PastSendBefore...)
		if len(step.free) > 0 {
			err := l.rows.Write(ctx, "give free slots", func(tx Tx) error { return grantFree(tx, step.free) })
			if err != nil {
				return got, err
			}
		}
		// Runs past their SendBefore took places in the batch, and free slots.
		expired := len(step.PastSendBefore) > 0
		if !expired && len(step.free) == 0 || len(got.Work) >= c.Limit {
			return got, nil
		}
		if look = (freeLook{}); expired {
			look = l.free.look(c.Only)
		}
	}
}

// claimStep is what one transaction claimed, and the jobs whose free slots are to be given.
// It claims nothing before that if there are more due runs than it may claim, as the oldest
// run goes first.
type claimStep struct {
	Claimed
	found freed
	free  []WaitingJob
	// holdEnds is when the first of the holds that kept back due runs ends.
	holdEnds time.Time
}

func claim(tx Tx, c Claim, limit int, look freeLook) (got claimStep, err error) {
	q := DueQuery{Limit: limit, BusyTargets: c.BusyTargets, BusyJobs: c.BusyJobs, Only: c.Only, States: Claimable}
	due, err := got.due(tx, q, look)
	if err != nil || len(got.free) > 0 && len(due) >= limit {
		return got, err
	}
	got.wake(got.holdEnds)
	changes := make([]Change, len(due))
	var dead []problem
	for i := range due {
		r := &due[i]
		changes[i] = takeDue(r, c, got.Now)
		if r.State == Running {
			got.Work = append(got.Work, r.work())
			got.wake(r.LeasedUntil)
			continue
		}
		got.PastSendBefore = append(got.PastSendBefore, r.Visible())
		if r.Parent == "" {
			dead = append(dead, problem{JobID: r.JobID, RunID: r.ID, Reason: r.Reason, Count: r.Count})
		}
	}
	if err := update(tx, changes); err != nil {
		return got, err
	}
	return got, openIncidents(tx, IncidentDead, dead, got.Now)
}

// due locks and returns the due runs that may be claimed. Free slots are given first, if no run
// is locked, so that jobs may be.
func (got *claimStep) due(tx Tx, q DueQuery, look freeLook) ([]Row, error) {
	free, freeOf := look.ask(tx)
	asked, next, paused := tx.LockDue(q), tx.NextDue(), tx.Pauses(time.Time{})
	var err error
	if got.Now, err = tx.Now(); err != nil {
		return nil, err
	}
	if got.found.next, err = free.Get(); err != nil {
		return nil, err
	}
	if got.found.jobs, err = freeOf.Get(); err != nil {
		return nil, err
	}
	got.free = got.found.free()
	due, err := asked.Get()
	if err == nil && len(got.free) > 0 && len(due) == 0 {
		if err = grantFree(tx, got.free); err == nil {
			got.free, asked, next = nil, tx.LockDue(q), tx.NextDue()
			due, err = asked.Get()
		}
	}
	if err != nil {
		return nil, err
	}
	if due, err = withoutHeldTargets(tx, q, got, due, paused); err == nil {
		got.NextAt, err = next.Get()
	}
	return due, err
}

// wake makes NextAt a time, if that is earlier and not zero.
func (got *claimStep) wake(at time.Time) {
	if !at.IsZero() && (got.NextAt.IsZero() || at.Before(got.NextAt)) {
		got.NextAt = at
	}
}

// takeDue leases a due run, or makes it dead if it is at or past its SendBefore: the
// target may have forgotten its key.
func takeDue(r *Row, c Claim, now time.Time) Change {
	was := *r
	if r.pastSendBefore(now) {
		r.finish(Dead, ReasonKeyExpired, now)
		r.dropLease()
	} else {
		r.lease(c.Process, c.Token, now, c.LeaseFor)
	}
	ch := Changed(&was, r)
	ch.Attempt = was.lostAttempt(now)
	return ch
}

// LeasedWork returns the work that is leased under a token, oldest scheduled time first.
func (l *Ledger) LeasedWork(ctx context.Context, token string) ([]Work, error) {
	return read(ctx, l, "read leased work", func(tx Tx) (work []Work, err error) {
		rows, err := tx.Leased(token).Get()
		for i := range rows {
			work = append(work, rows[i].work())
		}
		return work, err
	})
}

// withoutHeldTargets returns the due runs without those of held targets, in whose places it asks for
// others. Usually no target is held, and this costs no round trip.
func withoutHeldTargets(tx Tx, q DueQuery, got *claimStep, due []Row, asked Future[[]Pause]) ([]Row, error) {
	list, err := asked.Get()
	if err != nil || len(due) == 0 {
		return due, err
	}
	var held []string
	for i := range due {
		if p := pauses(list).hold(due[i].Call.Target, got.Now); p != nil {
			held = append(held, p.Target)
			if got.holdEnds.IsZero() || p.Until.Before(got.holdEnds) {
				got.holdEnds = p.Until
			}
		}
	}
	if len(held) == 0 {
		return due, nil
	}
	q.BusyTargets = slices.Concat(q.BusyTargets, pauses(list).heldTargets(got.Now))
	return tx.LockDue(q).Get()
}
