package simulate

import (
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// functions starts a platform's schedule of a job that no ledger has: each
// delivery is made by a function that knows of no other, and only the target's
// key makes them one.
func (w *world) functions(r *rand.Rand, p plan) error {
	j := p.job(r, "fn")
	j.Async = jobs.Async{} // needs a ledger
	p.jobs = []jobs.Job{j}
	reg, err := p.registry()
	if err != nil {
		return err
	}
	j, _ = reg.Job("fn")
	w.tasks.Go(func() {
		for n := range eventsALife {
			next := j.ParsedSchedule().Next(w.Now())
			if next.IsZero() || !w.sleep(next.Sub(w.Now())) {
				return
			}
			r := w.Dice("event fn", n)
			for range pick(r, 1, 1, 2, 3) {
				late := between(r, 0, pick(r, time.Second, 20*time.Second, 10*time.Minute))
				own := rand.New(rand.NewPCG(r.Uint64(), 3))
				w.tasks.Go(func() { w.keyedEvent(reg, j, next, late, own) })
			}
		}
	})
	return nil
}

// keyedEvent is delivered after a while, and twice more if the function fails.
func (w *world) keyedEvent(reg *jobs.Registry, j jobs.Job, at time.Time, late time.Duration, r *rand.Rand) {
	for range 3 {
		if !w.sleep(late) {
			return
		}
		w.note(func(t *Tally) { t.Keyed++ })
		if w.invokeAlone(reg, j, at, r) {
			return
		}
		late = between(r, 10*time.Second, 2*time.Minute)
	}
}

// invokeAlone is the function. It reports whether the platform is told that all
// is well: of a run that succeeded, and of no other.
func (w *world) invokeAlone(reg *jobs.Registry, j jobs.Job, at time.Time, r *rand.Rand) bool {
	if w.Now().Sub(at) >= j.Retry.Horizon {
		return false
	}
	id, own := jobs.RunID(j.ID, at), &ledger.Single{Now: w.Now}
	if !w.options.FirstLease {
		own.FirstSent = func(e ledger.Entry, _ time.Time) time.Time { return e.ScheduledAt }
	}
	w.key(id, at, j.Retry.Horizon, false)
	e, ctx, end, err := w.brief(reg, "function", between(r, 10*time.Second, time.Minute), own)
	if err != nil {
		w.fail(err)
		return false
	}
	defer end()
	run, err := e.Execute(ctx, ledger.Entry{JobID: j.ID, RunSpec: ledger.RunSpec{
		RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule,
		Overlap: ledger.OverlapAllow, Call: executor.FrozenCall(j, id, at), Lease: true,
	}})
	if err != nil || run.State != ledger.Succeeded {
		return false
	}
	w.key(id, at, j.Retry.Horizon, true)
	return true
}

// key notes a scheduled time that was delivered, and whether it was acknowledged.
func (w *world) key(id string, at time.Time, horizon time.Duration, acknowledged bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := proof.Keyed{At: at, SendBefore: at.Add(horizon), Acknowledged: acknowledged || w.keyed[id].Acknowledged}
	w.keyed[id] = k
}
