package executor

import (
	"context"
	"log/slog"
	"time"

	"github.com/cronce/cronce/internal/clocks"
	"github.com/cronce/cronce/ledger"
)

// clockPause is the time to wait before planning again where the ledger's clock
// has not come to the scheduled time yet.
const clockPause = 5 * time.Millisecond

// deferredAgain is the delay after which a paused job is planned again. An operator may have
// ended the pause by then.
const deferredAgain = 10 * time.Second

// admitter takes what is due from the planner to the ledger, and what the ledger
// leased with it to the workset. It belongs to the loop's goroutine.
type admitter struct {
	ledger *ledgerClient
	plan   *planner
	work   *workset
	claims *claimTimer
	// reassign is called where another process switched a job's definition.
	reassign func()
	observer Observer
	logger   *slog.Logger
}

// planDue admits a batch of what is due. The loop comes back at once for more:
// planning alone must not keep calls from starting.
func (a *admitter) planDue(ctx context.Context) {
	if ctx.Err() != nil || a.ledger.backoff.remaining() > 0 {
		return
	}
	if b := a.plan.due(a.ledger.clock.now()); len(b.plans) > 0 {
		a.admit(ctx, b)
	}
}

// admit writes plans to the ledger, queues what was leased, and moves the
// planner to where the jobs stand now. It reports false where the ledger
// failed, or where nothing was admitted (its clock is behind ours).
func (a *admitter) admit(ctx context.Context, b batch) bool {
	a.work.leaseMarker()(b.plans)
	got, until, ok := a.ledger.admit(ctx, b.plans)
	if !ok {
		a.plan.restore(b)
		return false
	}
	a.work.add(got.Leased, until)
	if startable(b.plans) > len(got.Leased) {
		a.claims.advanceTo(time.Now())
	}
	return a.advance(b, got) > 0
}

// advance moves the planner to where each job stands after an admission, and returns how many plans
// were admitted. A stale plan means that another process planned the job meanwhile, or switched its
// definition.
func (a *admitter) advance(b batch, got ledger.Admitted) (admitted int) {
	stale := map[string]ledger.Position{}
	for _, s := range got.Stale {
		stale[s.JobID] = s
	}
	deferred := map[string]ledger.DeferredPlan{}
	for _, h := range got.Deferred {
		deferred[h.JobID] = h
	}
	for i, p := range b.plans {
		at, isStale := stale[p.JobID]
		if !isStale {
			admitted++
			at = ledger.Position{JobID: p.JobID, Revision: p.Revision, Watermark: p.Through}
			if h, isDeferred := deferred[p.JobID]; isDeferred {
				at = h.Position
			}
			a.report(p, at.Watermark)
			if p.Next != nil {
				continue // a switch: the assignments are applied again
			}
		}
		if index := b.indexes[i]; index >= 0 && !a.plan.moveTo(index, at) {
			a.reassign()
		} else if h, isDeferred := deferred[p.JobID]; isDeferred && index >= 0 {
			a.plan.postpone(index, clocks.Earlier(h.Until, got.Now.Add(deferredAgain)))
		}
		if isStale && at.Watermark.After(p.After) {
			admitted++ // by another process: the job has moved on
		}
	}
	if admitted == 0 {
		a.ledger.backoff.pauseFor(clockPause)
	}
	return admitted
}

// report tells the log and the metrics what was admitted, up to a time.
func (a *admitter) report(p ledger.Plan, through time.Time) {
	for _, in := range p.Runs {
		if in.ScheduledAt.After(through) {
			break
		}
		a.observer.Admitted(p.JobID, in.State, in.Count)
		if in.State == ledger.Planned {
			continue
		}
		a.logger.Warn("scheduled times not run", "job", p.JobID, "run", in.RunID, "count", in.Count, "state", in.State, "reason", in.Reason)
	}
	warnOfGaps(a.logger, p)
}

// warnOfGaps logs the local times of a plan that do not exist because of a time change.
func warnOfGaps(logger *slog.Logger, p ledger.Plan) {
	for _, ev := range p.Events {
		logger.Warn("local time does not exist; skipped", "job", p.JobID, "local", ev.Local, "zone", ev.Zone)
	}
}
