package ledger

import (
	"cmp"
	"slices"
	"strings"
)

// Problem is what opens an incident or adds to one. Stores use it.
type Problem struct {
	JobID  string
	RunID  string // of a run or a range row
	Reason Reason
	Error  string
	Count  int
}

// ProblemsOf returns the problems of runs that are dead without an outcome.
func ProblemsOf(dead []Run) (list []Problem) {
	for _, r := range dead {
		list = append(list, Problem{JobID: r.JobID, RunID: r.ID, Reason: r.Reason, Count: r.Count})
	}
	return list
}

// PerJob merges the problems of each job: it adds their counts, and takes the rest
// from the problem with the greatest run ID.
func PerJob(list []Problem) (merged []Problem) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.RunID, b.RunID)) })
	for _, p := range list {
		p.Error = KeptError(p.Error)
		if last := len(merged) - 1; last >= 0 && merged[last].JobID == p.JobID {
			p.Count += merged[last].Count
			merged[last] = p
		} else {
			merged = append(merged, p)
		}
	}
	return merged
}

// Ended collects the effects of one Record's outcomes on incidents.
type Ended struct {
	Dead []Problem
	// succeeded is each job's greatest run ID.
	succeeded map[string]string
}

// Add takes an outcome that was written.
func (e *Ended) Add(o Outcome) {
	jobID, _, _ := strings.Cut(o.RunID, "@")
	switch o.State {
	case Dead:
		e.Dead = append(e.Dead, Problem{JobID: jobID, RunID: o.RunID, Reason: o.Reason, Error: o.Attempt.Error, Count: 1})
	case Succeeded:
		if e.succeeded == nil {
			e.succeeded = map[string]string{}
		}
		e.succeeded[jobID] = max(e.succeeded[jobID], o.RunID)
	}
}

// Closing returns, by job, the runs whose success closes incidents.
func (e *Ended) Closing() map[string]string {
	for _, p := range e.Dead {
		delete(e.succeeded, p.JobID)
	}
	return e.succeeded
}

// Compare returns what Observe changes, given the jobs whose incidents are open.
func Compare(open []string, troubles []Trouble) (closing []string, opening []Problem) {
	was, is := map[string]bool{}, map[string]bool{}
	for _, job := range open {
		was[job] = true
	}
	for _, t := range troubles {
		if !was[t.JobID] && !is[t.JobID] {
			opening = append(opening, Problem{JobID: t.JobID, Error: t.Error, Count: 1})
		}
		is[t.JobID] = true
	}
	for _, job := range open {
		if !is[job] {
			closing = append(closing, job)
		}
	}
	return closing, opening
}
