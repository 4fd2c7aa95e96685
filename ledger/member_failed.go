package ledger

import "slices"

// FailedCount counts the members of a parent in a finished state other than Succeeded.
type FailedCount struct {
	Parent string
	State  State
	AckedOrRerunCount
}

// ofFailedMembers reports whether CountFailed knows how many runs the filter selects, apart from
// After and Limit.
func (f Filter) ofFailedMembers() bool {
	others := len(f.IDs) > 0 || f.JobID != "" || len(f.JobIDs) > 0 || f.Reason != "" || !f.Since.IsZero() || !f.Until.IsZero() ||
		f.Before != nil || f.AfterID != ""
	return f.Parent != "" && !others && len(selectStates(failedStates, f.States)) == len(f.States)
}

// countFailed counts the failed members that a filter selects. See ofFailedMembers.
func (f Filter) countFailed(counts []FailedCount) (n int) {
	for _, c := range counts {
		if slices.Contains(f.States, c.State) && !(f.Unacknowledged && c.Acknowledged) && !(f.NotRerun && c.Rerun) {
			n += c.Count
		}
	}
	return n
}

// ackedOrRerun returns what tx.AckedOrRerun does. That would read all failed members of a parent,
// so their kept counts are used if they suffice.
func ackedOrRerun(tx Tx, f Filter) (ackedOrRerun []AckedOrRerunCount, err error) {
	if !f.ofFailedMembers() {
		return tx.AckedOrRerun(f).Get()
	}
	counts, err := tx.CountFailed([]string{f.Parent}).Get()
	for _, c := range counts {
		if f.countFailed([]FailedCount{c}) > 0 {
			ackedOrRerun = append(ackedOrRerun, c.AckedOrRerunCount)
		}
	}
	return ackedOrRerun, err
}

// remaining counts the runs after those that the action applies to, if its limit may have left
// some. The failed members of a parent are counted from what is kept with each change, since a
// parent may have a million.
func (m *actionTx) remaining(eligible []Row) Future[int] {
	f := m.filter()
	f.Limit = 0
	switch {
	case m.full: // nothing was selected: all of them remain
	case len(m.IDs) > 0 || m.Limit < 1 || len(eligible) < m.Limit:
		return Future[int]{}
	case !f.ofFailedMembers():
		last := eligible[len(eligible)-1]
		f.After = &Cursor{ScheduledAt: last.ScheduledAt, ID: last.ID}
	}
	if !f.ofFailedMembers() {
		return m.tx.CountRuns(f)
	}
	// Those that a request of the series before has rejected are counted again, until a request
	// finds fewer than its limit.
	failedFuture := m.tx.CountFailed([]string{f.Parent})
	return LazyFuture(func() (int, error) {
		counts, err := failedFuture.Get()
		return max(0, f.countFailed(counts)-m.scanned), err
	})
}
