package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cronce/cronce/ledger"
)

const defaultLimit = 100

// orDefault is a limit, or the default where that is below 1.
func orDefault(limit, byDefault int) int {
	if limit < 1 {
		return byDefault
	}
	return limit
}

// Get returns one row by its ID, and the run's attempts by number. It returns
// ledger.ErrNotFound for an ID that has no row.
func (l *Ledger) Get(ctx context.Context, runID string) (ledger.Run, []ledger.Attempt, error) {
	if _, err := l.begin(ctx); err != nil {
		return ledger.Run{}, nil, err
	}
	defer l.mu.Unlock()
	r := l.runs[runID]
	if r == nil {
		return ledger.Run{}, nil, fmt.Errorf("run %q: %w", runID, ledger.ErrNotFound)
	}
	return r.View(), slices.Clone(r.attempts), nil
}

// List returns a page of runs, newest first. It looks at every run.
func (l *Ledger) List(ctx context.Context, f ledger.Filter) ([]ledger.Run, error) {
	if _, err := l.begin(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	found := l.matching(f)
	slices.SortFunc(found, func(a, b *record) int { return older(b, a) })
	limit := orDefault(f.Limit, defaultLimit)
	var page []ledger.Run
	for _, r := range found[:min(limit, len(found))] {
		page = append(page, r.listed())
	}
	return page, nil
}

// listed is the run without the body that it sends.
func (r *record) listed() ledger.Run {
	run := r.View()
	run.Call.Body = nil
	return run
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
		(f.JobID == "" || f.JobID == r.JobID) &&
		(len(f.States) == 0 || slices.Contains(f.States, r.State)) &&
		(f.Reason == "" || f.Reason == r.Reason) &&
		(f.Since.IsZero() || !r.ScheduledAt.Before(f.Since)) &&
		(f.Until.IsZero() || r.ScheduledAt.Before(f.Until)) &&
		(!f.Unacknowledged || r.AckedAt.IsZero()) &&
		(!f.NotRerun || r.RerunID == "") &&
		(f.Before == nil || compareToCursor(r, *f.Before) < 0) &&
		(f.After == nil || compareToCursor(r, *f.After) > 0)
}

// compareToCursor compares a run with a cursor's row, in the order of time, then id.
func compareToCursor(r *ledger.Run, c ledger.Cursor) int {
	return cmp.Or(r.ScheduledAt.Compare(c.ScheduledAt), cmp.Compare(r.ID, c.ID))
}

// Jobs lists every job, or those of the IDs, by ID.
func (l *Ledger) Jobs(ctx context.Context, ids ...string) ([]ledger.JobStatus, error) {
	if _, err := l.begin(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	runs := l.byJob()
	var list []ledger.JobStatus
	for _, id := range slices.Sorted(maps.Keys(l.jobs)) {
		if len(ids) > 0 && !slices.Contains(ids, id) {
			continue
		}
		j := l.jobs[id]
		if !j.stored {
			continue
		}
		s := ledger.JobStatus{
			Position: j.Position, Ended: j.ended(), Body: slices.Clone(j.Body), PausedAt: j.PausedAt, PausedBy: j.PausedBy,
			PausedWhy: j.PausedWhy, PurgedThrough: j.PurgedThrough,
		}
		if mine := runs[j]; len(mine) > 0 {
			run := mine[0].listed()
			s.LastRun = &run
			addOutcomes(&s, mine)
		}
		if j.slot != nil {
			run := j.slot.listed()
			s.SlotRun = &run
		}
		list = append(list, s)
	}
	return list, nil
}

// JobStates lists every job in brief, by ID.
func (l *Ledger) JobStates(ctx context.Context) ([]ledger.JobState, error) {
	jobs, err := l.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	var list []ledger.JobState
	for _, j := range jobs {
		list = append(list, ledger.JobState{
			JobID: j.JobID, Ended: j.Ended, Watermark: j.Watermark, PausedAt: j.PausedAt, Failing: !j.FailingSince.IsZero(),
		})
	}
	return list, nil
}

// byJob are each job's runs that are no ranges, newest first.
func (l *Ledger) byJob() map[*job][]*record {
	runs := map[*job][]*record{}
	for _, r := range l.runs {
		if r.Until.IsZero() {
			runs[r.job] = append(runs[r.job], r)
		}
	}
	for _, mine := range runs {
		slices.SortFunc(mine, func(a, b *record) int { return older(b, a) })
	}
	return runs
}

// Events lists a job's events, newest first.
func (l *Ledger) Events(ctx context.Context, jobID string, limit int) ([]ledger.Event, error) {
	if _, err := l.begin(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	j := l.jobs[jobID]
	if j == nil {
		return nil, nil
	}
	events := slices.Clone(j.events)
	slices.Reverse(events)
	return events[:min(orDefault(limit, defaultLimit), len(events))], nil
}

// Definitions lists the definitions of a job, the latest first declaration first.
func (l *Ledger) Definitions(ctx context.Context, jobID string, limit int) ([]ledger.DeclaredDefinition, error) {
	if _, err := l.begin(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	first := l.declared[jobID]
	hashes := slices.SortedFunc(maps.Keys(first), func(a, b string) int { return first[b].order - first[a].order })
	var list []ledger.DeclaredDefinition
	for _, hash := range hashes[:min(orDefault(limit, defaultLimit), len(hashes))] {
		def := ledger.Definition{JobID: jobID, Hash: hash, Body: slices.Clone(l.bodies[jobID+" "+hash])}
		list = append(list, ledger.DeclaredDefinition{Definition: def, At: first[hash].at})
	}
	return list, nil
}

// Counts counts the unfinished runs, the unacknowledged dead runs and the open incidents.
func (l *Ledger) Counts(ctx context.Context) (ledger.Counts, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return ledger.Counts{}, err
	}
	defer l.mu.Unlock()
	c := ledger.Counts{Now: now, Unfinished: map[ledger.State]int{}, DeadUnacknowledged: l.indexes.tallies[tally{state: ledger.Dead}]}
	for _, i := range l.incidents {
		if i.Open() {
			c.Incidents++
		}
	}
	for t, n := range l.indexes.tallies {
		if n > 0 && !t.state.Finished() {
			c.Unfinished[t.state] += n
		}
	}
	for _, r := range l.indexes.due[:l.indexes.comingDue(now)] {
		if r.State != ledger.Running {
			c.OldestDue = r.DueAt()
			break
		}
	}
	for _, j := range l.jobs {
		if j.stored && j.EndedAt.IsZero() && j.Watermark.After(c.PlannedThrough) {
			c.PlannedThrough = j.Watermark
		}
	}
	return c, nil
}
