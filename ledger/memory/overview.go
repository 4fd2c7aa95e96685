package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

func cell(r *record) ledger.RunSummary {
	return ledger.RunSummary{
		RunID: r.ID, ScheduledAt: r.ScheduledAt, Until: r.Until, Count: r.Count, State: r.State, Reason: r.Reason,
		Replayed: r.Replayed, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
	}
}

// Days counts a job's scheduled times by day and state.
func (l *Ledger) Days(ctx context.Context, jobID string, since, until time.Time) (ledger.Days, error) {
	if _, err := l.begin(ctx); err != nil {
		return ledger.Days{}, err
	}
	defer l.mu.Unlock()
	type key struct {
		day   time.Time
		state ledger.State
	}
	counts := map[key]int{}
	var d ledger.Days
	for _, r := range l.runs {
		first, last := r.ScheduledAt, r.ScheduledAt
		if !r.Until.IsZero() {
			last = r.Until
		}
		switch {
		case r.JobID != jobID || ledger.IsAdHoc(r.ID) || !first.Before(until) || last.Before(since):
		case r.Until.IsZero():
			counts[key{first.Truncate(24 * time.Hour), r.State}] += r.Count
		default:
			d.Ranges = append(d.Ranges, cell(r))
		}
	}
	for k, n := range counts {
		d.Counts = append(d.Counts, ledger.DayCount{Day: k.day, State: k.state, Count: n})
	}
	slices.SortFunc(d.Counts, func(a, b ledger.DayCount) int {
		return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.State, b.State))
	})
	slices.SortFunc(d.Ranges, func(a, b ledger.RunSummary) int { return cmp.Compare(a.RunID, b.RunID) })
	return d, nil
}

// Timings returns how the runs of an interval went.
func (l *Ledger) Timings(ctx context.Context, since, until time.Time) (ledger.Timings, error) {
	if _, err := l.begin(ctx); err != nil {
		return ledger.Timings{}, err
	}
	defer l.mu.Unlock()
	t := ledger.Timings{Counts: map[ledger.State]int{}, Lateness: ledger.Histogram{}, Durations: ledger.Histogram{}}
	for _, r := range l.runs {
		if r.ScheduledAt.Before(since) || !r.ScheduledAt.Before(until) {
			continue
		}
		t.Counts[r.State] += r.Count
		if !r.StartedAt.IsZero() && (r.Trigger == ledger.BySchedule || r.Trigger == ledger.ByCatchUp) {
			t.Lateness[ledger.HistogramBucket(r.StartedAt.Sub(r.ScheduledAt)-r.Call.Delay)]++
		}
		if r.State == ledger.Succeeded {
			t.Durations[ledger.HistogramBucket(r.FinishedAt.Sub(r.StartedAt))]++
		}
	}
	return t, nil
}

// Processes lists the processes by ID.
func (l *Ledger) Processes(ctx context.Context) ([]ledger.Process, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	running := map[string]int{}
	for _, r := range l.runs {
		if r.State == ledger.Running {
			running[r.LeasedBy]++
		}
	}
	var list []ledger.Process
	for _, id := range slices.Sorted(maps.Keys(l.processes)) {
		p := l.processes[id]
		list = append(list, ledger.Process{
			ID: id, Version: p.version, HeartbeatAt: p.seen, Alive: ledger.IsAlive(p.seen, now),
			Definitions: len(l.versions[p.version]), Running: running[id], Host: p.host, Program: p.program,
		})
	}
	return list, nil
}
