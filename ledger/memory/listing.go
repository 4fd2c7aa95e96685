package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) Newest(f ledger.Filter) ledger.Future[[]ledger.Row] {
	return t.page(f, newer)
}

func (t *tx) Groups(f ledger.Filter) ledger.Future[[]ledger.RunGroup] {
	rows, err := t.Newest(f).Get()
	groups := make([]ledger.RunGroup, len(rows))
	for i := range rows {
		groups[i] = ledger.GroupOf(&rows[i])
	}
	return ledger.ResolvedFuture(groups, err)
}

// page returns the rows that a filter selects, without bodies. It looks at every run.
func (t *tx) page(f ledger.Filter, order func(a, b *record) int) ledger.Future[[]ledger.Row] {
	found := t.l.matching(f, order)
	if f.Limit > 0 {
		found = found[:min(f.Limit, len(found))]
	}
	return ledger.ResolvedFuture(withoutBodies(rowsOf(found)), nil)
}

func withoutBodies(list []ledger.Row) []ledger.Row {
	for i := range list {
		list[i].Call.Body = nil
	}
	return list
}

func (t *tx) Attempts(runID string) ledger.Future[[]ledger.Attempt] {
	var list []ledger.Attempt
	if r := t.l.runs[runID]; r != nil {
		list = slices.Clone(r.attempts)
	}
	return ledger.ResolvedFuture(list, nil)
}

func (t *tx) Excerpts(runID string) ledger.Future[[]ledger.Excerpt] {
	return ledger.ResolvedFuture(filteredValues(t.l.excerpts, func(e ledger.Excerpt) bool { return e.RunID == runID }), nil)
}

func (t *tx) PutExcerpts(list []ledger.Excerpt) error {
	for _, e := range list {
		putEntry(t, t.l.excerpts, fmt.Sprint(e.RunID, " ", e.N), e)
	}
	return nil
}

// ChangedAfter returns up to limit of the rows that changed after a position. It looks at every
// run.
func (t *tx) ChangedAfter(after string, limit int) ledger.Future[ledger.ChangedRows] {
	c := ledger.ChangedRows{Position: strconv.FormatUint(t.l.change, 10)}
	if after == "" {
		return ledger.ResolvedFuture(c, nil)
	}
	from, err := strconv.ParseUint(after, 10, 64)
	c.Lost = err != nil || from > t.l.change
	for _, r := range t.l.runs {
		if !c.Lost && r.Parent == "" && r.changed > from && len(c.Rows) < limit {
			c.Rows = append(c.Rows, r.Row)
		}
	}
	return ledger.ResolvedFuture(c, nil)
}

func (t *tx) Recent(jobIDs []string, n, window int) ledger.Future[[]ledger.RunSummary] {
	var list []ledger.RunSummary
	for _, id := range jobIDs {
		rows := t.l.matching(ledger.Filter{JobID: id}, newer)
		taken := 0
		for _, r := range rows[:min(len(rows), window)] {
			if r.JobID == id && !ledger.IsAdHoc(r.ID) && taken < n { // "" is no filter
				list = append(list, summaryOf(r))
				taken++
			}
		}
	}
	return ledger.ResolvedFuture(list, nil)
}

// Definitions returns the definitions of a job, the latest first declaration first.
func (t *tx) Definitions(jobID string, limit int) ledger.Future[[]ledger.DeclaredDefinition] {
	first := t.l.declared[jobID]
	hashes := slices.SortedFunc(maps.Keys(first), func(a, b string) int { return first[b].order - first[a].order })
	var list []ledger.DeclaredDefinition
	for _, hash := range hashes[:min(limit, len(hashes))] {
		def := ledger.Definition{JobID: jobID, Hash: hash, Body: slices.Clone(t.l.bodies[jobID+" "+hash])}
		list = append(list, ledger.DeclaredDefinition{Definition: def, At: first[hash].at})
	}
	return ledger.ResolvedFuture(list, nil)
}

// Events returns a job's events, the newest recorded first.
func (t *tx) Events(jobID string, limit int) ledger.Future[[]ledger.Event] {
	var list []ledger.Event
	for _, e := range slices.Backward(t.l.events) {
		if e.JobID == jobID && len(list) < limit {
			list = append(list, e)
		}
	}
	return ledger.ResolvedFuture(list, nil)
}

func (t *tx) Incidents(f ledger.IncidentFilter) ledger.Future[[]ledger.Incident] {
	list := filteredValues(t.l.incidents, func(i ledger.Incident) bool {
		return (f.ID == 0 || f.ID == i.ID) && ofJobs(f.JobID, f.JobIDs, f.WithSchedules, i.JobID) && (!f.Open || i.Open()) &&
			(!f.Due || !i.DueAt.IsZero() && !i.DueAt.After(t.now)) && (f.Before == 0 || i.ID < f.Before)
	})
	slices.Reverse(list)
	if f.Due {
		slices.SortFunc(list, func(a, b ledger.Incident) int { return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ID, b.ID)) })
	}
	return ledger.ResolvedFuture(list[:min(len(list), f.Limit)], nil)
}

func (t *tx) GivenBack(targets []string) ledger.Future[[]ledger.GivenBack] {
	held := map[string]ledger.GivenBack{}
	for _, r := range t.l.open {
		g := ledger.GivenBack{Target: r.Call.Target, RunID: r.ID, Until: r.DueAt(), Why: r.WaitReason}
		if !r.Waiting && g.Until.After(t.now) && g.Why.OfTarget() && slices.Contains(targets, g.Target) && g.After(held[g.Target]) {
			held[g.Target] = g
		}
	}
	return ledger.ResolvedFuture(slices.Collect(maps.Values(held)), nil)
}

func (t *tx) CountByJob(state ledger.State, jobIDs []string) ledger.Future[map[string]int] {
	counts := map[string]int{}
	for _, r := range t.l.open {
		if key := ledger.LimitKey(r.Parent, r.JobID); !r.Waiting && r.State == state && slices.Contains(jobIDs, key) {
			counts[key]++
		}
	}
	return ledger.ResolvedFuture(counts, nil)
}

func (t *tx) Counts(waiting []ledger.State) ledger.Future[ledger.Counts] {
	c := ledger.Counts{Unfinished: map[ledger.State]int{}}
	for _, i := range t.l.incidents {
		if i.Open() {
			c.Incidents++
		}
	}
	for _, r := range t.l.runs {
		switch {
		case r.Parent != "":
		case !r.State.Finished():
			c.Unfinished[r.State]++
		case r.State == ledger.Dead && r.AckedAt.IsZero():
			c.DeadUnacknowledged++
		}
	}
	for _, r := range t.l.due(t.now) {
		if slices.Contains(waiting, r.State) {
			c.OldestDue = r.DueAt()
			break
		}
	}
	for _, j := range t.l.jobs {
		if j.EndedAt.IsZero() && j.Watermark.After(c.PlannedThrough) {
			c.PlannedThrough = j.Watermark
		}
	}
	return ledger.ResolvedFuture(c, nil)
}
