package executor

import (
	"context"
	"log/slog"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// attemptFloor is the least time in which an attempt may be started: what is
// cut off sooner would have used up a retry and told nothing.
const attemptFloor = time.Second

// attempter makes attempts: it makes the call and decides what its answer means for the run. It has
// no state of its own, and attempts run at the same time.
type attempter struct {
	registry string
	caller   Caller
	ledger   *ledgerClient // for its clock
	work     *workset
	observer Observer
	logger   *slog.Logger
}

// attempt makes one attempt of a run. targetClosed: the target cannot be called at all now, for
// as long as the outcome waits. An outcome without a state is not recorded: the
// lease is gone, and with it the right to record anything.
func (t *attempter) attempt(ctx context.Context, r *run) (o ledger.Outcome, targetClosed bool) {
	w, now := r.Work, t.ledger.clock.now()
	if o, ends := t.endUnsent(ctx, r, now); ends {
		return o, false
	}
	start := t.ledger.now()
	c := Call{
		Work: w, Registry: t.registry,
		SendUntil: start.Add(w.SendBefore.Sub(t.ledger.clock.latest())),
	}
	a, members, ok := t.answer(ctx, c)
	if !ok {
		return ledger.Outcome{}, false
	}
	took := time.Since(start)
	if !a.Unsent {
		t.observer.Sent(w, now.Sub(w.ScheduledAt)-w.Call.Delay)
	}
	t.observer.Answered(w, a, took)
	t.work.answered(r, a, took)

	if o = outcomeOf(w, a, t.ledger.clock.now(), t.ledger.random.float64); members > 0 && o.State == ledger.Succeeded {
		o.State, o.Members = ledger.FannedOut, members
	}
	if until := now.Add(safeFor(a.KeyKept)); a.KeyKept > 0 && until.Before(w.KeySafeUntil) {
		o.KeySafeUntil = until
		t.logger.Warn("the target keeps the key for less time than keyTTLs says", "run", w.RunID, "job", w.JobID, "safe_until", until)
	}
	if a.Unsent {
		t.logUnsent(w, a, o)
		return o, !c.PastSendUntil(t.ledger.now())
	}
	o.Progress = storable(o.Progress)
	if o.State == ledger.Accepted && !w.AcceptedAt.IsZero() {
		t.logger.Debug("run still accepted", "run", w.RunID, "job", w.JobID, "wait", o.Wait.String())
		return o, false // nothing new: no attempt in the history for each time that it is asked
	}
	o.Attempt = ledger.Attempt{
		RunID: w.RunID, N: w.Attempt, StartedAt: now, FinishedAt: now.Add(took),
		Answer: a.Kind, Status: a.Status, Code: storable(a.Code), Error: storable(a.Error), Detail: storable(a.Detail),
		Process: t.ledger.process,
	}
	o.Excerpt, o.KeepExcerpt = storable(a.Excerpt), a.KeepExcerpt
	t.logAttempt(w, a, o, took)
	return o, false
}

// endUnsent returns the outcome of a run that is not to be sent now, and reports whether it is one:
// its list is frozen already, its time is over, its lease may be another's, or the process stops
// too soon.
func (t *attempter) endUnsent(ctx context.Context, r *run, now time.Time) (o ledger.Outcome, ends bool) {
	o = ledger.Outcome{Lease: r.lease(), Failures: r.Failures}
	switch {
	case r.Frozen:
		o.State = ledger.FannedOut
	case !now.Before(r.SendBefore):
		o.State, o.Reason = ledger.Dead, ledger.ReasonKeyExpired
	case !t.work.hasLease(r):
		t.logger.Warn("lease expired before the call; not sent", "run", r.RunID)
		return ledger.Outcome{}, true
	case !roomFor(ctx, min(attemptFloor, r.Call.Timeout)):
		o.State = ledger.Planned
	default:
		return o, false
	}
	return o, true
}

// safeFor returns how long a key is safe that a target keeps for a time: a sixth less, since
// the call takes time and clocks differ, or by MaxClockSkew if that is shorter. Times in an
// answer are cut off to seconds; a target that keeps its promise is never found to break it.
func safeFor(kept time.Duration) time.Duration {
	return kept - min(kept/6, jobs.MaxClockSkew-ledger.ClockTolerance)
}

// answer makes the call, or fetches the list of a parent's members. It reports false if nothing
// may be recorded.
func (t *attempter) answer(ctx context.Context, c Call) (a Answer, members int, ok bool) {
	if c.Call.Each != nil {
		return t.fetchList(ctx, c)
	}
	return t.call(ctx, c), 0, true
}

// call asks the caller, unless the send-before time may have come already: the
// ledger's clock rules, and its next claim finds the run past its SendBefore.
func (t *attempter) call(ctx context.Context, c Call) Answer {
	if c.PastSendUntil(t.ledger.now()) {
		return Answer{Unsent: true, Error: "not sent: the run's send-before time may have come"}
	}
	ctx, cancel := context.WithTimeout(ctx, c.Call.Timeout)
	defer cancel()
	return t.caller.Call(ctx, c)
}

// logAttempt logs an attempt in one line: a success as information, a failure that is repeated as a
// warning, a dead run as an error.
func (t *attempter) logAttempt(w ledger.Work, a Answer, o ledger.Outcome, took time.Duration) {
	if o.State == ledger.Succeeded && !t.logger.Enabled(context.Background(), slog.LevelInfo) {
		return // there may be thousands a second
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
		t.logger.Info("run succeeded", attrs...)
	case ledger.FannedOut:
		t.logger.Info("list frozen; the run's members are called", append(attrs, "members", o.Members)...)
	case ledger.Accepted:
		t.logger.Info("run accepted; the target is working on it", append(attrs, "wait", o.Wait.String())...)
	case ledger.Dead:
		t.logger.Error("run is dead", append(attrs, "reason", o.Reason, "error", a.Error)...)
	default:
		t.logger.Log(context.Background(), levelOf(a), "attempt failed; retry scheduled",
			append(attrs, "wait", o.Wait.Round(time.Millisecond).String(), "error", a.Error)...)
	}
}

// logUnsent logs why a run waits. The first of a target's runs stands for those that meet the same
// while nothing is leased for that target.
func (t *attempter) logUnsent(w ledger.Work, a Answer, o ledger.Outcome) {
	level := levelOf(a)
	if t.work.isClosed(w.Call.Target) {
		level = slog.LevelDebug
	}
	t.logger.Log(context.Background(), level, "run not sent; waiting without using an attempt",
		"run", w.RunID, "job", w.JobID, "target", w.Call.Target, "wait", o.Wait.Round(time.Millisecond).String(), "error", a.Error)
}

// levelOf returns the level at which a failure is logged. In an outage there is a failure every few
// seconds, for hours, and each says what the first said.
func levelOf(a Answer) slog.Level {
	if a.Outage {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// textLimit bounds what a target's answer can add to the ledger.
const textLimit = 4 << 10

func storable(s string) string { return ledger.StorableText(s, textLimit) }
