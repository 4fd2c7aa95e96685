package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/cronce/cronce/ledger"
)

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

// addOutcomes completes a job's status from its runs, newest first.
func addOutcomes(s *ledger.JobStatus, runs []*record) {
	for _, r := range runs {
		if r.State == ledger.Dead && r.AckedAt.IsZero() {
			s.DeadUnacknowledged++
		}
	}
	for _, r := range runs[:min(len(runs), ledger.OutcomeWindow)] {
		if r.State != ledger.Succeeded && r.State != ledger.Dead {
			continue
		}
		if s.LastOutcome == nil {
			run := r.listed()
			s.LastOutcome = &run
		}
		if r.State == ledger.Succeeded {
			return
		}
		s.FailingSince = r.ScheduledAt
	}
}
