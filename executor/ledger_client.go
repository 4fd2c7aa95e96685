package executor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cronce/cronce/ledger"
)

// ledgerClient calls the ledger for one executor. It owns all that follows from
// the answers to any request: the ledger's clock, which operations fail, when to
// try again after a failure, and the leases whose grant was lost with an answer.
type ledgerClient struct {
	ledger   Ledger
	process  string
	lease    time.Duration
	now      func() time.Time // reads this machine's clocks
	observer Observer
	logger   *slog.Logger
	random   *random

	clock   storeClock
	health  health
	backoff backoff
	lost    lostGrants
}

// newLedgerClient returns the client of a configuration's ledger. It has called nothing yet.
func newLedgerClient(cfg Config, r *random) *ledgerClient {
	return &ledgerClient{
		ledger: cfg.Ledger, process: cfg.Process, lease: cfg.Lease, now: cfg.now,
		observer: cfg.Observer, logger: cfg.Logger, random: r,
		clock: storeClock{local: cfg.now}, health: health{failures: map[string]failure{}},
	}
}

// declare tells the ledger which definitions this process has.
func (c *ledgerClient) declare(ctx context.Context, d ledger.Declaration) bool {
	start := c.now()
	d.Process = c.process
	return !c.failed(c.observe("declare", start, c.ledger.Declare(ctx, d)))
}

// heartbeat keeps this process alive.
func (c *ledgerClient) heartbeat(ctx context.Context) (ledger.HeartbeatReply, error) {
	start := c.now()
	reply, err := c.ledger.Heartbeat(ctx, c.process)
	if err == nil {
		c.clock.set(reply.Now, start)
	}
	return reply, err
}

// deregister tells the ledger that this process ends, so that no other waits for its heartbeat to
// expire.
func (c *ledgerClient) deregister(ctx context.Context) error {
	start := c.now()
	return c.observe("deregister", start, c.ledger.Deregister(ctx, c.process))
}

// assignments reads a page of the jobs that some process is to plan, and reports whether the ledger
// answered.
func (c *ledgerClient) assignments(ctx context.Context, version, after string) ([]ledger.JobAssignment, bool) {
	start := c.now()
	got, err := c.ledger.Assignments(ctx, version, after)
	return got, !c.failed(c.observe("assignments", start, err))
}

// admit writes plans and leases the runs that they mark. The leases last until
// the returned time on this machine's clocks, counted from before the call.
func (c *ledgerClient) admit(ctx context.Context, plans []ledger.Plan) (_ ledger.Admitted, until time.Time, ok bool) {
	a := ledger.Admission{Plans: plans, Process: c.process, Token: c.random.token(), LeaseFor: c.lease}
	start := c.now()
	got, err := c.ledger.Admit(ctx, a)
	if c.failed(c.observe("admit", start, err)) {
		c.lost.add(a.Token, start)
		return got, until, false
	}
	c.clock.set(got.Now, start)
	return got, start.Add(c.lease), true
}

// planSchedules plans a batch of the schedules that are due.
func (c *ledgerClient) planSchedules(ctx context.Context, p ledger.SchedulePlanning) (_ ledger.PlannedSchedules, until time.Time, ok bool) {
	p.Process, p.Token, p.LeaseFor = c.process, c.random.token(), c.lease
	start := c.now()
	got, err := c.ledger.PlanSchedules(ctx, p)
	if c.failed(c.observe("plan", start, err)) {
		c.lost.add(p.Token, start)
		return got, until, false
	}
	c.clock.set(got.Now, start)
	return got, start.Add(c.lease), true
}

// sweepSchedules sweeps a page of schedules, and reports whether the ledger answered.
func (c *ledgerClient) sweepSchedules(ctx context.Context, s ledger.ScheduleSweep) (next int64, ok bool) {
	start := c.now()
	next, err := c.ledger.SweepSchedules(ctx, s)
	return next, !c.failed(c.observe("sweep", start, err))
}

// claim leases due runs, but none of the targets and jobs that are busy.
func (c *ledgerClient) claim(ctx context.Context, limit int, busyTargets, busyJobs []string) (_ ledger.Claimed, until time.Time, ok bool) {
	claim := c.newClaim(limit)
	claim.BusyTargets, claim.BusyJobs = busyTargets, busyJobs
	start := c.now()
	got, err := c.ledger.Claim(ctx, claim)
	if c.failed(c.observe("claim", start, err)) {
		c.lost.add(claim.Token, start)
		return got, until, false
	}
	c.clock.set(got.Now, start)
	c.reportPastSendBefore(got.PastSendBefore)
	return got, start.Add(c.lease), true
}

// claimOne leases one run, if it is due. It neither waits for the back-off nor
// adds to it.
func (c *ledgerClient) claimOne(ctx context.Context, runID string) (_ *ledger.Work, until time.Time, err error) {
	claim := c.newClaim(1)
	claim.Only = []string{runID}
	start := c.now()
	got, err := c.ledger.Claim(ctx, claim)
	if err = c.observe("claim", start, err); err != nil {
		return nil, until, err
	}
	c.clock.set(got.Now, start)
	c.reportPastSendBefore(got.PastSendBefore)
	if len(got.Work) == 0 {
		return nil, until, nil
	}
	return &got.Work[0], start.Add(c.lease), nil
}

// newClaim returns a claim under a token of its own, by which what it leased is found if the answer
// is lost.
func (c *ledgerClient) newClaim(limit int) ledger.ClaimRequest {
	return ledger.ClaimRequest{Process: c.process, Token: c.random.token(), Limit: limit, LeaseFor: c.lease}
}

// reportPastSendBefore reports the runs that a claim found past their send-before times.
func (c *ledgerClient) reportPastSendBefore(runs []ledger.Run) {
	for _, r := range runs {
		c.logger.Error("run is dead: its send-before time has passed",
			"run", r.ID, "job", r.JobID, "reason", r.Reason, "attempts", r.Attempt)
		c.observer.Recorded(ledger.Outcome{
			Lease: ledger.Lease{RunID: r.ID}, State: ledger.Dead, Reason: r.Reason,
		}, r.JobID, ledger.Recorded)
	}
}

// enter admits one run beside the plans, and leases it where it can start.
func (c *ledgerClient) enter(ctx context.Context, entry ledger.Entry) (_ ledger.Entered, until time.Time, err error) {
	entry.Process, entry.Token, entry.LeaseFor = c.process, c.random.token(), c.lease
	start := c.now()
	got, err := c.ledger.Enter(ctx, entry)
	if err = c.observe("enter", start, err); err != nil {
		return got, until, err
	}
	c.clock.set(got.Now, start)
	return got, start.Add(c.lease), nil
}

// extend renews leases. They last until the returned time, except for those that
// are lost. It does not wait longer than until the next renewal.
func (c *ledgerClient) extend(ctx context.Context, leases []ledger.Lease) (lost []ledger.Lease, until time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.lease/3)
	defer cancel()
	start := c.now()
	lost, err = c.ledger.Extend(ctx, leases, c.lease)
	return lost, start.Add(c.lease), c.observe("extend", start, err)
}

// freeze writes a part of a list. The attempt repeats it while the ledger is unavailable.
func (c *ledgerClient) freeze(ctx context.Context, part ledger.Freeze) (ledger.RecordResult, error) {
	start := c.now()
	result, err := c.ledger.FreezeMembers(ctx, part)
	return result, c.observe("freeze", start, err)
}

// release leases members of parents that have fanned out.
func (c *ledgerClient) release(ctx context.Context, in ledger.ReleaseRequest) (_ ledger.Released, until time.Time, ok bool) {
	in.Process, in.Token, in.LeaseFor = c.process, c.random.token(), c.lease
	start := c.now()
	got, err := c.ledger.ReleaseMembers(ctx, in)
	if c.failed(c.observe("release", start, err)) {
		c.lost.add(in.Token, start)
		return got, until, false
	}
	if !got.Now.IsZero() {
		c.clock.set(got.Now, start)
	}
	return got, start.Add(c.lease), true
}

// record writes outcomes. It does not wait for the back-off: the recorder asks again by itself.
func (c *ledgerClient) record(ctx context.Context, outcomes []ledger.Outcome) ([]ledger.RecordResult, error) {
	start := c.now()
	results, err := c.ledger.Record(ctx, outcomes)
	return results, c.observe("record", start, err)
}

// get reads a run, for Execute.
func (c *ledgerClient) get(ctx context.Context, runID string) (ledger.Run, error) {
	start := c.now()
	run, _, err := c.ledger.Get(ctx, runID)
	return run, c.observe("get", start, err)
}

// observe notes the result of a call for metrics and readiness, and returns its error. A call
// that its own caller canceled, such as at a stop, says nothing about the ledger.
func (c *ledgerClient) observe(op string, since time.Time, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	c.observer.LedgerCalled(op, c.now().Sub(since), err)
	switch down, up := c.health.record(op, err, time.Now()); {
	case down && err != nil && !isFatal(err): // a fatal one is Run's error
		c.logger.Error("ledger unavailable; retrying", "operation", op, "error", err)
	case up:
		c.logger.Info("ledger available again", "operation", op)
	}
	return err
}

// failed reports whether a call failed, and then backs off, for longer each time until no
// operation fails: what only reads may succeed all the while.
func (c *ledgerClient) failed(err error) bool {
	if err == nil {
		if c.ready() == nil {
			c.backoff.reset()
		}
		return false
	}
	c.backoff.extend(err, c.random.float64)
	return true
}

// ready returns nil when the ledger answers, else its latest failure.
func (c *ledgerClient) ready() error { return c.health.err(time.Now()) }
