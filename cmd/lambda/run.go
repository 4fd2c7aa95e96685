package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	// firstPoll is when a run in another process's hands is looked at again: most
	// calls end soon. Each wait is twice the last one.
	firstPoll = 20 * time.Millisecond
	// maxPoll is the longest wait between two looks.
	maxPoll = 500 * time.Millisecond
)

// answer is the result of one event.
type answer struct {
	RunID    string        `json:"runId"`
	State    ledger.State  `json:"state"`
	Reason   ledger.Reason `json:"reason,omitempty"`
	Attempts int           `json:"attempts"`
	Replayed bool          `json:"replayed"`
}

// run answers an event that asks for one run. It returns an error where the
// platform is to deliver the event again or put it aside as failed.
func (h *handler) run(ctx context.Context, ev event) (answer, error) {
	j, err := h.job(ev)
	if err != nil {
		return answer{}, ofKind(errRefused, err)
	}
	id, err := identify(j, ev, time.Now())
	if errors.Is(err, errTooLate) {
		return h.finished(ctx, id.runID, ofKind(errRefused, err))
	}
	if err != nil {
		return answer{}, ofKind(errRefused, err)
	}
	if h.ledger == nil && id.at.Equal(timeless) && j.Retry.Horizon <= h.ages() {
		return answer{}, ofKind(errRefused, fmt.Errorf("the id of run %s contains no time, and the horizon of job %q (%s) is not "+
			"longer than the platform may keep an event (%s); send a UUIDv7 as the id, which contains its "+
			"time", id.runID, j.ID, j.Retry.Horizon, h.ages()))
	}
	e, err := h.executor(ctx)
	if err != nil {
		return answer{}, fmt.Errorf("run %s: %w", id.runID, err)
	}
	run, err := execute(ctx, e, h.entry(j, id))
	if err != nil {
		return answer{}, fmt.Errorf("run %s: %w", id.runID, err)
	}
	return h.respond(run)
}

// finished answers an event that comes too late from the ledger: a repeat of a
// run that has finished is done, whatever its age. All others are refused.
func (h *handler) finished(ctx context.Context, runID string, refused error) (answer, error) {
	if h.ledger == nil {
		return answer{}, refused
	}
	l, err := h.ledger.open(ctx)
	if err != nil {
		return answer{}, fmt.Errorf("run %s: %w", runID, err)
	}
	run, _, err := l.Get(ctx, runID)
	switch {
	case errors.Is(err, ledger.ErrNotFound), err == nil && !run.State.Finished():
		return answer{}, refused
	case err != nil:
		return answer{}, fmt.Errorf("run %s: %w", runID, err)
	}
	return h.respond(run)
}

// job returns the job that an event asks for, or why this function cannot run it.
func (h *handler) job(ev event) (jobs.Job, error) {
	j, ok := h.reg.Job(ev.jobID)
	switch {
	case !ok:
		return j, fmt.Errorf("registry %q has no job %q; is the function's registry older than the schedule?", h.reg.Name(), ev.jobID)
	case j.Disabled:
		return j, fmt.Errorf("job %q is disabled in registry %q; remove its schedule, or enable it", j.ID, h.reg.Name())
	case j.Target == jobs.BuiltinTarget && h.ledger == nil:
		return j, fmt.Errorf("job %q works on the ledger, and this function has none: set CRONCE_DATABASE_URL to a PostgreSQL ledger", j.ID)
	}
	return j, nil
}

// ages returns how long after its first delivery the platform may deliver an event
// again. Without a ledger, the send-before time of a run whose id contains no time
// is counted from each delivery, so it is that much earlier.
func (h *handler) ages() time.Duration {
	p := h.reg.Platform()
	return p.EventAge + p.LambdaEventAge + p.QueueAge
}

// entry returns the run of a job as the ledger takes it. Without a ledger it takes no slot, since
// nothing knows of other runs.
func (h *handler) entry(j jobs.Job, id identity) ledger.Entry {
	entry := ledger.Entry{
		JobID: j.ID, Traits: executor.TraitsOf(j),
		RunSpec: ledger.RunSpec{
			RunID: id.runID, ScheduledAt: id.at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule,
			Overlap: ledger.Overlap(j.Overlap), Call: executor.FrozenCall(j, id.runID, id.at), Lease: true,
		},
	}
	if !id.scheduled {
		entry.Trigger, entry.Overlap = ledger.ByEvent, ledger.OverlapAllow
	}
	if h.ledger == nil {
		entry.Overlap = ledger.OverlapAllow // there is nothing that knows of other runs
		if id.at.Equal(timeless) {
			entry.Call.Horizon -= h.ages()
		}
	}
	return entry
}

// execute makes the run's calls, and waits while another process makes them, while
// the run waits for its turn, or while the ledger does not answer, as long as
// there is time.
func execute(ctx context.Context, e *executor.Executor, entry ledger.Entry) (run ledger.Run, err error) {
	for wait := firstPoll; ; wait = min(2*wait, maxPoll) {
		err = retryUnavailable(ctx, func() error {
			run, err = e.Execute(ctx, entry)
			return err
		})
		if err != nil || run.State.Finished() {
			return run, err
		}
		if _, limited := ctx.Deadline(); limited && !timeFor(ctx, 2*maxPoll) || ctx.Err() != nil {
			return run, nil
		}
		if run.State == ledger.Accepted && !timeFor(ctx, time.Until(run.NextAt)) {
			return run, nil // the target works on, and this process need not be paid for that
		}
		sleep(ctx, wait)
	}
}

// respond decides whether the platform gets an error, and so delivers the event
// again. An unfinished run is an error, except one that its target has accepted: a
// tick repeats that request, and the deliveries would be used up before the work is
// done. A dead run is an error only without a ledger, which would keep it.
func (h *handler) respond(run ledger.Run) (answer, error) {
	a := answer{RunID: run.ID, State: run.State, Reason: run.Reason, Attempts: run.Attempt, Replayed: run.Replayed}
	switch {
	case run.State == ledger.Accepted:
		return a, nil
	case !run.State.Finished():
		return a, fmt.Errorf("run %s is %s after attempt %d: %w", run.ID, run.State, run.Attempt, errUnfinished)
	case run.State == ledger.Dead && h.ledger == nil:
		return a, ofKind(errDead, fmt.Errorf("run %s is dead (%s) after attempt %d, which was answered with status %d",
			run.ID, run.Reason, run.Attempt, run.Status))
	}
	return a, nil
}
