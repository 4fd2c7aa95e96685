package executor

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// startCalls starts every run that has a place.
func (e *Executor) startCalls(ctx context.Context) {
	for {
		w, ok := e.queue.take()
		if !ok {
			break
		}
		e.calls.Go(func() { e.serve(ctx, w) })
	}
	e.tellInFlight()
}

func (e *Executor) tellInFlight() {
	in, waiting, _ := e.queue.size()
	e.cfg.Observer.InFlight(in, waiting)
}

// serve makes a run's attempt, and goes on with the next run that has a
// place, so that a busy executor keeps its goroutines.
func (e *Executor) serve(ctx context.Context, w ledger.Work) {
	for ok := true; ok; w, ok = e.queue.take() {
		o, shut := e.attempt(ctx, w)
		e.queue.done(w)
		if o.State == "" {
			continue // the lease is gone, and so is the right to say anything
		}
		e.rec.put(o, w)
		if shut {
			e.giveBack(e.queue.close(w.Call.Target, time.Now().Add(o.Wait)), o.Wait, o.WaitsFor)
		}
		if e.queue.low() {
			signal(e.wake)
		}
	}
	signal(e.wake)
}

// attemptFloor is the least time in which an attempt may be started: what is
// cut off sooner would have used up a retry and told nothing.
const attemptFloor = time.Second

// roomFor reports whether ctx lasts for d.
func roomFor(ctx context.Context, d time.Duration) bool {
	deadline, bounded := ctx.Deadline()
	return ctx.Err() == nil && (!bounded || time.Until(deadline) >= d)
}

// attempt makes one call and judges its answer. shut: the target cannot be
// called at all now, for as long as the outcome waits. An outcome without a
// state is not recorded.
func (e *Executor) attempt(ctx context.Context, w ledger.Work) (o ledger.Outcome, shut bool) {
	now := e.clock.now()
	lease := ledger.Lease{RunID: w.RunID, Token: w.Token}
	if !now.Before(w.SendBefore) {
		return ledger.Outcome{Lease: lease, State: ledger.Dead, Reason: ledger.KeyExpired, Failures: w.Failures}, false
	}
	if !e.held.holds(lease) {
		e.held.drop(lease)
		e.cfg.Logger.Warn("lease expired before the call; not sent", "run", w.RunID)
		return ledger.Outcome{}, false
	}
	if !roomFor(ctx, min(attemptFloor, w.Call.Timeout)) {
		return ledger.Outcome{Lease: lease, State: ledger.Planned, Failures: w.Failures}, false
	}
	start := e.cfg.now()
	c := Call{
		Work: w, Registry: e.cfg.Registry.Name(),
		SendUntil: start.Add(w.SendBefore.Sub(e.clock.latest())),
	}
	a := e.call(ctx, c)
	took := time.Since(start)
	if !a.Unsent {
		e.cfg.Observer.Started(w, now.Sub(w.ScheduledAt))
	}
	e.cfg.Observer.Answered(w, a, took)

	o = judge(w, a, e.random.float64)
	if a.Unsent {
		e.logUnsent(w, a, o)
		return o, !c.TooLate(e.cfg.now())
	}
	o.Attempt = ledger.Attempt{
		RunID: w.RunID, N: w.Attempt, StartedAt: now, FinishedAt: now.Add(took),
		Answer: a.Kind, Status: a.Status, Code: plain(a.Code), Error: plain(a.Error), Detail: plain(a.Detail),
		Owner: e.cfg.Process,
	}
	e.logAttempt(w, a, o, took)
	return o, false
}

// call asks the caller, unless the send-before time may have come already: the
// ledger's clock rules, and its next claim finds the run expired.
func (e *Executor) call(ctx context.Context, c Call) Answer {
	if c.TooLate(e.cfg.now()) {
		return Answer{Unsent: true, Error: "not sent: the run's send-before time may have come"}
	}
	ctx, cancel := context.WithTimeout(ctx, c.Call.Timeout)
	defer cancel()
	return e.cfg.Caller.Call(ctx, c)
}

func (e *Executor) logAttempt(w ledger.Work, a Answer, o ledger.Outcome, took time.Duration) {
	if o.State == ledger.Succeeded && !e.cfg.Logger.Enabled(context.Background(), slog.LevelInfo) {
		return // thousands a second, each with a line that nobody reads
	}
	attrs := []any{
		"run", w.RunID, "job", w.JobID, "attempt", w.Attempt, "answer", a.Kind,
		"status", a.Status, "took", took.Round(time.Microsecond).String(),
	}
	if a.Code != "" {
		attrs = append(attrs, "code", a.Code)
	}
	switch o.State {
	case ledger.Succeeded:
		e.cfg.Logger.Info("run succeeded", attrs...)
	case ledger.Dead:
		e.cfg.Logger.Error("run is dead", append(attrs, "reason", o.Reason, "error", a.Error)...)
	default:
		e.cfg.Logger.Warn("attempt failed; retry scheduled",
			append(attrs, "wait", o.Wait.Round(time.Millisecond).String(), "error", a.Error)...)
	}
}

// logUnsent says why a run waits. The first of a target's runs stands for
// those that meet the same while nothing is leased for that target.
func (e *Executor) logUnsent(w ledger.Work, a Answer, o ledger.Outcome) {
	level := slog.LevelWarn
	if e.queue.shut(w.Call.Target, time.Now()) {
		level = slog.LevelDebug
	}
	e.cfg.Logger.Log(context.Background(), level, "run not sent; waiting without using an attempt",
		"run", w.RunID, "job", w.JobID, "target", w.Call.Target, "wait", o.Wait.Round(time.Millisecond).String(), "error", a.Error)
}

// giveBack returns leases of runs that were not sent, due again after wait, and
// says why where that is known.
func (e *Executor) giveBack(runs []*ledger.Work, wait time.Duration, why ledger.WaitReason) {
	for _, w := range runs {
		e.rec.put(ledger.Outcome{
			Lease: ledger.Lease{RunID: w.RunID, Token: w.Token},
			State: ledger.Planned, Wait: wait, WaitsFor: why, Failures: w.Failures,
		}, *w)
	}
}

// textLimit bounds what a target's answer can add to the ledger.
const textLimit = 4 << 10

// plain makes text that came from outside fit for every store.
func plain(s string) string {
	if len(s) > textLimit {
		s = s[:textLimit]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "?")
}
