package ledger

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Extend moves the ends of leases to now + d, and returns the leases that are lost: another process
// took the run over, or an operator canceled it. It writes no history, and listings do not show it.
func (l *Ledger) Extend(ctx context.Context, leases []Lease, d time.Duration) ([]Lease, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	extendedFuture, err := write(ctx, l, "extend leases", func(tx Tx) (Future[[]bool], error) {
		now, err := tx.Now()
		if err != nil {
			return Future[[]bool]{}, err
		}
		changes, rows := make([]RowChange, len(leases)), make([]Row, len(leases))
		for i, lease := range leases {
			rows[i].ID, rows[i].State, rows[i].LeasedUntil = lease.RunID, Running, now.Add(microsecond(d))
			changes[i] = RowChange{Row: &rows[i], From: Running, LeasedAs: lease.leasedAs(), Set: ColDue, Unlisted: true}
		}
		return updateFenced(tx, changes), nil
	})
	if err != nil {
		return nil, err
	}
	extended, err := extendedFuture.Get()
	var lost []Lease
	for i, ok := range extended {
		if !ok {
			lost = append(lost, leases[i])
		}
	}
	return lost, err
}

// leasedAs returns the token that the lease's run must be leased under. A lease without
// a token holds nothing: it gets one that no lease has.
func (l Lease) leasedAs() string { return cmp.Or(l.Token, "none") }

// Record writes outcomes, each fenced by its lease's token, and returns a result for each, in
// order. An expired lease may still record, as long as no other process has taken the run over. It
// may be repeated with the same outcomes after an error.
func (l *Ledger) Record(ctx context.Context, outcomes []Outcome) ([]RecordResult, error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	writtenFuture, err := write(ctx, l, "record", func(tx Tx) (Future[[]bool], error) { return record(tx, outcomes) })
	if err != nil {
		return nil, err
	}
	written, err := writtenFuture.Get()
	if err != nil {
		return nil, err
	}
	return l.results(ctx, outcomes, written)
}

// record writes outcomes, and returns which were written. Usually an outcome says all that its row
// becomes, and one statement writes them all; only some need their row, an incident or an excerpt.
func record(tx Tx, outcomes []Outcome) (writtenFuture Future[[]bool], err error) {
	openFuture, earlierFuture := queryIncidents(tx, outcomes)
	rowsFuture := lockDependent(tx, outcomes)
	now, err := tx.Now()
	if err != nil {
		return writtenFuture, err
	}
	rows, err := outcomeRows(rowsFuture, outcomes)
	if err != nil {
		return writtenFuture, err
	}
	changes := make([]RowChange, len(outcomes))
	for i := range outcomes {
		if changes[i], err = outcomes[i].change(&rows[i], now); err != nil {
			return writtenFuture, err
		}
	}
	writtenFuture = updateFenced(tx, changes)
	incidents, err := openFuture.Get()
	if err != nil {
		return writtenFuture, err
	}
	dead, err := earlierFuture.Get()
	if err != nil || len(incidents) == 0 && len(dead) == 0 && !haveSideEffects(outcomes) {
		return writtenFuture, err // usual; which were written is not needed here
	}
	var ended incidentChanges
	excerpts, err := ended.addWritten(outcomes, writtenFuture, now)
	if err == nil {
		err = ended.apply(tx, openFuture, earlierFuture, now)
	}
	if err == nil && len(excerpts) > 0 {
		err = tx.PutExcerpts(excerpts)
	}
	return writtenFuture, err
}

// addWritten adds the outcomes that were written, and returns what is kept of their answers.
func (c *incidentChanges) addWritten(outcomes []Outcome, writtenFuture Future[[]bool], now time.Time) (excerpts []Excerpt, err error) {
	written, err := writtenFuture.Get()
	for i := range written {
		if !written[i] {
			continue
		}
		c.add(&outcomes[i])
		if e, keep := outcomes[i].excerpt(now); keep {
			excerpts = append(excerpts, e)
		}
	}
	return excerpts, err
}

// haveSideEffects reports whether an outcome that is written opens an incident, or has an excerpt.
func haveSideEffects(outcomes []Outcome) bool {
	for i := range outcomes {
		if outcomes[i].State == Dead || !outcomes[i].KeySafeUntil.IsZero() || outcomes[i].Excerpt != "" {
			return true
		}
	}
	return false
}

// queryIncidents asks for the open incidents of the jobs that succeeded, and for the dead runs that
// their successes may acknowledge.
func queryIncidents(tx Tx, outcomes []Outcome) (Future[[]Incident], Future[[]Row]) {
	var succeeded incidentChanges
	for i := range outcomes {
		if outcomes[i].State == Succeeded {
			succeeded.add(&outcomes[i])
		}
	}
	return succeeded.queryOpen(tx), succeeded.queryEarlierDead(tx)
}

// lockDependent locks the runs whose outcome depends on their row. An outcome that ends a
// run by an attempt, or a failed attempt, says everything itself.
func lockDependent(tx Tx, outcomes []Outcome) Future[[]Row] {
	var ids []string
	for i := range outcomes {
		if s := outcomes[i].State; s == Planned || s == Accepted || s == FannedOut || outcomes[i].unsent() || outcomes[i].expiresEarly() {
			ids = append(ids, outcomes[i].RunID)
		}
	}
	if len(ids) == 0 {
		return Future[[]Row]{}
	}
	return tx.LockRuns(ids)
}

// outcomeRows returns a row for each outcome: that of a run that continues as it is, of
// others only the ID.
func outcomeRows(rowsFuture Future[[]Row], outcomes []Outcome) ([]Row, error) {
	found, err := rowsFuture.Get()
	byID := make(map[string]*Row, len(found))
	for i := range found {
		byID[found[i].ID] = &found[i]
	}
	rows := make([]Row, len(outcomes))
	for i := range outcomes {
		rows[i].ID = outcomes[i].RunID
		if r := byID[rows[i].ID]; r != nil {
			rows[i] = *r
		}
	}
	return rows, err
}

// change applies the outcome to its run's row. Only those that lockDependent names need more of the
// row than its ID.
func (o *Outcome) change(r *Row, now time.Time) (RowChange, error) {
	c := RowChange{Row: r, Set: ColState | ColDue | ColWait, From: Running, LeasedAs: o.leasedAs()}
	if o.Attempt.N != 0 && o.State != Planned {
		c.Attempt = &o.Attempt
		r.Status = o.Attempt.Status
		c.Set |= ColStatus
	}
	r.moveTo(o.State, "", now.Add(microsecond(max(o.Wait, 0))))
	r.WaitReason = WaitReason{}
	if o.expiresEarly() {
		r.endKeySafety(o.KeySafeUntil)
		c.Set |= ColStart
	}
	switch o.State {
	case Succeeded, Dead:
		r.finish(o.State, o.Reason, now)
		r.Failures, r.Replayed = o.Failures, o.Replayed
		c.Set |= ColFinished | ColSlot | ColFailures | ColReplayed
		if o.unsent() {
			r.Attempt--
			c.Set |= ColAttempt
		}
	case Retrying:
		r.Failures = o.Failures
		c.Set |= ColFailures
	case Accepted:
		o.accept(r, now)
		c.Set |= ColAttempt | ColFailures | ColAccepted | ColProgress
	case FannedOut:
		o.fanOut(r)
		c.Set |= ColAttempt | ColFailures | ColFan
	case Planned:
		r.Attempt--
		r.WaitReason = o.WaitReason.Storable()
		c.Set |= ColAttempt
	default:
		return c, fmt.Errorf("invalid outcome %q; valid outcomes: succeeded, retrying, accepted, fanned_out, dead, planned", o.State)
	}
	return c, nil
}

// unsent reports whether the run ends without the attempt that it was leased for: its
// send-before time came first. The next attempt, after a redrive, gets the same number.
func (o *Outcome) unsent() bool { return o.State == Dead && o.Attempt.N == 0 }

// expiresEarly reports whether the run may be sent again, and its key expires before the
// row says.
func (o *Outcome) expiresEarly() bool { return o.State != Succeeded && !o.KeySafeUntil.IsZero() }

// accept keeps what the target said of the work that it goes on with.
func (o *Outcome) accept(r *Row, now time.Time) {
	if o.Attempt.N == 0 { // it was asked again, and still works
		r.Attempt--
	}
	if r.AcceptedAt.IsZero() {
		r.AcceptedAt = now
	}
	if o.Progress != "" {
		r.Progress = StorableProgress(o.Progress)
	}
	r.Failures = o.Failures
}

// fanOut makes the list of a parent final. If it was frozen before, nothing was sent.
func (o *Outcome) fanOut(r *Row) {
	r.Failures = o.Failures
	if o.Attempt.N == 0 {
		r.Attempt--
	}
	if !r.Fan.Frozen() {
		r.Fan = Fan{Members: o.Members}
	}
}

// results returns the result of each outcome. It distinguishes a repeated record from a
// lost lease: a lease's token stays in the row until the next lease, a cancel, or a claim that
// makes the run dead.
func (l *Ledger) results(ctx context.Context, outcomes []Outcome, written []bool) ([]RecordResult, error) {
	results := make([]RecordResult, len(outcomes))
	var ids []string
	for i := range outcomes {
		results[i] = Recorded
		if !written[i] {
			results[i] = Fenced
			ids = append(ids, outcomes[i].RunID)
		}
	}
	if len(ids) == 0 {
		return results, nil
	}
	rows, err := read(ctx, l, "record", func(tx Tx) ([]Row, error) { return tx.Runs(Filter{IDs: ids}).Get() })
	recorded := map[Lease]bool{}
	for i := range rows {
		if r := &rows[i]; r.State != Running && r.Token != "" {
			recorded[Lease{RunID: r.ID, Token: r.Token}] = true
		}
	}
	for i := range outcomes {
		if recorded[outcomes[i].Lease] {
			results[i] = Recorded
		}
	}
	return results, err
}
