package ledger

import (
	"slices"
	"time"
)

// rejectRedrive applies the rules of a redrive to dead runs.
func (m *acting) rejectRedrive(rows []Row) (fit []Row, err error) {
	busy, err := m.busyJobs(distinctJobs(rows))
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		cause, why := m.whyNotRedriven(r.Run, busy[r.JobID])
		if cause == "" {
			fit = append(fit, r)
		} else {
			m.reject1(Rejection{RunID: r.ID, Cause: cause, Why: why})
		}
	}
	return fit, nil
}

// busyJobs returns which of the jobs have an unfinished run that no part of this
// redrive has redriven.
func (m *acting) busyJobs(jobIDs []string) (map[string]bool, error) {
	unfinished, err := m.tx.Unfinished(jobIDs)
	if err != nil {
		return nil, err
	}
	var own []string
	if m.Continues != "" {
		var all []string
		for _, ids := range unfinished {
			all = append(all, ids...)
		}
		if own, err = m.tx.Redriven(all, m.By, m.Continues); err != nil {
			return nil, err
		}
		slices.Sort(own)
	}
	busy := map[string]bool{}
	for job, ids := range unfinished {
		busy[job] = slices.ContainsFunc(ids, func(id string) bool {
			_, found := slices.BinarySearch(own, id)
			return !found
		})
	}
	return busy, nil
}

// whyNotRedriven returns why a dead run may not be redriven; "" if it may. other is
// whether a run of its job that the action does not redrive is unfinished.
func (m *acting) whyNotRedriven(r Run, other bool) (RejectionCause, string) {
	switch {
	case r.RerunID != "" && !m.MayDouble:
		return RejectedRerun, "its work was done again as " + r.RerunID + ": act on that run, or redrive this one with may-double"
	case !r.SendBefore.IsZero() && !m.tx.Now().Before(r.SendBefore):
		return RejectedPastSendBefore, "its key may be forgotten since " + r.SendBefore.Format(time.RFC3339) +
			": rerun it as new work if it must be done again"
	case other && !m.Force:
		return RejectedUnfinished, "another run of " + r.JobID + " is unfinished: wait for it, or force"
	}
	return "", ""
}

// readTaken reads which of the runs' jobs have their slot taken.
func (m *acting) readTaken(rows []Row) error {
	m.taken = map[string]bool{}
	if len(rows) == 0 {
		return nil
	}
	holders, err := m.tx.Runs(RunQuery{SlotOf: distinctJobs(rows)})
	for _, h := range holders {
		m.taken[h.JobID] = true
	}
	return err
}

// redrive makes a dead run due again. If it takes its job's slot, it waits for it; if the
// slot is taken and the redrive is forced, it starts without.
func (m *acting) redrive(r *Row) {
	r.moveTo(Retrying, "", m.tx.Now())
	r.Failures = 0
	r.FinishedAt, r.AckedAt, r.AcceptedAt = time.Time{}, time.Time{}, time.Time{}
	if r.TakesSlot && (!m.Force || !m.taken[r.JobID]) {
		r.Waiting = true
		m.taken[r.JobID] = true
	}
}
