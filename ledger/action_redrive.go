package ledger

import (
	"slices"
	"time"
)

// checkRedrive returns the dead runs that may be redriven, and rejects the others: those whose key
// the target may have forgotten, whose work was done again, whose job is busy, and whose parent
// does not take them back.
func (m *actionTx) checkRedrive(rows []Row) (eligible []Row, err error) {
	busy, err := m.busyJobs(distinctJobs(rows))
	if err != nil {
		return nil, err
	}
	parents, err := m.parentsOf(rows)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		cause, why := m.whyNotRedriven(r.Run, busy[r.JobID] && r.Parent == "")
		switch {
		case cause != "":
		case r.Parent != "":
			cause, why = m.whyParentRefuses(&r, parents, busy)
		case r.Fan.Purged:
			cause, why = RejectedNotFound, whyPurged
		}
		if cause == "" {
			eligible = append(eligible, r)
		} else {
			m.reject(Rejection{RunID: r.ID, Cause: cause, Why: why})
		}
	}
	return eligible, nil
}

// whyNotRedriven returns why a dead run may not be redriven; "" if it may. other is
// whether a run of its job that the action does not redrive is unfinished.
func (m *actionTx) whyNotRedriven(r Run, other bool) (RejectionCause, string) {
	switch {
	case r.RerunID != "" && !m.MayDouble:
		return RejectedRerun, "its work was done again as " + r.RerunID + ": act on that run, or redrive this one with may-double"
	case r.KeyUnsafe(m.now):
		return RejectedKeyUnsafe, "its key may be forgotten since " + r.keySafeUntil().Format(time.RFC3339) +
			": rerun it as new work if it must be done again"
	case other && !m.Force:
		return RejectedUnfinished, "another run of " + r.JobID + " is unfinished: wait for it, or force"
	}
	return "", ""
}

// busyJobs returns which of the jobs have an unfinished run that neither this
// redrive nor its series has redriven.
func (m *actionTx) busyJobs(jobIDs []string) (map[string]bool, error) {
	unfinished, err := m.tx.Unfinished(jobIDs).Get()
	if err != nil {
		return nil, err
	}
	var redriven []string
	if m.series() != "" {
		var all []string
		for _, ids := range unfinished {
			all = append(all, ids...)
		}
		if redriven, err = m.tx.Redriven(all, m.By, m.series()).Get(); err != nil {
			return nil, err
		}
		slices.Sort(redriven)
	}
	busy := map[string]bool{}
	for job, ids := range unfinished {
		busy[job] = slices.ContainsFunc(ids, func(id string) bool {
			_, found := slices.BinarySearch(redriven, id)
			return !found
		})
	}
	return busy, nil
}

// redrive makes a dead run due again, with the failed members of a parent. If it takes its
// job's slot and the slot is taken, it waits for it; if the redrive is forced, it starts
// without.
func (m *actionTx) redrive(r *Row) {
	r.revive(Retrying, m.now)
	r.Fan.beginPass(Dead)
	m.slots.occupyOrWait(r, m.Force)
}
