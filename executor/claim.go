package executor

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

// pollEvery is how often the ledger is asked for work that other processes
// left: a trigger, a backfill, a lapsed lease.
const pollEvery = time.Second

// claimDue leases a batch of due work if there is room for it.
func (e *Executor) claimDue(ctx context.Context) {
	if ctx.Err() != nil || time.Now().Before(e.retryAt) || !e.claims.due() {
		return
	}
	_, waiting, room := e.queue.size()
	// Many small claims cost more than a few large ones: while there is work
	// at hand, wait until a good part of the room is free.
	if room > 0 && waiting <= room {
		e.claim(ctx, room)
	}
}

func (e *Executor) claim(ctx context.Context, limit int) {
	c := ledger.Claim{Owner: e.cfg.Process, Token: e.random.token(), Limit: limit, LeaseFor: e.cfg.Lease}
	c.BusyTargets, c.BusyJobs = e.queue.busy(time.Now())
	e.claims.taken()
	start := e.cfg.now()
	got, err := e.cfg.Ledger.Claim(ctx, c)
	if e.failed(e.asked("claim", start, err)) {
		e.lost = append(e.lost, lostLease{c.Token, start})
		return
	}
	e.clock.set(got.Now, start)
	e.accept(got.Work, start)
	e.reportExpired(got.Expired)
	if len(got.Work) == limit {
		e.claims.want(start)
		return
	}
	e.claims.want(start.Add(e.poll))
	if !got.NextAt.IsZero() {
		e.claims.want(time.Now().Add(got.NextAt.Sub(got.Now)))
	}
}

// appointment is when to claim next, on this process's clock.
type claimTimer struct {
	mu sync.Mutex
	at time.Time
}

// want brings the appointment forward to at, never back.
func (a *claimTimer) want(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at.IsZero() || at.Before(a.at) {
		a.at = at
	}
}

// taken clears the appointment: it is kept now. What is wanted from here on
// stands, even while the claim is under way.
func (a *claimTimer) taken() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = time.Time{}
}

// wait is how long until the appointment; without one, none.
func (a *claimTimer) wait() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Until(a.at)
}

func (a *claimTimer) due() bool { return a.wait() <= 0 }

// accept queues work whose lease was asked for at that time.
func (e *Executor) accept(work []ledger.Work, asked time.Time) {
	if len(work) == 0 {
		return
	}
	e.held.add(work, asked.Add(e.cfg.Lease))
	e.queue.add(work)
}

// lostLease is the token of an admission or a claim whose answer was lost.
type lostLease struct {
	token string
	asked time.Time
}

// recall asks what an admission or a claim had leased whose answer was lost,
// so that its runs need not wait for their leases to lapse, and hands it to take.
func (e *Executor) recall(ctx context.Context, take func(work []ledger.Work, asked time.Time)) {
	for len(e.lost) > 0 && !time.Now().Before(e.retryAt) {
		l := e.lost[0]
		if elapsed(e.cfg.now(), l.asked) > e.cfg.Lease {
			e.lost = e.lost[1:] // lapsed by now, if it was ever had
			continue
		}
		start := e.cfg.now()
		work, err := e.cfg.Ledger.Recall(ctx, l.token)
		if e.failed(e.asked("recall", start, err)) {
			return
		}
		e.lost = e.lost[1:]
		take(work, l.asked)
	}
}

// recallTime is how long a stop asks for leases before it lets them lapse.
const recallTime = 2 * time.Second

// recallOnce asks now, however soon the ledger failed before, and gives back
// what it is told of: no call may take it from the queue.
func (e *Executor) recallOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, min(recallTime, e.cfg.Grace))
	defer cancel()
	e.retryAt = time.Time{}
	e.recall(ctx, func(work []ledger.Work, _ time.Time) {
		for i := range work {
			e.giveBack([]*ledger.Work{&work[i]}, 0, ledger.WaitReason{})
		}
	})
}

func (e *Executor) reportExpired(runs []ledger.Run) {
	for _, r := range runs {
		e.cfg.Logger.Error("run is dead: its send-before time has passed",
			"run", r.ID, "job", r.JobID, "reason", r.Reason, "attempts", r.Attempt)
		e.cfg.Observer.Settled(ledger.Outcome{
			Lease: ledger.Lease{RunID: r.ID}, State: ledger.Dead, Reason: r.Reason,
		}, r.JobID, ledger.Recorded)
	}
}
