package memory

import (
	"context"
	"time"

	"github.com/cronce/cronce/internal/ledgerrules"
	"github.com/cronce/cronce/ledger"
)

// Extend moves the ends of leases to now + d, and returns the leases that are lost.
func (l *Ledger) Extend(ctx context.Context, leases []ledger.Lease, d time.Duration) (lost []ledger.Lease, err error) {
	now, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	for _, h := range leases {
		r := l.held(h)
		if r == nil {
			lost = append(lost, h)
			continue
		}
		l.queue.remove(r)
		r.LeasedUntil = now.Add(d)
		l.place(r)
	}
	return lost, nil
}

// held is the run that a lease still holds, or nil.
func (l *Ledger) held(h ledger.Lease) *record {
	r := l.runs[h.RunID]
	if r == nil || r.State != ledger.Running || r.token != h.Token {
		return nil
	}
	return r
}

// Record writes outcomes, each fenced by its lease.
func (l *Ledger) Record(ctx context.Context, outcomes []ledger.Outcome) ([]ledger.RecordResult, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	results := make([]ledger.RecordResult, len(outcomes))
	var ended ledgerrules.IncidentChanges
	for i, o := range outcomes {
		var written bool
		if results[i], written = l.record(o, now); written {
			ended.Add(o)
		}
	}
	l.changeIncidents(ended, now)
	return results, nil
}

func (l *Ledger) record(o ledger.Outcome, now time.Time) (result ledger.RecordResult, written bool) {
	r := l.held(o.Lease)
	if r == nil {
		if r := l.runs[o.RunID]; r != nil && r.recordedToken != "" && r.recordedToken == o.Token {
			return ledger.Recorded, false
		}
		return ledger.Fenced, false
	}
	l.queue.remove(r)
	if o.Attempt.N != 0 {
		a := o.Attempt
		a.RunID = r.ID
		r.attempts = append(r.attempts, a)
		r.Status = a.Status
	}
	switch o.State {
	case ledger.Planned:
		r.Attempt--
		l.dueAgain(r, o, now)
		r.WaitReason = o.WaitReason.Storable()
	case ledger.Accepted:
		if o.Attempt.N == 0 {
			r.Attempt--
		}
		if r.AcceptedAt.IsZero() {
			r.AcceptedAt = now
		}
		if o.Progress != "" {
			r.Progress = ledger.StorableProgress(o.Progress)
		}
		r.Failures = o.Failures
		l.dueAgain(r, o, now)
	case ledger.Retrying:
		r.Failures = o.Failures
		l.dueAgain(r, o, now)
	default:
		r.Failures, r.Replayed = o.Failures, o.Replayed
		l.finish(r, o.State, o.Reason, now)
	}
	r.recordedToken = o.Token
	return ledger.Recorded, true
}

// dueAgain makes a run due after the outcome's wait.
func (l *Ledger) dueAgain(r *record, o ledger.Outcome, now time.Time) {
	l.move(r, o.State, "")
	r.NextAt = now.Add(max(o.Wait, time.Duration(0)))
	l.place(r)
}
