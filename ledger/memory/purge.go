package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

const defaultBatch = 1000

// PurgeRuns deletes a batch of finished runs; see ledger.Purge. It looks at
// every run.
func (l *Ledger) PurgeRuns(ctx context.Context, p ledger.Purge) (ledger.Purged, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return ledger.Purged{}, err
	}
	defer l.mu.Unlock()
	var due []*record
	for _, r := range l.runs {
		if purgeable(r, p, now) {
			due = append(due, r)
		}
	}
	if p.DryRun {
		return ledger.Purged{Runs: len(due)}, nil
	}
	slices.SortFunc(due, func(a, b *record) int {
		return cmp.Or(a.ScheduledAt.Compare(b.ScheduledAt), cmp.Compare(a.ID, b.ID))
	})
	batch := orDefault(p.Batch, defaultBatch)
	got := ledger.Purged{More: len(due) >= batch}
	for _, r := range due[:min(batch, len(due))] {
		got.Runs++
		got.Reached = r.ScheduledAt
		l.purge(r)
	}
	return got, nil
}

// purgeable reports whether a run is past its retention.
func purgeable(r *record, p ledger.Purge, now time.Time) bool {
	if !r.State.Finished() || r.ScheduledAt.Before(p.From) {
		return false
	}
	ahead := r.job.hash != "" && r.ScheduledAt.After(r.job.Watermark)
	if ahead && !ledger.BesideSchedule(r.ID) {
		return false
	}
	keep := p.Retention
	if r.State == ledger.Dead && r.AckedAt.IsZero() {
		keep = p.DeadRetention
	}
	early := r.ScheduledAt.Add(min(p.Retention, p.DeadRetention)).After(now)
	return !early && !r.FinishedAt.Add(keep).After(now)
}

// purge deletes one run and notes how far its job is purged.
func (l *Ledger) purge(r *record) {
	l.forget(r)
	last := r.ScheduledAt
	if !r.Until.IsZero() {
		last = r.Until
	}
	if j := r.job; !ledger.BesideSchedule(r.ID) && last.After(j.purgedBefore) {
		j.purgedBefore = last
	}
}

// forget deletes a finished row and its tallies.
func (l *Ledger) forget(r *record) {
	delete(l.runs, r.ID)
	l.leave(r)
	if r.State == ledger.Dead && r.AckedAt.IsZero() {
		l.unseen--
	}
	r.job.instants = without(r.job.instants, r)
	r.job.ranges = without(r.job.ranges, r)
}
