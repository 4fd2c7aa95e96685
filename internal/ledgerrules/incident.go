package ledgerrules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cronce/cronce/ledger"
)

// Problem opens an incident or adds to one.
type Problem struct {
	JobID  string
	RunID  string // of a run or a range row
	Reason ledger.Reason
	Error  string
	Count  int
}

// DeadProblems returns the problems of runs that are dead without an outcome.
func DeadProblems(dead []ledger.Run) (list []Problem) {
	for _, r := range dead {
		list = append(list, Problem{JobID: r.JobID, RunID: r.ID, Reason: r.Reason, Count: r.Count})
	}
	return list
}

// MergeByJob merges the problems of each job: it adds their counts, and takes the rest
// from the problem with the greatest run ID.
func MergeByJob(list []Problem) (merged []Problem) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.RunID, b.RunID)) })
	for _, p := range list {
		p.Error = ledger.StorableError(p.Error)
		if last := len(merged) - 1; last >= 0 && merged[last].JobID == p.JobID {
			p.Count += merged[last].Count
			merged[last] = p
		} else {
			merged = append(merged, p)
		}
	}
	return merged
}

// IncidentChanges collects what the outcomes of one Record change in incidents.
type IncidentChanges struct {
	Dead []Problem
	// succeeded is each job's greatest run ID.
	succeeded map[string]string
}

// Add takes an outcome that was written.
func (c *IncidentChanges) Add(o ledger.Outcome) {
	jobID, _, _ := strings.Cut(o.RunID, "@")
	switch o.State {
	case ledger.Dead:
		c.Dead = append(c.Dead, Problem{JobID: jobID, RunID: o.RunID, Reason: o.Reason, Error: o.Attempt.Error, Count: 1})
	case ledger.Succeeded:
		if c.succeeded == nil {
			c.succeeded = map[string]string{}
		}
		c.succeeded[jobID] = max(c.succeeded[jobID], o.RunID)
	}
}

// Closing returns, by job, the runs whose success closes incidents.
func (c *IncidentChanges) Closing() map[string]string {
	for _, p := range c.Dead {
		delete(c.succeeded, p.JobID)
	}
	return c.succeeded
}

// CompareProblems returns what ReconcileIncidents changes, given the jobs whose incidents are
// open.
func CompareProblems(open []string, observed []ledger.JobProblem) (closing []string, opening []Problem) {
	was, is := map[string]bool{}, map[string]bool{}
	for _, job := range open {
		was[job] = true
	}
	for _, o := range observed {
		if !was[o.JobID] && !is[o.JobID] {
			opening = append(opening, Problem{JobID: o.JobID, Error: o.Error, Count: 1})
		}
		is[o.JobID] = true
	}
	for _, job := range open {
		if !is[job] {
			closing = append(closing, job)
		}
	}
	return closing, opening
}

// ChangesIncident reports whether an operator's action changes the incident.
func ChangesIncident(a ledger.IncidentAction, i ledger.Incident) bool {
	return i.Open() && (a.Close || i.AckedAt.IsZero())
}
