package executor

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	planEvery      = time.Second     // look for due scheduled times and work
	heartbeatEvery = 5 * time.Second // heartbeat of the process; see ledger.ProcessTTL
)

// Executor plans and executes the runs of one registry on one ledger. Make it with New.
// Call Run for as long as the process lives, Tick for one pass, or Execute for a single
// run.
type Executor struct {
	cfg        Config
	ledger     *ledgerClient
	plan       *planner
	work       *workset
	membership *membership
	admit      *admitter
	schedules  *schedulePlanner
	claim      *claimer
	releaser   *releaser
	dispatcher *dispatcher
	recorder   *recorder
	leases     *leaseKeeper

	ticking                     bool // in Tick, which claims what is known to be due: see tickPoll
	planDue, heartbeatDue, wake signal
	lastLoop                    atomic.Pointer[time.Time] // when the loop last came round
}

// New checks the configuration and returns an Executor. It calls neither the ledger nor
// any target.
func New(cfg Config) (*Executor, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Executor{cfg: cfg, planDue: newSignal(), heartbeatDue: newSignal(), wake: newSignal()}
	rnd := &random{source: cfg.Random}
	e.ledger = newLedgerClient(cfg, rnd)
	e.plan = newPlanner(cfg.Registry, cfg.OnTime)
	e.work = newWorkset(cfg.MaxInFlight, e.limitOf, cfg.now)
	e.leases = &leaseKeeper{ledger: e.ledger, work: e.work, logger: cfg.Logger}
	e.claim = &claimer{ledger: e.ledger, work: e.work, timer: &claimTimer{}, poll: pollEvery}
	e.admit = &admitter{
		ledger: e.ledger, plan: e.plan, work: e.work, claims: e.claim.timer,
		reassign: e.Reassign, observer: cfg.Observer, logger: cfg.Logger,
	}
	e.schedules = &schedulePlanner{
		ledger: e.ledger, rules: ScheduleRules(cfg.Registry, cfg.OnTime), work: e.work, claims: e.claim.timer,
		planned: e.wake.send, changed: newSignal(), reassign: e.Reassign, observer: cfg.Observer, logger: cfg.Logger,
	}
	e.releaser = &releaser{ledger: e.ledger, work: e.work, poll: slowPoll, parents: map[string]*fanned{}}
	if cfg.Registry.FansOut() {
		e.releaser.poll = pollEvery
	}
	e.membership = &membership{
		ledger: e.ledger, registry: cfg.Registry, plan: e.plan, schedules: e.schedules, work: e.work, onTime: cfg.OnTime, host: cfg.Host,
		program: cfg.Program,
		admit:   e.admit.admit, heartbeatDue: e.heartbeatDue, logger: cfg.Logger, ahead: aheadWatch{logger: cfg.Logger},
	}
	e.dispatcher = &dispatcher{
		work: e.work, wake: e.wake, observer: cfg.Observer,
		attempts: &attempter{
			registry: cfg.Registry.Name(), caller: cfg.Caller, ledger: e.ledger, work: e.work,
			observer: cfg.Observer, logger: cfg.Logger,
		},
	}
	e.recorder = &recorder{
		runs: e.work, write: e.ledger.record, recorded: e.recorded, wake: e.wake.send,
		random: rnd, logger: cfg.Logger, writing: make(chan struct{}, 1),
	}
	return e, nil
}

// limitOf returns the limit of a target's calls in flight; 0: it has none of its own.
func (e *Executor) limitOf(target string) int {
	t, _ := e.cfg.Registry.Target(target)
	return t.MaxInFlight
}

// Run plans and executes runs until ctx ends, and then stops gracefully. Nothing new is
// planned, claimed or sent. Queued runs are given back unsent, so that another process can
// lease them at once. Calls in flight get Config.Grace to end, and their outcomes are
// recorded. The lease of a call that takes longer expires.
//
// While the ledger fails, Run keeps retrying. It stops before ctx ends only for an error
// of the Waker, or for errors that retries cannot cure: ledger.ErrOtherRegistry,
// ledger.ErrSchema and ledger.ErrInvalidRun. It returns that error; after a graceful stop
// it returns nil, or the error of Waker.Stop. Call Run at most once.
func (e *Executor) Run(ctx context.Context) error {
	e.membership.longLived = true
	// What is recorded and renewed during the stop must survive ctx.
	after, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	wait := e.renewAndRecord(after)
	err := e.startWaker()
	if err == nil {
		err = e.loop(ctx, after, func() bool { return false })
	}
	err = errors.Join(err, e.cfg.Waker.Stop()) // one wake-up may have been set although the other failed
	e.stop(after)
	cancel()
	wait()
	waitFor(context.WithoutCancel(ctx), &e.dispatcher.inFlight, time.Second) // calls that outlasted the grace end with their context
	e.dispatcher.observe()
	return err
}

// renewAndRecord renews leases and records outcomes until ctx ends. wait returns when both
// have stopped, and logs how many outcomes are lost.
func (e *Executor) renewAndRecord(ctx context.Context) (wait func()) {
	var group sync.WaitGroup
	group.Go(func() { e.leases.run(ctx) })
	group.Go(func() { e.recorder.run(ctx, e.work.unwritten, e.work.calling) })
	return func() {
		group.Wait()
		e.recorder.abandonRest()
	}
}

// startWaker has the loop woken to plan, and to send the heartbeat.
func (e *Executor) startWaker() error {
	return errors.Join(
		e.cfg.Waker.Every(planEvery, "plan", e.planDue.send),
		e.cfg.Waker.Every(heartbeatEvery, "heartbeat", e.heartbeatDue.send),
	)
}

// loop is the one goroutine that plans jobs of the registry, admits, claims and starts, until
// ctx ends or done. Another one plans schedules.
func (e *Executor) loop(ctx, calls context.Context, done func() bool) error {
	e.membership.declare(ctx)
	planning, cancel := context.WithCancel(ctx)
	var planner sync.WaitGroup
	planner.Go(func() { e.schedules.run(planning) })
	defer planner.Wait()
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil && e.ledger.backoff.fatalError() == nil {
		e.lastLoop.Store(new(time.Now()))
		e.membership.handoverDue()
		select { // a heartbeat that is due goes before all else
		case <-e.heartbeatDue:
			e.membership.heartbeat(ctx)
		default:
		}
		e.ledger.recoverGrants(ctx, e.work.add)
		if !e.work.behind() {
			e.admit.planDue(ctx)
			e.dispatcher.start(calls)
			e.claim.claimDue(ctx)
			e.claim.claimStarved(ctx)
			e.releaser.release(ctx)
		}
		e.dispatcher.start(calls)
		if done() {
			return nil
		}
		wait := e.untilNext()
		if deadline, ok := ctx.Deadline(); ok { // a tick ends before its deadline cuts a request off
			if left := time.Until(deadline) - attemptFloor + time.Millisecond; left > 0 {
				wait = min(wait, left)
			}
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-e.heartbeatDue:
			e.heartbeatDue.send()
		case <-e.planDue:
		case <-e.wake:
		case <-timer.C:
		}
	}
	return e.ledger.backoff.fatalError()
}

// untilNext returns how long nothing can be due: up to the next scheduled time, the next claim or
// the end of the back-off from a failing ledger, whichever counts. Where the recorder is behind,
// its next batch comes first, and wakes the loop.
func (e *Executor) untilNext() time.Duration {
	if wait := e.ledger.backoff.remaining(); wait > 0 {
		return wait
	}
	wait := planEvery
	if e.work.behind() {
		return wait
	}
	for _, next := range []time.Time{e.plan.nextDue(), e.membership.handover} {
		if !next.IsZero() {
			wait = min(wait, next.Sub(e.ledger.clock.now()))
		}
	}
	return max(0, e.work.untilThrottled(min(wait, e.claim.wait())))
}

// stop gives back what was leased and not sent, also by an admission or a claim
// that the stop cut off, leaves its jobs to other processes, waits for what is in
// flight and records it.
func (e *Executor) stop(ctx context.Context) {
	e.work.giveBackAll() // first: a call that ends would take what is queued
	e.ledger.recoverGrantsAtStop(ctx, e.cfg.Grace, e.work.addUnsent)
	var deregistered sync.WaitGroup
	deregistered.Go(func() { e.deregister(ctx) }) // not last: no process would plan its jobs for as long as a call takes
	defer deregistered.Wait()
	if !waitFor(ctx, &e.dispatcher.inFlight, e.cfg.Grace) {
		in, _, _ := e.work.size()
		e.cfg.Logger.Warn("stopping with calls in flight; their leases will expire", "calls", in)
	}
	record, cancel := context.WithTimeout(ctx, e.cfg.Grace)
	defer cancel()
	e.recorder.drain(record)
}

// deregister ends this process's heartbeat. It keeps its leases.
func (e *Executor) deregister(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Grace)
	defer cancel()
	if err := e.ledger.deregister(ctx); err != nil {
		e.cfg.Logger.Warn("failed to deregister; the process is considered alive until its heartbeat expires", "error", err)
	} else if e.cfg.Retired != nil {
		e.cfg.Retired()
	}
}

// Reassign has the executor look at once which jobs are its own, as it does after the next
// heartbeat if another process has come or gone.
func (e *Executor) Reassign() { e.membership.reassign() }

// recorded reports what the ledger made of an outcome, and has the loop claim
// when its run, or one that waits for its slot, is due.
func (e *Executor) recorded(r *run, result ledger.RecordResult) {
	o := r.outcome
	e.cfg.Observer.Recorded(o, r.JobID, result)
	if r.Parent != "" {
		e.releaser.ended(r.Parent)
	} else if o.State == ledger.FannedOut {
		e.releaser.fannedOut(o.RunID)
	}
	if result == ledger.Fenced {
		if o.State != ledger.Planned { // a run that was not sent has no result
			e.cfg.Logger.Warn("lease lost; result discarded", "run", o.RunID, "attempt", r.Attempt, "state", o.State)
		}
		return
	}
	switch {
	case e.ticking: // the timer has the end of this run's lease, until which a tick would wait
		e.claim.timer.advanceTo(time.Now())
	case !o.State.Finished():
		e.claim.timer.advanceTo(time.Now().Add(o.Wait))
	case e.mayWait(r):
		e.claim.timer.advanceTo(time.Now())
	}
}

// mayWait reports whether other runs of the job may wait for this one's slot.
func (e *Executor) mayWait(r *run) bool {
	if r.Trigger == ledger.ByBackfill {
		return true
	}
	j, known := e.cfg.Registry.Job(r.JobID)
	if !known {
		t, _ := e.cfg.Registry.Template(ledger.TemplateOf(r.JobID))
		j = t.Job
	}
	return j.Overlap == jobs.OverlapQueue || j.CatchUp == jobs.CatchUpAll
}

// Ready returns nil if the executor can plan and record now, or else why not.
func (e *Executor) Ready() error { return e.ledger.ready() }

// PlannerAge returns how long ago the planner last checked for due runs, of jobs or of
// schedules; 0 before its first check. The planner checks at least once a second, also while the
// ledger returns errors. Only a ledger that does not respond at all blocks it.
func (e *Executor) PlannerAge() (age time.Duration) {
	for _, last := range []*time.Time{e.lastLoop.Load(), e.schedules.lastPass.Load()} {
		if last != nil {
			age = max(age, time.Since(*last))
		}
	}
	return age
}
