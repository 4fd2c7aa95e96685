package simulate

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	eventAge    = time.Minute // an event is at most so much later than its scheduled time
	eventsALife = 150
)

// deliver plays a platform's schedule of one job: an event for each scheduled time, a
// little after it, delivered late, again, or not at all.
func (w *world) deliver(jobID string) {
	for n := range eventsALife {
		j, ok := w.Current().Job(jobID)
		next := time.Time{}
		if ok && !j.Disabled {
			next = j.ParsedSchedule().Next(w.Now())
		}
		wait := time.Hour
		if !next.IsZero() {
			wait = next.Sub(w.Now())
		}
		if !w.sleep(wait) {
			return
		}
		if next.IsZero() {
			continue
		}
		r := w.Dice("event "+jobID, n)
		at := next.Add(between(r, 0, pick(r, 2*time.Second, eventAge-time.Second)))
		w.give(j, next)
		for range pick(r, 0, 1, 1, 1, 1, 2, 3) {
			late := at.Sub(next) + between(r, 0, pick(r, time.Second, 20*time.Second, 10*time.Minute))
			own := rand.New(rand.NewPCG(r.Uint64(), 1))
			w.tasks.Go(func() { w.event(j, at, late, own) })
		}
	}
}

// give notes which scheduled times an event of this one may be floored to.
func (w *world) give(j jobs.Job, next time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for at := range j.ParsedSchedule().Due(next.Add(-time.Second), next.Add(eventAge)) {
		w.given[jobs.RunID(j.ID, at)] = true
	}
}

// event is delivered after a while, and twice more if the function fails.
func (w *world) event(j jobs.Job, at time.Time, late time.Duration, r *rand.Rand) {
	for range 3 {
		if !w.sleep(late) {
			return
		}
		w.note(func(t *Tally) { t.Events++ })
		if w.invoke(j, at, r) {
			return
		}
		late = between(r, 10*time.Second, 2*time.Minute)
	}
}

// invoke is the function: one executor, one run, one deadline. It reports
// whether the platform is told that all is well.
func (w *world) invoke(j jobs.Job, eventTime time.Time, r *rand.Rand) bool {
	at := w.options.Floor(j.ParsedSchedule(), eventTime)
	if at.IsZero() || eventTime.Sub(at) > eventAge {
		return true // not an event of this schedule
	}
	if age := w.Now().Sub(at); age >= j.Retry.Horizon {
		return false // too old to be sent
	}
	id := jobs.RunID(j.ID, at)
	run, err := w.drive(w.Current(), "lambda", between(r, 10*time.Second, time.Minute), ledger.Entry{
		JobID: j.ID, Traits: executor.TraitsOf(j), RunSpec: ledger.RunSpec{
			RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule,
			Overlap: ledger.Overlap(j.Overlap), Call: executor.FrozenCall(j, id, at), Lease: true,
		},
	})
	return err == nil && run.State.Finished()
}

// drive makes one run by a process of its own.
func (w *world) drive(reg *jobs.Registry, kind string, limit time.Duration, entry ledger.Entry) (ledger.Run, error) {
	e, ctx, end, err := w.brief(reg, kind, limit, w.ledger)
	if err != nil {
		w.fail(err)
		return ledger.Run{}, err
	}
	defer end()
	return e.Execute(ctx, entry)
}

// brief is an executor in a process of its own that runs for one errand.
func (w *world) brief(reg *jobs.Registry, kind string, limit time.Duration, l executor.Ledger) (*executor.Executor, context.Context, func(), error) {
	p, alive := w.newProcess(context.Background(), w.name(kind))
	p.ledger = l
	ctx, cancel := context.WithTimeout(alive, limit)
	e, err := executor.New(executor.Config{Registry: reg, Ledger: w.asks(p), Caller: p, Process: p.id, Grace: 5 * time.Second,
		Random: p.source()})
	spare := w.mayDie(p, limit)
	return e, ctx, func() { spare(); cancel(); p.cancel() }, err
}

// sleep waits while the storm lasts.
func (w *world) sleep(d time.Duration) bool {
	select {
	case <-w.quiet:
		return false
	case <-time.After(max(d, 0)):
		return true
	}
}
