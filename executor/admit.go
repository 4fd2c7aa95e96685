package executor

import (
	"context"
	"errors"
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	// admitLimit is about how many rows one admission writes: enough to batch
	// well, few enough that nobody waits long for the jobs' rows, and that what
	// is built for one statement takes little memory. With 500 a row costs as
	// much processor time as with 2,000.
	admitLimit = 500
	// slowLimit is the same where an admission takes slowAdmission and longer:
	// there it is not the rows that take the time, and what is planned late may
	// be missed.
	slowLimit     = 2000
	slowAdmission = 100 * time.Millisecond
	// admitBytes is about how much of requests' bodies one admission holds.
	admitBytes = 1 << 20
)

// planDue admits a batch of what is due. The loop comes back at once for more:
// planning alone must not keep calls from starting. The first batch is what
// the callers can take at once, and each next one twice as large, so that they
// have work all the while, and a thousand jobs are soon planned where there is
// one caller and the ledger is slow.
func (e *Executor) planDue(ctx context.Context) {
	if ctx.Err() != nil || time.Now().Before(e.retryAt) {
		return
	}
	most := admitLimit
	if e.slow {
		most = slowLimit
	}
	limit := min(max(2*e.batch, e.cfg.MaxInFlight), most)
	b := e.plan.due(e.clock.now(), limit)
	if e.batch = 0; b.full(limit) {
		e.batch = limit
	}
	if len(b.plans) > 0 {
		start := time.Now()
		e.admit(ctx, b)
		e.slow = time.Since(start) >= slowAdmission
	}
}

// admit writes plans to the ledger, leases what can start, and moves the
// planner to where the jobs stand now. It reports false where the ledger
// failed, or where nothing was admitted (its clock is behind ours).
func (e *Executor) admit(ctx context.Context, b batch) bool {
	e.markLeases(b.plans)
	a := ledger.Admission{
		Plans: b.plans, Owner: e.cfg.Process, Token: e.random.token(), LeaseFor: e.cfg.Lease,
	}
	start := e.cfg.now()
	got, err := e.cfg.Ledger.Admit(ctx, a)
	if e.failed(e.asked("admit", start, err)) {
		e.lost = append(e.lost, lostLease{a.Token, start})
		return false
	}
	e.clock.set(got.Now, start)
	e.accept(got.Leased, start)
	if startable(b.plans) > len(got.Leased) {
		e.claims.want(time.Now())
	}
	return e.applyAdmission(b, got) > 0
}

func (e *Executor) markLeases(plans []ledger.Plan) {
	b := e.queue.budget(time.Now())
	for p := range plans {
		for i := range plans[p].Runs {
			in := &plans[p].Runs[i]
			in.Lease = in.State == ledger.Planned && b.spend(plans[p].JobID, in.Call)
		}
	}
}

// startable counts the scheduled times that are to run.
func startable(plans []ledger.Plan) (n int) {
	for _, p := range plans {
		for _, in := range p.Runs {
			if in.State == ledger.Planned {
				n++
			}
		}
	}
	return n
}

// follow moves the planner on and returns how many plans were admitted.
func (e *Executor) applyAdmission(b batch, got ledger.Admitted) (admitted int) {
	stale := map[string]ledger.Position{}
	for _, s := range got.Stale {
		stale[s.JobID] = s
	}
	for i, p := range b.plans {
		at, isStale := stale[p.JobID]
		if !isStale {
			admitted++
			e.observeAdmitted(p)
			at = ledger.Position{JobID: p.JobID, Revision: p.Revision, Watermark: p.Through}
			if p.Next != nil {
				continue // settle looks at the assignments again
			}
		}
		if place := b.places[i]; place >= 0 && !e.plan.reach(place, at) {
			signal(e.pulse)
			e.living = nil
		}
		if isStale && at.Watermark.After(p.After) {
			admitted++ // by another process: the job has moved on
		}
	}
	if admitted == 0 {
		// The ledger's clock is a little behind: ask again in a moment.
		e.retryAt = time.Now().Add(5 * time.Millisecond)
	}
	return admitted
}

func (e *Executor) observeAdmitted(p ledger.Plan) {
	for _, in := range p.Runs {
		e.cfg.Observer.Admitted(p.JobID, in.State, in.Count)
		if in.State == ledger.Planned {
			continue
		}
		e.cfg.Logger.Warn("scheduled times not run", "job", p.JobID, "run", in.RunID, "count", in.Count, "state", in.State, "reason", in.Reason)
	}
	for _, ev := range p.Events {
		e.cfg.Logger.Warn("local time does not exist; skipped", "job", p.JobID, "local", ev.Local, "zone", ev.Zone)
	}
}

// failed backs off from a ledger that does not answer, for longer each time
// until nothing of it fails: what only reads may answer all the while.
func (e *Executor) failed(err error) bool {
	if err == nil {
		if e.Ready() == nil {
			e.backoff = 0
		}
		return false
	}
	if final(err) {
		e.fatal = err
	}
	e.backoff = min(max(2*e.backoff, 100*time.Millisecond), 5*time.Second)
	e.retryAt = time.Now().Add(jittered(e.backoff, 0.2, e.random.float64))
	return true
}

// final reports whether asking the ledger again cannot help.
func final(err error) bool {
	return errors.Is(err, ledger.ErrOtherRegistry) || errors.Is(err, ledger.ErrSchema) || errors.Is(err, ledger.ErrInvalidRun)
}
