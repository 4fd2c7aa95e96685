package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Extend moves the ends of leases to now + d, and returns the leases that are lost.
func (l *Ledger) Extend(ctx context.Context, leases []Lease, d time.Duration) ([]Lease, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	return write(ctx, l, "extend leases", func(tx Tx) (lost []Lease, err error) {
		changes, rows := make([]Change, len(leases)), make([]Row, len(leases))
		for i, h := range leases {
			rows[i].ID, rows[i].State, rows[i].LeasedUntil = h.RunID, Running, tx.Now().Add(microsecond(d))
			changes[i] = Change{Row: &rows[i], From: Running, LeasedAs: h.leasedAs(), Set: ColDue, Unlisted: true}
		}
		held, err := update(tx, changes)
		for i, ok := range held {
			if !ok {
				lost = append(lost, leases[i])
			}
		}
		return lost, err
	})
}

// leasedAs returns the token that the lease's run must be leased under. A lease without
// a token holds nothing: it gets one that no lease has.
func (h Lease) leasedAs() string { return cmp.Or(h.Token, "none") }

// Record writes outcomes, each fenced by its lease's token, and returns a result for
// each, in order. See Store.
func (l *Ledger) Record(ctx context.Context, outcomes []Outcome) ([]RecordResult, error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	return write(ctx, l, "record", func(tx Tx) ([]RecordResult, error) { return record(tx, outcomes) })
}

func record(tx Tx, outcomes []Outcome) ([]RecordResult, error) {
	rows, err := readContinued(tx, outcomes)
	if err != nil {
		return nil, err
	}
	changes := make([]Change, len(outcomes))
	for i := range outcomes {
		if changes[i], err = outcomes[i].change(&rows[i], tx.Now()); err != nil {
			return nil, err
		}
	}
	written, err := update(tx, changes)
	if err != nil {
		return nil, err
	}
	results := make([]RecordResult, len(outcomes))
	var ended incidentChanges
	var open []int
	for i, ok := range written {
		if ok {
			results[i] = Recorded
			ended.add(outcomes[i])
		} else {
			open = append(open, i)
		}
	}
	if err := findRecorded(tx, outcomes, open, results); err != nil {
		return nil, err
	}
	return results, ended.write(tx)
}

// readContinued returns a row for each outcome. It locks and reads those of the runs that
// continue, whose outcome depends on their row. An outcome that ends a run, or a failed
// attempt, says everything itself.
func readContinued(tx Tx, outcomes []Outcome) ([]Row, error) {
	rows := make([]Row, len(outcomes))
	var ids []string
	for i := range outcomes {
		o := &outcomes[i]
		rows[i].ID = o.RunID
		if o.State == Planned || o.State == Accepted {
			ids = append(ids, o.RunID)
		}
	}
	if len(ids) == 0 {
		return rows, nil
	}
	found, err := tx.Runs(RunQuery{Filter: Filter{IDs: ids}, Lock: true})
	byID := make(map[string]*Row, len(found))
	for i := range found {
		byID[found[i].ID] = &found[i]
	}
	for i := range rows {
		if r := byID[rows[i].ID]; r != nil {
			rows[i] = *r
		}
	}
	return rows, err
}

// change applies the outcome to its run's row, of which only the ID is needed for an
// outcome that ends the run or a failed attempt.
func (o *Outcome) change(r *Row, now time.Time) (Change, error) {
	c := Change{Row: r, Set: ColState | ColDue | ColWait, From: Running, LeasedAs: o.leasedAs()}
	if o.Attempt.N != 0 && o.State != Planned {
		c.Attempt = &o.Attempt
		r.Status = o.Attempt.Status
		c.Set |= ColStatus
	}
	r.moveTo(o.State, "", now.Add(microsecond(max(o.Wait, 0))))
	r.WaitReason = WaitReason{}
	switch o.State {
	case Succeeded, Dead:
		r.finish(o.State, o.Reason, now)
		r.Failures, r.Replayed = o.Failures, o.Replayed
		c.Set |= ColFinished | ColSlot | ColFailures | ColReplayed
	case Retrying:
		r.Failures = o.Failures
		c.Set |= ColFailures
	case Accepted:
		o.accept(r, now)
		c.Set |= ColAttempt | ColFailures | ColAccepted | ColProgress
	case Planned:
		r.Attempt--
		r.WaitReason = o.WaitReason.Storable()
		c.Set |= ColAttempt
	default:
		return c, fmt.Errorf("invalid outcome %q; valid outcomes: succeeded, retrying, accepted, dead, planned", o.State)
	}
	return c, nil
}

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

// findRecorded distinguishes a repeated record from a lost lease: a lease's token stays
// in the row until the next lease or a cancel.
func findRecorded(tx Tx, outcomes []Outcome, open []int, results []RecordResult) error {
	if len(open) == 0 {
		return nil
	}
	ids := make([]string, len(open))
	for n, i := range open {
		ids[n] = outcomes[i].RunID
		results[i] = Fenced
	}
	rows, err := tx.Runs(RunQuery{Filter: Filter{IDs: ids}, Oldest: true})
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	for _, i := range open {
		n, found := slices.BinarySearchFunc(rows, outcomes[i].RunID, func(r Row, id string) int { return cmp.Compare(r.ID, id) })
		if found && rows[n].State != Running && rows[n].Token == outcomes[i].Token && rows[n].Token != "" {
			results[i] = Recorded
		}
	}
	return err
}
