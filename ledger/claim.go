package ledger

import (
	"context"
	"slices"
	"time"
)

// Claim leases due runs, as ClaimRequest describes. It may take several transactions: one that
// finds free slots gives them and claims again, since the runs that wait for them may be older; and
// so does one that found runs past their SendBefore, which took places in the batch.
func (l *Ledger) Claim(ctx context.Context, c ClaimRequest) (Claimed, error) {
	var got Claimed
	again := false // whether to scan on at once
	for scan := l.scanner.next(c.Only); ; {
		step, err := write(ctx, l, "claim", func(tx Tx) (claimStep, error) { return claim(tx, c, c.Limit-len(got.Work), scan) })
		if err != nil {
			l.scanner.retry(scan)
			return got, err
		}
		if again = l.scanner.finish(scan, step.scanned, step.Now) || again; again {
			step.wakeBy(step.Now)
		}
		got.Now, got.NextAt = step.Now, step.NextAt
		got.Work = append(got.Work, step.Work...)
		got.PastSendBefore = append(got.PastSendBefore, step.PastSendBefore...)
		if len(step.freeJobs) > 0 {
			err := l.rows.Write(ctx, "give free slots", func(tx Tx) error { return grantFree(tx, step.freeJobs) })
			if err != nil {
				return got, err
			}
		}
		// Runs past their SendBefore took places in the batch, and free slots.
		expired := len(step.PastSendBefore) > 0
		if !expired && len(step.freeJobs) == 0 || len(got.Work) >= c.Limit {
			return got, nil
		}
		scan = slotScan{}
		if expired {
			scan = l.scanner.next(c.Only)
		}
	}
}

// claimStep has the runs that one transaction claimed, and the jobs whose free slots the next one grants.
// If there are such jobs, and as many due runs as it may claim, it claims none: a run that gets a
// slot may be older, and the oldest run goes first.
type claimStep struct {
	Claimed
	scanned  scanResult
	freeJobs []WaitingJob
	// holdEnds is when the first of the holds that kept back due runs ends.
	holdEnds time.Time
}

// claim is one transaction of Claim. It locks due runs, leases those that may still be sent and
// makes the others dead, with their incidents.
func claim(tx Tx, c ClaimRequest, limit int, scan slotScan) (got claimStep, err error) {
	q := DueQuery{Limit: limit, BusyTargets: c.BusyTargets, BusyJobs: c.BusyJobs, Only: c.Only, States: Claimable}
	due, err := got.due(tx, q, scan)
	if err != nil || len(got.freeJobs) > 0 && len(due) >= limit {
		return got, err
	}
	got.wakeBy(got.holdEnds)
	changes := make([]RowChange, len(due))
	var dead []problem
	for i := range due {
		r := &due[i]
		changes[i] = takeDue(r, c, got.Now)
		if r.State == Running {
			got.Work = append(got.Work, r.work())
			got.wakeBy(r.LeasedUntil)
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
func (got *claimStep) due(tx Tx, q DueQuery, scan slotScan) ([]Row, error) {
	waitingFuture, namedFuture := scan.query(tx)
	dueFuture, nextFuture, pausesFuture := tx.LockDue(q), tx.NextDue(), tx.Pauses(time.Time{})
	var err error
	if got.Now, err = tx.Now(); err != nil {
		return nil, err
	}
	got.scanned.next, got.scanned.jobs = take(&err, waitingFuture), take(&err, namedFuture)
	if err != nil {
		return nil, err
	}
	got.freeJobs = got.scanned.freeJobs()
	due, err := dueFuture.Get()
	if err == nil && len(got.freeJobs) > 0 && len(due) == 0 {
		if err = grantFree(tx, got.freeJobs); err == nil {
			got.freeJobs, dueFuture, nextFuture = nil, tx.LockDue(q), tx.NextDue()
			due, err = dueFuture.Get()
		}
	}
	if err != nil {
		return nil, err
	}
	if due, err = withoutHeldTargets(tx, q, got, due, pausesFuture); err == nil {
		got.NextAt, err = nextFuture.Get()
	}
	return due, err
}

// wakeBy makes NextAt a time, if that is earlier and not zero.
func (got *claimStep) wakeBy(at time.Time) {
	if !at.IsZero() && (got.NextAt.IsZero() || at.Before(got.NextAt)) {
		got.NextAt = at
	}
}

// takeDue leases a due run, or makes it dead if it is at or past its SendBefore: the
// target may have forgotten its key.
func takeDue(r *Row, c ClaimRequest, now time.Time) RowChange {
	old := *r
	if r.pastSendBefore(now) {
		r.finish(Dead, ReasonKeyExpired, now)
		r.dropLease()
	} else {
		r.lease(c.Process, c.Token, now, c.LeaseFor)
	}
	ch := DiffRows(&old, r)
	ch.Attempt = old.lostAttempt(now)
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

// withoutHeldTargets returns the due runs without those of held targets, in whose places it asks
// for others. Usually no target is held, and this costs no round trip.
func withoutHeldTargets(tx Tx, q DueQuery, got *claimStep, due []Row, pausesFuture Future[[]Pause]) ([]Row, error) {
	list, err := pausesFuture.Get()
	if err != nil || len(due) == 0 {
		return due, err
	}
	var held []string
	for i := range due {
		if p := pauses(list).holdOf(due[i].Call.Target, got.Now); p != nil {
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
