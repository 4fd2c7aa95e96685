package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

var backfillable = []ledger.State{ledger.Missed, ledger.Superseded, ledger.Skipped, ledger.Canceled}

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
		r, span := l.runs[in.RunID], j.rangeToSplit(in.ScheduledAt)
		switch {
		case !in.ScheduledAt.After(j.purgedThrough), r == nil && span == nil:
			got.Refused++
			continue
		case r != nil && !slices.Contains(backfillable, r.State):
			got.Left++
			continue
		case r != nil && (r.RerunID != "" || r.State == ledger.Canceled && pastSendBefore(r, now)):
			got.Refused++
			continue
		}
		got.Planned++
		if !b.DryRun {
			l.backfillOne(j, r, span, in, b, now)
		}
	}
	l.grant(j)
	return got, nil
}

// rangeToSplit returns the range row that a scheduled time can be taken out of, or
// nil. A range row of an earlier revision belongs to another definition.
func (j *job) rangeToSplit(at time.Time) *record {
	if r := j.covering(at); r != nil && r.Revision == j.Revision {
		return r
	}
	return nil
}

// backfillOne makes one scheduled time planned and waiting; r is its own row, or nil
// if span counts it.
func (l *Ledger) backfillOne(j *job, r, span *record, in ledger.RunSpec, b ledger.Backfill, now time.Time) {
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
	r.takesSlot = true
	j.wait(r)
	l.addAudit(now, ledger.Audit{Action: ledger.ActionBackfill, JobID: r.JobID, RunID: r.ID, Actor: b.Actor})
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
	j.scheduled = insertSorted(j.scheduled, r)
	if span.Count--; span.Count == 0 {
		l.forget(span)
	}
	return r
}
