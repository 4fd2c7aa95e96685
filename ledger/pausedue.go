package ledger

import "time"

// duePage is how many runs moveDue changes at once.
const duePage = 500

// moveDue makes the runs that wait for the end of a pause that catches up due at its new end.
// Their rows lack owners and labels, so of two pauses that may cover a run, the later end counts.
func moveDue(tx Tx, was, p Pause) error {
	list, err := tx.Pauses(time.Time{}).Get()
	if err != nil {
		return err
	}
	f := Filter{States: []State{Planned}, Since: was.From, Until: was.Until, Limit: duePage}
	for {
		page, err := tx.Runs(f).Get()
		if err != nil || len(page) == 0 {
			return err
		}
		var ids []string
		for i := range page {
			if r := &page[i]; r.DueAt().Equal(was.Until) && was.mayCover(r) {
				ids = append(ids, r.ID)
			}
		}
		var rows []Row
		if len(ids) > 0 {
			if rows, err = tx.LockRuns(ids).Get(); err != nil {
				return err
			}
		}
		var changes []Change
		for i := range rows {
			r := &rows[i]
			before, due := *r, p.Until
			if r.State != Planned || !r.DueAt().Equal(was.Until) {
				continue // it was leased or changed meanwhile
			}
			for _, other := range list {
				if other.ID != p.ID && other.mayCover(r) && other.Until.After(due) {
					due = other.Until
				}
			}
			r.SetDueAt(due)
			changes = append(changes, Changed(&before, r))
		}
		if err := update(tx, changes); err != nil || len(page) < duePage {
			return err
		}
		last := page[len(page)-1]
		f.After = &Cursor{last.ScheduledAt, last.ID}
	}
}

// settled locks the pauses that catch up and cover what is written, before any run is locked, and
// returns all as they are then: what is written due at the end of one moves with it. See moveDue.
func (list pauses) settled(tx Tx, covers func(Pause) bool) (pauses, error) {
	for i := range list {
		if list[i].Kind != PauseCatchUp || !covers(list[i]) {
			continue
		}
		locked, err := tx.LockPause(list[i].ID).Get()
		if err != nil {
			return nil, err
		}
		for _, p := range locked {
			list[i] = p
		}
	}
	return list, nil
}

// mayCover reports whether the pause keeps back the run, if the job has its owner and labels.
func (p Pause) mayCover(r *Row) bool {
	p.Owner, p.Labels = "", nil
	return p.Kind == PauseCatchUp && p.Covers(r.JobID, Traits{Target: r.Call.Target}, r.ScheduledAt)
}
