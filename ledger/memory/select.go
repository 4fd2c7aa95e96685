package memory

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// Find returns the rows that exist, by time.
func (t *tx) Find(ids []string) ledger.Later[[]ledger.Row] {
	var found []*record
	for _, id := range distinct(ids) {
		if r := t.l.runs[id]; r != nil {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, older)
	return ledger.Known(copies(found), nil)
}

// LockRuns is Find: the whole ledger is locked.
func (t *tx) LockRuns(ids []string) ledger.Later[[]ledger.Row] { return t.Find(ids) }

// Existing returns those of the run IDs that have a row.
func (t *tx) Existing(ids []string) ledger.Later[[]string] {
	return ledger.Known(slices.DeleteFunc(distinct(ids), func(id string) bool { return t.l.runs[id] == nil }), nil)
}

// Runs returns the rows that a filter selects, by time.
func (t *tx) Runs(f ledger.Filter) ledger.Later[[]ledger.Row] { return t.page(f, older) }

// Leased returns the runs that are leased under a token, by time.
func (t *tx) Leased(token string) ledger.Later[[]ledger.Row] {
	var found []*record
	for _, r := range t.l.indexes.due {
		if r.State == ledger.Running && r.Token == token {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, older)
	return ledger.Known(copies(found), nil)
}

// Late returns unfinished runs whose LateAt has come, the earliest first.
func (t *tx) Late(limit int) ledger.Later[[]ledger.Row] {
	late := t.l.indexes.late
	n := 0
	for n < min(limit, len(late)) && !late[n].LateAt.After(t.now) {
		n++
	}
	return ledger.Known(copies(late[:n]), nil)
}

func copies(list []*record) []ledger.Row {
	rows := make([]ledger.Row, len(list))
	for i, r := range list {
		rows[i] = r.Row
	}
	return rows
}

// Due returns due runs, the earliest first.
func (t *tx) Due(q ledger.DueQuery) ledger.Later[[]ledger.Row] {
	var due []ledger.Row
	x := &t.l.indexes
	for _, r := range x.due[:x.comingDue(t.now)] {
		if len(due) >= q.Limit {
			break
		}
		if (len(q.Only) == 0 || slices.Contains(q.Only, r.ID)) && (len(q.States) == 0 || slices.Contains(q.States, r.State)) &&
			!slices.Contains(q.BusyTargets, r.Call.Target) && !slices.Contains(q.BusyJobs, group(r)) {
			due = append(due, r.Row)
		}
	}
	return ledger.Known(due, nil)
}

// NextDue returns the DueAt of the first run that is not due yet.
func (t *tx) NextDue() ledger.Later[time.Time] {
	x := &t.l.indexes
	if n := x.comingDue(t.now); n < len(x.due) {
		return ledger.Known(x.due[n].DueAt(), nil)
	}
	return ledger.Later[time.Time]{}
}

// Slots returns the slots of jobs that are taken or waited for.
func (t *tx) Slots(jobIDs []string) ledger.Later[[]ledger.Slot] {
	var list []ledger.Slot
	for _, id := range distinct(jobIDs) {
		j := t.l.jobs[id]
		if j == nil || j.slot == nil && len(j.waiting) == 0 {
			continue
		}
		s := ledger.Slot{JobID: id, Holder: slotRun(j.slot)}
		if len(j.waiting) > 0 {
			s.Waiter = slotRun(j.waiting[0])
		}
		list = append(list, s)
	}
	return ledger.Known(list, nil)
}

func slotRun(r *record) ledger.SlotRun {
	if r == nil {
		return ledger.SlotRun{}
	}
	return ledger.SlotRun{ID: r.ID, State: r.State, DueAt: r.DueAt()}
}

// FreeJobs returns the jobs whose slot is free while runs wait for it.
func (t *tx) FreeJobs() ledger.Later[[]string] {
	return ledger.Known(slices.Sorted(maps.Keys(t.l.indexes.free)), nil)
}

// Unfinished lists the unfinished runs of jobs.
func (t *tx) Unfinished(jobIDs []string) ledger.Later[map[string][]string] {
	byJob := map[string][]string{}
	for _, id := range distinct(jobIDs) {
		if j := t.l.jobs[id]; j != nil {
			for r := range j.unfinished {
				byJob[id] = append(byJob[id], r.ID)
			}
		}
	}
	return ledger.Known(byJob, nil)
}

// Ranges returns the range rows in which a scheduled time of an interval lies.
func (t *tx) Ranges(jobID string, first, last time.Time) ledger.Later[[]ledger.Row] {
	var list []ledger.Row
	if j := t.l.jobs[jobID]; j != nil {
		for _, r := range j.ranges {
			if !r.Until.Before(first) && !r.ScheduledAt.After(last) {
				list = append(list, r.Row)
			}
		}
	}
	return ledger.Known(list, nil)
}

// CountOwn counts the scheduled times of an interval that have rows of their own.
func (t *tx) CountOwn(jobID string, first, last time.Time) ledger.Later[int] {
	n := 0
	if j := t.l.jobs[jobID]; j != nil {
		for _, r := range j.scheduled {
			if !r.ScheduledAt.Before(first) && !r.ScheduledAt.After(last) {
				n++
			}
		}
	}
	return ledger.Known(n, nil)
}

// CountRuns counts the runs of a filter.
func (t *tx) CountRuns(f ledger.Filter) ledger.Later[int] {
	return ledger.Known(len(t.l.matching(f)), nil)
}

// Settled counts the runs of a filter that are acknowledged or were rerun.
func (t *tx) Settled(f ledger.Filter) ledger.Later[[]ledger.SettledCount] {
	counts := map[ledger.SettledCount]int{}
	for _, r := range t.l.matching(f) {
		counts[ledger.SettledCount{Acknowledged: !r.AckedAt.IsZero(), Rerun: r.RerunID != ""}]++
	}
	var list []ledger.SettledCount
	for c, n := range counts {
		if c.Count = n; c.Acknowledged || c.Rerun {
			list = append(list, c)
		}
	}
	return ledger.Known(list, nil)
}

func cell(r *record) ledger.RunSummary {
	return ledger.RunSummary{
		RunID: r.ID, ScheduledAt: r.ScheduledAt, Until: r.Until, Count: r.Count, State: r.State, Reason: r.Reason,
		Replayed: r.Replayed, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
	}
}

// matching are the runs that a filter selects, in no order, whatever its
// limit.
func (l *Ledger) matching(f ledger.Filter) []*record {
	var found []*record
	for _, r := range l.runs {
		if matches(&r.Run, f) {
			found = append(found, r)
		}
	}
	return found
}

func matches(r *ledger.Run, f ledger.Filter) bool {
	return (len(f.IDs) == 0 || slices.Contains(f.IDs, r.ID)) &&
		ofJobs(f.JobID, f.JobIDs, ledger.IDJob(r)) &&
		(f.Parent == r.Parent || f.Parent == "" && (len(f.IDs) > 0 || f.JobID != "" || f.WithMembers)) &&
		r.ID > f.AfterID &&
		(len(f.States) == 0 || slices.Contains(f.States, r.State)) &&
		(f.Reason == "" || f.Reason == r.Reason) &&
		(f.Since.IsZero() || !r.ScheduledAt.Before(f.Since)) &&
		(f.Until.IsZero() || r.ScheduledAt.Before(f.Until)) &&
		(!f.Unacknowledged || r.AckedAt.IsZero()) &&
		(!f.NotRerun || r.RerunID == "") &&
		(f.Before == nil || compareToCursor(r, *f.Before) < 0) &&
		(f.After == nil || compareToCursor(r, *f.After) > 0)
}

// ofJobs reports whether a filter by a job, or by any of several, takes a job.
func ofJobs(id string, ids []string, job string) bool {
	return (id == "" || id == job) && (len(ids) == 0 || slices.Contains(ids, job))
}

// compareToCursor compares a run with a cursor's row, in the order of time, then id.
func compareToCursor(r *ledger.Run, c ledger.Cursor) int {
	return cmp.Or(r.ScheduledAt.Compare(c.ScheduledAt), cmp.Compare(r.ID, c.ID))
}
