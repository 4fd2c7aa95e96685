package memory

import (
	"math"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// newestOf returns the newest runs of a job that are no ranges, newest first.
func (l *Ledger) newestOf(jobID string, window int) []*record {
	rows := filtered(l.runs, newer, func(r *record) bool { return r.JobID == jobID && r.Parent == "" && r.Until.IsZero() })
	return rows[:min(window, len(rows))]
}

func (t *tx) Last(jobIDs []string, states []ledger.State, window int) ledger.Future[[]ledger.Row] {
	var list []ledger.Row
	for _, id := range jobIDs {
		newest := t.l.newestOf(id, window)
		i := slices.IndexFunc(newest, func(r *record) bool { return states == nil || slices.Contains(states, r.State) })
		if i >= 0 {
			row := newest[i].Row
			row.Call.Body = nil
			list = append(list, row)
		}
	}
	return ledger.ResolvedFuture(list, nil)
}

func (t *tx) JobsAndNewest() ledger.Future[[]ledger.JobAndNewest] {
	jobs, _ := t.JobsAfter("", math.MaxInt).Get()
	list := make([]ledger.JobAndNewest, len(jobs))
	for i, j := range jobs {
		list[i] = ledger.JobAndNewest{JobID: j.JobID, Watermark: j.Watermark, EndedAt: j.EndedAt, PausedAt: j.PausedAt}
		for _, r := range t.l.newestOf(j.JobID, 1) {
			list[i].Newest = r.State
		}
	}
	return ledger.ResolvedFuture(list, nil)
}

func (t *tx) Streaks(jobIDs []string, bad, good ledger.State, window int) ledger.Future[map[string]ledger.Streak] {
	streaks := map[string]ledger.Streak{}
	for _, id := range jobIDs {
		newest := t.l.newestOf(id, window)
		s := ledger.Streak{Rows: slices.IndexFunc(newest, func(r *record) bool { return r.State == good })}
		if s.Ended = s.Rows >= 0; !s.Ended {
			s.Rows = len(newest)
		}
		for _, r := range newest[:s.Rows] {
			if r.State == bad {
				s.Since = r.ScheduledAt
			}
		}
		streaks[id] = s
	}
	return ledger.ResolvedFuture(streaks, nil)
}

func (t *tx) CountUnacknowledged(jobIDs []string) ledger.Future[map[string]int] {
	counts := map[string]int{}
	for _, r := range t.l.runs {
		if r.Parent == "" && r.State == ledger.Dead && r.AckedAt.IsZero() && slices.Contains(jobIDs, r.JobID) {
			counts[r.JobID]++
		}
	}
	return ledger.ResolvedFuture(counts, nil)
}

// LockJobs leaves out the bodies, as the databases do, which read them for a few rules only.
func (t *tx) LockJobs(ids []string) ledger.Future[[]ledger.JobRow] {
	return ledger.ResolvedFuture(withoutJobBodies(valuesOf(t.l.jobs, ids)), nil)
}

func withoutJobBodies(jobs []ledger.JobRow) []ledger.JobRow {
	for i := range jobs {
		jobs[i].Body = nil
	}
	return jobs
}

func (t *tx) PutJobs(changes []ledger.JobChange) error {
	for _, c := range changes {
		j, known := t.l.jobs[c.JobID]
		if !known { // a new row has all fields, whatever is set
			j, c.Set = c.JobRow, 0
		}
		if c.Set&ledger.JobColWatermark != 0 {
			j.Watermark = c.Watermark
		}
		if c.Set&ledger.JobColRevision != 0 {
			j.Revision, j.Hash, j.Body, j.EndedAt = c.Revision, c.Hash, c.Body, c.EndedAt
		}
		if c.Set&ledger.JobColPurge != 0 {
			j.PurgedThrough = c.PurgedThrough
		}
		if c.Set&ledger.JobColPause != 0 {
			j.PausedAt, j.PausedBy, j.PausedWhy = c.PausedAt, c.PausedBy, c.PausedWhy
		}
		putEntry(t, t.l.jobs, c.JobID, j)
	}
	return nil
}
