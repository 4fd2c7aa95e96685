package memory

import (
	"context"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

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
	slices.SortFunc(due, older)
	batch := p.BatchSize()
	got := ledger.Purged{More: len(due) >= batch, Next: p.From}
	for _, r := range due[:min(batch, len(due))] {
		got.Runs++
		got.Next = ledger.PurgeCursor{After: r.ScheduledAt}
		l.purge(r)
	}
	for _, r := range due[got.Runs:] {
		if !r.ScheduledAt.Equal(got.Next.After) {
			break
		}
		got.Next.Found = append(got.Next.Found, r.ID)
	}
	return got, nil
}

// purgeable reports whether a run is past its retention.
func purgeable(r *record, p ledger.Purge, now time.Time) bool {
	if !r.State.Finished() || !p.From.After.IsZero() && !r.ScheduledAt.After(p.From.After) && !slices.Contains(p.From.Found, r.ID) {
		return false
	}
	ahead := !r.job.ended() && r.ScheduledAt.After(r.job.Watermark)
	if ahead && !ledger.IsAdHoc(r.ID) {
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
	if j := r.job; !ledger.IsAdHoc(r.ID) && last.After(j.PurgedThrough) {
		j.PurgedThrough = last
	}
}
