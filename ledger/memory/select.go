package memory

import (
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Runs returns the rows that a query selects.
func (t *tx) Runs(q ledger.RunQuery) ([]ledger.Row, error) {
	found := slices.DeleteFunc(t.candidates(q), func(r *record) bool {
		return !matches(&r.Run, q.Filter) || q.Token != "" && r.Token != q.Token
	})
	if q.LateBy.IsZero() {
		slices.SortFunc(found, older)
		if !q.Oldest {
			slices.Reverse(found)
		}
	}
	if q.Limit > 0 {
		found = found[:min(q.Limit, len(found))]
	}
	list := copies(found)
	for i := range list {
		if !q.Body {
			list[i].Call.Body = nil
		}
	}
	return list, nil
}

// candidates returns all runs that a query may select. Those of LateBy are in order.
func (t *tx) candidates(q ledger.RunQuery) (found []*record) {
	switch {
	case len(q.IDs) > 0:
		for _, id := range distinct(q.IDs) {
			if r := t.l.runs[id]; r != nil {
				found = append(found, r)
			}
		}
	case len(q.SlotOf) > 0:
		for _, id := range distinct(q.SlotOf) {
			if j := t.l.jobs[id]; j != nil && j.slot != nil {
				found = append(found, j.slot)
			}
		}
	case !q.LateBy.IsZero():
		for _, r := range t.l.indexes.late {
			if r.LateAt.After(q.LateBy) || q.Limit > 0 && len(found) == q.Limit {
				break
			}
			found = append(found, r)
		}
	case q.Token != "":
		found = slices.Clone(t.l.indexes.due)
	default:
		found = t.l.matching(q.Filter)
	}
	return found
}

func copies(list []*record) []ledger.Row {
	rows := make([]ledger.Row, len(list))
	for i, r := range list {
		rows[i] = r.Row
	}
	return rows
}

// Due returns due runs, or first the jobs that have slots to give.
func (t *tx) Due(q ledger.DueQuery) (due ledger.Due, err error) {
	x := &t.l.indexes
	n := x.comingDue(t.now)
	if n < len(x.due) {
		due.Next = x.due[n].DueAt()
	}
	if !q.Granted && len(x.free) > 0 {
		due.Free = slices.Sorted(maps.Keys(x.free))
		return due, nil
	}
	for _, r := range x.due[:n] {
		if len(due.Runs) >= q.Limit {
			break
		}
		if (len(q.Only) == 0 || slices.Contains(q.Only, r.ID)) && !slices.Contains(q.BusyTargets, r.Call.Target) && !slices.Contains(q.BusyJobs, r.JobID) {
			due.Runs = append(due.Runs, r.Row)
		}
	}
	return due, nil
}

// Free returns the oldest waiting run of each of the jobs whose slot is free.
func (t *tx) Free(jobIDs []string) (list []ledger.Row, err error) {
	for _, id := range distinct(jobIDs) {
		if t.l.indexes.free[id] {
			list = append(list, t.l.jobs[id].waiting[0].Row)
		}
	}
	return list, nil
}

// Unfinished lists the unfinished runs of jobs.
func (t *tx) Unfinished(jobIDs []string) (map[string][]string, error) {
	byJob := map[string][]string{}
	for _, id := range distinct(jobIDs) {
		if j := t.l.jobs[id]; j != nil {
			for r := range j.unfinished {
				byJob[id] = append(byJob[id], r.ID)
			}
		}
	}
	return byJob, nil
}

// Ranges returns the range rows in which a scheduled time of an interval lies.
func (t *tx) Ranges(jobID string, first, last time.Time, _ bool) (list []ledger.Row, err error) {
	if j := t.l.jobs[jobID]; j != nil {
		for _, r := range j.ranges {
			if !r.Until.Before(first) && !r.ScheduledAt.After(last) {
				list = append(list, r.Row)
			}
		}
	}
	return list, nil
}

// Own counts the scheduled times of an interval that have rows of their own.
func (t *tx) Own(jobID string, first, last time.Time) (n int, err error) {
	j := t.l.job(jobID)
	from, _ := slices.BinarySearchFunc(j.scheduled, first, func(r *record, first time.Time) int { return r.ScheduledAt.Compare(first) })
	for _, r := range j.scheduled[from:] {
		if r.ScheduledAt.After(last) {
			break
		}
		n++
	}
	return n, nil
}

// Settled counts the runs of a filter that are acknowledged or were rerun.
func (t *tx) Settled(f ledger.Filter) (list []ledger.SettledCount, err error) {
	counts := map[ledger.SettledCount]int{}
	for _, r := range t.l.matching(f) {
		counts[ledger.SettledCount{Acknowledged: !r.AckedAt.IsZero(), Rerun: r.RerunID != ""}]++
	}
	for c, n := range counts {
		if c.Count = n; c.Acknowledged || c.Rerun {
			list = append(list, c)
		}
	}
	return list, nil
}
