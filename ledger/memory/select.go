package memory

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) Find(ids []string) ledger.Future[[]ledger.Row] {
	found := valuesOf(t.l.runs, ids)
	slices.SortFunc(found, older)
	return ledger.ResolvedFuture(rowsOf(found), nil)
}

// LockRuns is Find: the whole ledger is locked.
func (t *tx) LockRuns(ids []string) ledger.Future[[]ledger.Row] { return t.Find(ids) }

func (t *tx) Runs(f ledger.Filter) ledger.Future[[]ledger.Row] { return t.page(f, older) }

func (t *tx) Leased(token string) ledger.Future[[]ledger.Row] {
	leased := filtered(t.l.open, older, func(r *record) bool { return r.State == ledger.Running && r.Token == token })
	return ledger.ResolvedFuture(rowsOf(leased), nil)
}

func (t *tx) LockLate(limit int) ledger.Future[[]ledger.Row] {
	late := filtered(t.l.open, byLate, func(r *record) bool { return !r.LateAt.IsZero() && !r.LateAt.After(t.now) })
	return ledger.ResolvedFuture(rowsOf(late[:min(limit, len(late))]), nil)
}

func rowsOf(list []*record) []ledger.Row {
	rows := make([]ledger.Row, len(list))
	for i, r := range list {
		rows[i] = r.Row
	}
	return rows
}

// LockDue skips nothing: no other transaction has locked a run.
func (t *tx) LockDue(q ledger.DueQuery) ledger.Future[[]ledger.Row] {
	var due []ledger.Row
	for _, r := range t.l.due(t.now) {
		if len(due) >= q.Limit {
			break
		}
		if (len(q.Only) == 0 || slices.Contains(q.Only, r.ID)) && (len(q.States) == 0 || slices.Contains(q.States, r.State)) &&
			!slices.Contains(q.BusyTargets, r.Call.Target) && !slices.Contains(q.BusyJobs, ledger.LimitKey(r.Parent, r.JobID)) {
			due = append(due, r.Row)
		}
	}
	return ledger.ResolvedFuture(due, nil)
}

func (t *tx) NextDue() ledger.Future[time.Time] {
	var next time.Time
	for _, r := range t.l.open {
		if at := r.DueAt(); !r.Waiting && at.After(t.now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return ledger.ResolvedFuture(next, nil)
}

// waiters returns the oldest run that waits for each job's slot.
func (l *Ledger) waiters() map[string]*record {
	first := map[string]*record{}
	for _, r := range l.open {
		if oldest := first[r.JobID]; r.Waiting && r.Pace == 0 && (oldest == nil || older(r, oldest) < 0) {
			first[r.JobID] = r
		}
	}
	return first
}

func (t *tx) Slots(jobIDs []string) ledger.Future[[]ledger.Slot] {
	var list []ledger.Slot
	waiters := t.l.waiters()
	for _, id := range slices.Compact(slices.Sorted(slices.Values(jobIDs))) {
		if holder, waiter := t.l.slots[id], waiters[id]; holder != nil || waiter != nil {
			list = append(list, ledger.Slot{JobID: id, Holder: slotRun(holder), Waiter: slotRun(waiter)})
		}
	}
	return ledger.ResolvedFuture(list, nil)
}

func slotRun(r *record) ledger.SlotRun {
	if r == nil {
		return ledger.SlotRun{}
	}
	return ledger.SlotRun{ID: r.ID, State: r.State, DueAt: r.DueAt()}
}

func (t *tx) Paced(jobID string) ledger.Future[[]ledger.PacedRun] {
	paced := func(r *record) bool { return r.Pace != 0 && r.JobID == jobID }
	taken := len(filtered(t.l.open, older, func(r *record) bool { return paced(r) && r.HasSlot }))
	waiters := filtered(t.l.open, byTurn, func(r *record) bool { return paced(r) && r.Waiting && r.Pace.Parallel() > taken })
	var list []ledger.PacedRun
	count := map[bool]int{}
	for _, r := range waiters {
		if newest := r.Pace < 0; count[newest] < ledger.MaxParallel {
			count[newest]++
			list = append(list, ledger.PacedRun{ID: r.ID, State: r.State, Pace: r.Pace, Taken: taken})
		}
	}
	return ledger.ResolvedFuture(list, nil)
}

// byTurn orders runs that wait for a place.
func byTurn(a, b *record) int {
	if newest := b.Pace < 0; newest != (a.Pace < 0) {
		return map[bool]int{true: -1, false: 1}[newest]
	} else if newest {
		return cmp.Or(cmp.Compare(b.Pace, a.Pace), newer(a, b))
	}
	return cmp.Or(cmp.Compare(a.Pace, b.Pace), older(a, b))
}

func (t *tx) WaitingJobs(after string, limit int) ledger.Future[[]ledger.WaitingJob] {
	list := t.waitingJobs(func(job string) bool { return job > after })
	return ledger.ResolvedFuture(list[:min(limit, len(list))], nil)
}

func (t *tx) WaitingOf(jobIDs []string) ledger.Future[[]ledger.WaitingJob] {
	return ledger.ResolvedFuture(t.waitingJobs(func(job string) bool { return slices.Contains(jobIDs, job) }), nil)
}

func (t *tx) waitingJobs(of func(job string) bool) (list []ledger.WaitingJob) {
	byJob, paced := map[string]ledger.WaitingJob{}, map[string]bool{}
	for _, r := range t.l.open {
		if !r.Waiting || !of(r.JobID) {
			continue
		}
		j := byJob[r.JobID]
		j.JobID = r.JobID
		if r.Pace == 0 {
			j.FreeSlot = t.l.slots[r.JobID] == nil
		} else {
			paced[r.JobID] = true
		}
		byJob[r.JobID] = j
	}
	for _, job := range slices.Sorted(maps.Keys(byJob)) {
		j := byJob[job]
		if paced[job] {
			first, _ := t.Paced(job).Get()
			j.FreePlace = len(first) > 0
		}
		list = append(list, j)
	}
	return list
}

func (t *tx) Unfinished(jobIDs []string) ledger.Future[map[string][]string] {
	byJob := map[string][]string{}
	for _, r := range t.l.open {
		if r.Parent == "" && slices.Contains(jobIDs, r.JobID) {
			byJob[r.JobID] = append(byJob[r.JobID], r.ID)
		}
	}
	return ledger.ResolvedFuture(byJob, nil)
}

func (t *tx) LockRanges(jobID string, first, last time.Time) ledger.Future[[]ledger.Row] {
	return ledger.ResolvedFuture(rowsOf(filtered(t.l.runs, older, func(r *record) bool {
		return r.JobID == jobID && !r.Until.IsZero() && !r.Until.Before(first) && !r.ScheduledAt.After(last)
	})), nil)
}

func (t *tx) CountSingles(jobID string, first, last time.Time) ledger.Future[int] {
	return ledger.ResolvedFuture(len(filtered(t.l.runs, older, func(r *record) bool {
		return r.JobID == jobID && r.Parent == "" && r.Until.IsZero() && !ledger.IsAdHoc(r.ID) &&
			!r.ScheduledAt.Before(first) && !r.ScheduledAt.After(last)
	})), nil)
}

func (t *tx) CountRuns(f ledger.Filter) ledger.Future[int] {
	return ledger.ResolvedFuture(len(t.l.matching(f, older)), nil)
}

func (t *tx) AckedOrRerun(f ledger.Filter) ledger.Future[[]ledger.AckedOrRerunCount] {
	counts := map[ledger.AckedOrRerunCount]int{}
	for _, r := range t.l.matching(f, older) {
		counts[ledger.AckedOrRerunCount{Acknowledged: !r.AckedAt.IsZero(), Rerun: r.RerunID != ""}]++
	}
	var list []ledger.AckedOrRerunCount
	for c, n := range counts {
		c.Count = n
		if c.Acknowledged || c.Rerun {
			list = append(list, c)
		}
	}
	return ledger.ResolvedFuture(list, nil)
}

func summaryOf(r *record) ledger.RunSummary {
	return ledger.RunSummary{
		RunID: r.ID, ScheduledAt: r.ScheduledAt, Until: r.Until, Count: r.Count, State: r.State, Reason: r.Reason,
		Replayed: r.Replayed, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
	}
}

// matching returns the runs that a filter selects, in an order, whatever its limit.
func (l *Ledger) matching(f ledger.Filter, order func(a, b *record) int) []*record {
	return filtered(l.runs, order, func(r *record) bool { return matches(&r.Run, f) })
}

func matches(r *ledger.Run, f ledger.Filter) bool {
	return (len(f.IDs) == 0 || slices.Contains(f.IDs, r.ID)) &&
		ofJobs(f.JobID, f.JobIDs, f.WithSchedules, ledger.IDJob(r)) &&
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
func ofJobs(id string, ids []string, withSchedules bool, job string) bool {
	return (id == "" || id == job) && (len(ids) == 0 || slices.Contains(ids, job) || withSchedules && slices.Contains(ids, ledger.RegistryJobID(job)))
}

// compareToCursor compares a run with a cursor's row, in the order of time, then id.
func compareToCursor(r *ledger.Run, c ledger.Cursor) int {
	return cmp.Or(r.ScheduledAt.Compare(c.ScheduledAt), cmp.Compare(r.ID, c.ID))
}
