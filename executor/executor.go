package executor

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/ledger"
)

const (
	beatEvery  = time.Second     // the metronome: look for due scheduled times and work
	pulseEvery = 5 * time.Second // heartbeat of the process; see ledger.ProcessTTL
)

// Executor plans and runs one registry on one ledger. Make it with New; use
// Run for as long as the process lives, or Drive for a single run.
type Executor struct {
	cfg   Config
	clock storeClock
	plan  *planner
	queue *queue
	held  *held
	rec   *recorder

	beat, pulse, wake chan struct{} // each holds at most one signal

	version string
	living  []string // versions, at the last pulse
	lost    []lostLease
	claims  claimTimer
	batch   int           // rows of the last admission, while more is due than it took; 0: start small
	slow    bool          // the last admission took long
	stays   bool          // Run: this process lives longer than one beat
	poll    time.Duration // how often to claim when nothing is known to be due
	retryAt time.Time     // on this process's clock: when to ask a ledger again that failed
	backoff time.Duration
	fatal   error // what asking again cannot mend

	health health
	turned atomic.Pointer[time.Time] // when the loop last came round
	random random
	calls  sync.WaitGroup
}

// New checks the configuration and prepares an executor. It touches neither
// the ledger nor any target.
func New(cfg Config) (*Executor, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Executor{
		cfg: cfg, plan: newPlanner(cfg.Registry, cfg.OnTime), held: newHeld(cfg.now),
		beat: make(chan struct{}, 1), pulse: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		poll:    pollEvery,
		version: cfg.Registry.Version(),
		health:  health{fails: map[string]trouble{}},
		random:  random{source: cfg.Random},
		clock:   storeClock{local: cfg.now},
	}
	e.queue = newQueue(cfg.MaxInFlight, e.limitOf)
	e.queue.pace(firstAhead)
	e.rec = newRecorder(e)
	return e, nil
}

func (e *Executor) limitOf(target string) int {
	t, _ := e.cfg.Registry.Target(target)
	return t.MaxInFlight
}

// Run plans and executes until ctx ends, then stops gracefully: nothing new is
// planned, claimed or sent; calls in flight get Config.Grace to end and their
// outcomes are recorded; what is left keeps its lease, which lapses. A ledger
// that fails is asked again for as long as Run lasts. What asking again cannot
// mend ends it at once: the ledger of another registry or of another schema, or
// a plan that no ledger can keep (ledger.ErrOtherRegistry, ledger.ErrSchema,
// ledger.ErrInvalidRun).
func (e *Executor) Run(ctx context.Context) error {
	e.stays = true
	// What is recorded and renewed during the stop must survive ctx.
	after, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() { e.keepLeases(after) })
	group.Go(func() { e.rec.run(after) })

	err := e.startAlarm()
	if err == nil {
		err = e.loop(ctx, after, func() bool { return false })
	}
	err = errors.Join(err, e.cfg.Alarm.Stop()) // one wake-up may stand although the other failed
	e.stop(after)
	cancel()
	group.Wait()
	waitFor(context.WithoutCancel(ctx), &e.calls, time.Second) // calls that outlasted the grace end with their context
	e.tellInFlight()
	return err
}

func (e *Executor) startAlarm() error {
	return errors.Join(
		e.cfg.Alarm.Every(beatEvery, "plan", func() { signal(e.beat) }),
		e.cfg.Alarm.Every(pulseEvery, "heartbeat", func() { signal(e.pulse) }),
	)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// loop owns the planner: one goroutine plans, admits, claims and starts, until
// ctx ends or enough.
func (e *Executor) loop(ctx, calls context.Context, enough func() bool) error {
	e.declare(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil && e.fatal == nil {
		e.turned.Store(new(time.Now()))
		select { // a heartbeat that is due goes first, whatever else is
		case <-e.pulse:
			e.heartbeat(ctx)
		default:
		}
		e.recall(ctx, e.accept)
		if !e.rec.behind() {
			e.planDue(ctx)
			e.claimDue(ctx)
		}
		e.startCalls(calls)
		if enough() {
			return nil
		}
		timer.Reset(e.idle())
		select {
		case <-ctx.Done():
		case <-e.pulse:
			signal(e.pulse)
		case <-e.beat:
		case <-e.wake:
		case <-timer.C:
		}
	}
	return e.fatal
}

// idle is how long nothing can be due: up to the next scheduled time, the next retry
// or the end of the back-off from a failing ledger, whichever counts. Where the
// recorder is behind, its next batch comes first, and wakes the loop.
func (e *Executor) idle() time.Duration {
	if wait := time.Until(e.retryAt); wait > 0 {
		return wait
	}
	wait := beatEvery
	if e.rec.behind() {
		return wait
	}
	if next := e.plan.nextDue(); !next.IsZero() {
		wait = min(wait, next.Sub(e.clock.now()))
	}
	if _, waiting, room := e.queue.size(); room > 0 && waiting <= room {
		wait = min(wait, e.claims.wait())
	}
	return max(wait, 0)
}

// stop gives back what was leased and not sent, also by an admission or a claim
// that the stop cut off, leaves its jobs to others, waits for what is in flight
// and records it.
func (e *Executor) stop(ctx context.Context) {
	e.giveBack(e.queue.drain(), 0, ledger.WaitReason{}) // first: a call that ends would take what waits
	e.recallOnce(ctx)
	var retired sync.WaitGroup
	retired.Go(func() { e.retire(ctx) }) // not last: nobody would plan its jobs for as long as a call takes
	defer retired.Wait()
	if !waitFor(ctx, &e.calls, e.cfg.Grace) {
		in, _, _ := e.queue.size()
		e.cfg.Logger.Warn("stopping with calls in flight; their leases will expire", "calls", in)
	}
	record, cancel := context.WithTimeout(ctx, e.cfg.Grace)
	defer cancel()
	e.rec.drain(record)
}

// retire takes this process out of the living. Its leases stay its own.
func (e *Executor) retire(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Grace)
	defer cancel()
	if err := e.asked("retire", time.Now(), e.cfg.Ledger.Retire(ctx, e.cfg.Process)); err != nil {
		e.cfg.Logger.Warn("failed to deregister; the process is considered alive until its heartbeat expires", "error", err)
	}
}

// waitFor waits for the group, at most d and until ctx ends.
func waitFor(ctx context.Context, g *sync.WaitGroup, d time.Duration) bool {
	done := make(chan struct{})
	go func() { g.Wait(); close(done) }()
	select {
	case <-done:
		return true
	case <-ctx.Done():
	case <-time.After(d):
	}
	return false
}

// Ready reports whether the executor can plan and record now: nil, or why not.
func (e *Executor) Ready() error { return e.health.state(time.Now()) }

// PlannerAge reports how long ago the planner last looked for what is due; 0
// before its first look. It looks at least once a second, also while the ledger
// fails; a ledger that neither answers nor fails holds it up.
func (e *Executor) PlannerAge() time.Duration {
	if turned := e.turned.Load(); turned != nil {
		return time.Since(*turned)
	}
	return 0
}

// asked notes an answer of the ledger, for metrics, readiness and back-off.
func (e *Executor) asked(op string, since time.Time, err error) error {
	now := time.Now()
	e.cfg.Observer.Asked(op, now.Sub(since), err)
	switch fell, rose := e.health.note(op, err, now); {
	case fell && err != nil && !final(err): // the final ones are Run's error
		e.cfg.Logger.Error("ledger unavailable; retrying", "operation", op, "error", err)
	case rose:
		e.cfg.Logger.Info("ledger available again", "operation", op)
	}
	return err
}
