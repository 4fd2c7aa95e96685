package ledger

import "context"

// grant gives the free slots of jobs, which are locked, to the oldest runs that wait
// for them. A run that finishes gives its slot back without a look at who waits, as it
// has no lock of its job. So whoever needs a slot grants the free ones first.
func grant(tx Tx, jobIDs []string) error {
	if len(jobIDs) == 0 {
		return nil
	}
	rows, err := tx.Free(jobIDs)
	if err != nil {
		return err
	}
	changes := make([]Change, len(rows))
	for i := range rows {
		r := &rows[i]
		was := *r
		r.Waiting, r.HasSlot = false, true
		changes[i] = Changed(&was, r)
	}
	// A run that was canceled meanwhile no longer waits, and stays as it is.
	_, err = update(tx, changes)
	return err
}

// grantFree locks jobs and gives their free slots.
func (l *Ledger) grantFree(ctx context.Context, jobIDs []string) error {
	jobIDs = sortedSet(jobIDs)
	return l.rows.Write(ctx, "give free slots", func(tx Tx) error {
		if _, err := tx.Jobs(jobIDs); err != nil {
			return err
		}
		return grant(tx, jobIDs)
	})
}
