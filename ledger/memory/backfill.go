package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var fillable = []ledger.State{ledger.Missed, ledger.Superseded, ledger.Skipped, ledger.Canceled}

// Backfill makes scheduled times that did not run planned; see ledger.Backfill.
func (l *Ledger) Backfill(ctx context.Context, b ledger.Backfill) (ledger.Backfilled, error) {
	if err := b.Validate(); err != nil {
		return ledger.Backfilled{}, err
	}
	now, err := l.begin(ctx)
	if err != nil {
		return ledger.Backfilled{}, err
	}
	defer l.mu.Unlock()
	j := l.jobs[b.JobID]
	if j == nil {
		return ledger.Backfilled{}, fmt.Errorf("job %q: %w", b.JobID, ledger.ErrNotFound)
	}
	var got ledger.Backfilled
	for _, in := range b.Runs {
		r, span := l.runs[in.RunID], j.giving(in.ScheduledAt)
		switch {
		case !in.ScheduledAt.After(j.purgedBefore), r == nil && span == nil:
			got.Refused++
			continue
		case r != nil && !slices.Contains(fillable, r.State):
			got.Left++
			continue
		case r != nil && (r.RerunID != "" || r.State == ledger.Canceled && expired(r, now)):
			got.Refused++
			continue
		}
		got.Planned++
		if !b.DryRun {
			l.fill(j, r, span, in, b, now)
		}
	}
	l.grant(j)
	return got, nil
}

// giving is the range row that a scheduled time can be taken out of, or nil: the
// times of an earlier revision's ranges are another definition's.
func (j *job) giving(at time.Time) *record {
	if r := j.covering(at); r != nil && r.Revision == j.Revision {
		return r
	}
	return nil
}

// fill makes one scheduled time planned and waiting; r is its own row, or nil when it
// stands in span.
func (l *Ledger) fill(j *job, r, span *record, in ledger.RunSpec, b ledger.Backfill, now time.Time) {
	if r == nil {
		r = l.split(j, span, in, now)
	} else {
		l.move(r, ledger.Planned, "")
	}
	if r.StartedAt.IsZero() {
		r.Call = in.Call
	}
	r.Trigger, r.NextAt, r.FinishedAt, r.AcceptedAt, r.Failures = ledger.ByBackfill, now, time.Time{}, time.Time{}, 0
	r.By, r.Why = b.By, b.Why
	r.slotted = true
	j.wait(r)
	l.note(now, ledger.Audit{Act: ledger.ActBackfill, JobID: r.JobID, RunID: r.ID, Actor: b.Actor})
}

// split takes one scheduled time out of a range row into a row of its own.
func (l *Ledger) split(j *job, span *record, in ledger.RunSpec, now time.Time) *record {
	r := &record{job: j, Run: ledger.Run{
		ID: in.RunID, JobID: j.JobID, ScheduledAt: in.ScheduledAt.UTC(), Count: 1,
		State: ledger.Planned, Revision: span.Revision, PlannedAt: now,
	}}
	l.runs[r.ID] = r
	l.touch(r)
	l.touch(span)
	l.enter(r)
	j.instants = put(j.instants, r)
	if span.Count--; span.Count == 0 {
		l.forget(span)
	}
	return r
}
