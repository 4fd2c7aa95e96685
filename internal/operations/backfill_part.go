package operations

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// backfillPart is the part of a backfill that one request makes.
type backfillPart struct {
	Backfill
	ledger ledger.Store
	job    jobs.Job
	batch  []ledger.RunSpec // not planned yet, in the order of the times
	done   Backfilled
}

// run plans the first MaxPart times of the span, or looks at all of them in batches.
func (p *backfillPart) run(ctx context.Context) error {
	for at := range p.times() {
		if len(p.batch) == MaxPart && !p.DryRun {
			rest := p.from(at)
			p.done.Next, p.done.Remaining = at, p.job.ParsedSchedule().Count(rest.after(), rest.To)
			break
		} else if len(p.batch) == MaxPart {
			if err := p.plan(ctx); err != nil {
				return err
			}
		}
		id := jobs.RunID(p.job.ID, at)
		p.batch = append(p.batch, ledger.RunSpec{
			RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByBackfill,
			Overlap: ledger.OverlapQueue, Call: executor.FrozenCall(p.job, id, at),
		})
	}
	return p.plan(ctx)
}

// backwards reports whether the newest times are planned first.
func (p *backfillPart) backwards() bool { return p.NewestFirst && !p.DryRun }

// times yields the scheduled times of the span in the order in which they are planned.
func (p *backfillPart) times() iter.Seq[time.Time] {
	if p.backwards() {
		return backwards(p.job.ParsedSchedule(), p.after(), p.To)
	}
	return p.job.ParsedSchedule().Due(p.after(), p.To)
}

// plan plans the batch in one transaction and adds the result to done. An empty batch is planned too if the request has
// a key: the audit then keeps the answer for a repetition.
func (p *backfillPart) plan(ctx context.Context) error {
	if len(p.batch) == 0 && p.Request == nil { // else the key is kept
		return nil
	}
	keep(p.Actor, func(got ledger.Backfilled) (any, error) { return p.done.and(got), nil })
	if p.backwards() {
		slices.Reverse(p.batch)
	}
	got, err := p.ledger.Backfill(ctx, ledger.BackfillRequest{
		JobID: p.job.ID, Runs: p.batch, Pace: ledger.NewPace(p.Parallel, p.NewestFirst), NeverPlanned: p.NeverPlanned,
		Actor: p.Actor, DryRun: p.DryRun,
	})
	if errors.Is(err, ledger.ErrNotFound) {
		return notServed(p.job.ID)
	}
	p.done, p.batch = p.done.and(got), p.batch[:0]
	return err
}

// after returns the last whole second before the span: schedules yield the times after a time.
func (b Backfill) after() time.Time { return b.From.Add(-1).Truncate(time.Second) }

// backwards yields every scheduled time after a time, up to another, the latest first.
func backwards(s *schedule.Schedule, after, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for at := s.Last(to); !at.IsZero() && at.After(after) && yield(at); {
			at = s.Last(at.Add(-time.Second))
		}
	}
}

// from returns the rest of the backfill from a scheduled time on.
func (b Backfill) from(next time.Time) Backfill {
	if b.NewestFirst {
		b.To = next
	} else {
		b.From = next
	}
	return b
}
