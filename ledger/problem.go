package ledger

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// problem opens an incident, or is added to one: a rule makes one for each run, or range
// row, in the transaction that writes it.
type problem struct {
	JobID  string
	RunID  string // of a run or a range row
	Reason Reason
	Error  string
	Count  int
}

// mergeByJob merges the problems of each job: it adds their counts, and takes the rest
// from the problem with the greatest run ID.
func mergeByJob(list []problem) (merged []problem) {
	list = slices.Clone(list)
	sort.Slice(list, func(i, k int) bool {
		return cmp.Or(cmp.Compare(list[i].JobID, list[k].JobID), cmp.Compare(list[i].RunID, list[k].RunID)) < 0
	})
	for _, p := range list {
		p.Error = StorableError(p.Error)
		if last := len(merged) - 1; last >= 0 && merged[last].JobID == p.JobID {
			p.Count += merged[last].Count
			merged[last] = p
		} else {
			merged = append(merged, p)
		}
	}
	return merged
}

// openIncidents opens an incident for each job with problems, or adds to the one that
// the problem belongs to.
func openIncidents(tx Tx, cause IncidentCause, problems []problem, now time.Time) error {
	if len(problems) == 0 {
		return nil
	}
	problems = mergeByJob(problems)
	jobs := make([]string, len(problems))
	for i, p := range problems {
		jobs[i] = p.JobID
	}
	last, err := tx.LockLastIncidents(cause, jobs).Get()
	if err != nil {
		return err
	}
	changed := make([]Incident, len(problems))
	for i, p := range problems {
		changed[i] = p.incident(last, cause, now)
	}
	return tx.PutIncidents(changed)
}

// incident returns the incident of a problem with the problem added: the job's last one if it
// is open or may be opened again, else a new one.
func (p problem) incident(last []Incident, cause IncidentCause, now time.Time) Incident {
	opened := Incident{
		JobID: p.JobID, Cause: cause, OpenedAt: now, Version: 1,
		Reason: p.Reason, Error: p.Error, RunID: p.RunID, LastAt: now, DueAt: now, Count: p.Count,
	}
	for _, i := range last {
		if i.JobID != p.JobID || !i.TakesProblem(now) {
			continue
		}
		if !i.Open() {
			i.Reopened++
			i.ClosedAt, i.ClosedBy = time.Time{}, ""
		}
		i.Add(opened)
		return i
	}
	return opened
}

// Add adds the problems of a new incident to the incident, which is open.
func (i *Incident) Add(n Incident) {
	i.Reason, i.Error, i.RunID, i.LastAt, i.DueAt = n.Reason, n.Error, n.RunID, n.LastAt, n.DueAt
	i.Count += n.Count
	i.Version++
}

// TakesProblem reports whether a problem at a time belongs to the incident.
func (i Incident) TakesProblem(now time.Time) bool {
	return i.Open() || !i.ClosedByOperator && now.Sub(i.ClosedAt) < ReopenWithin
}

// close closes the incident.
func (i *Incident) close(by string, now time.Time) {
	i.ClosedAt, i.ClosedBy, i.DueAt = now, by, now
	i.Version++
}

// closeIncidents closes those of the incidents that are still open once they are locked. by returns
// what closed each.
func closeIncidents(tx Tx, ids []int64, by func(Incident) string, now time.Time) error {
	list, err := tx.LockIncidents(ids).Get()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(i Incident) bool { return !i.Open() })
	for k := range list {
		list[k].close(by(list[k]), now)
	}
	if len(list) == 0 {
		return nil
	}
	return tx.PutIncidents(list)
}
