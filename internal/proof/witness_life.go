package proof

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// silence is the longest time between two heartbeats of a running system.
const silence = 10 * time.Second

// Heartbeat records that a process is alive.
func (w *Witness) Heartbeat(ctx context.Context, process string) (ledger.HeartbeatReply, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	got, err := w.Store.Heartbeat(ctx, process)
	if err == nil {
		m := w.mark()
		w.alive, w.down = m.at, m.down
		err = w.followClock(ctx)
	}
	return got, err
}

// mark is now.
func (w *Witness) mark() mark {
	m := mark{time.Now(), w.down}
	if gap := m.at.Sub(w.alive); gap > silence {
		m.down += gap
	}
	return m
}

// ended notes that a run ended.
func (w *Witness) ended(runID, jobID string) {
	h := w.run(runID)
	h.active, h.ended = false, w.mark()
	delete(w.open[jobID], runID)
}

// renew notes a run that an operator asks for again.
func (w *Witness) renew(r ledger.Run) {
	h := w.run(r.ID)
	h.ended, h.failed, h.notBefore = mark{}, 0, time.Time{}
	w.renewed[r.ID] = r.Attempt
	if h.pace != 0 {
		h.begun = mark{} // it waits for a place
	}
	if h.slotted {
		if len(w.open[r.JobID]) > 0 {
			h.begun = mark{} // it waits for the slot, which its horizon does not bound
		}
		w.hold(r.JobID, r.ID)
	}
}

// took returns the duration of each run, counted while any process ran, and when it began.
func (w *Witness) took() (all map[string]time.Duration, begun map[string]time.Time) {
	all, begun = map[string]time.Duration{}, map[string]time.Time{}
	for id, h := range w.runs {
		end := h.ended
		if end.at.IsZero() {
			end = w.mark()
		}
		if !h.begun.at.IsZero() {
			begun[id] = h.first
			all[id] = end.at.Sub(h.begun.at) - (end.down - h.begun.down)
		}
	}
	return all, begun
}

// claimed looks at what a claim got.
func (w *Witness) claimed(c ledger.ClaimRequest, work []ledger.Work) {
	for _, l := range work {
		if slices.Contains(c.BusyTargets, l.Call.Target) || slices.Contains(c.BusyJobs, ledger.LimitKey(l.Parent, l.JobID)) {
			w.saw(Busy, l.RunID, "%s, by %s", l.Call.Target, c.Process)
		}
	}
}

// leftEvery: to look at all rows after each claim would take a simulation's time.
const leftEvery = 40

// left looks, now and then, for what a claim that had room should have got,
// by the ledger's own time of the claim: another clock might jump in between.
func (w *Witness) left(ctx context.Context, c ledger.ClaimRequest, at time.Time) error {
	if w.claims++; w.claims%leftEvery != 0 {
		return nil
	}
	now := at.Add(-time.Millisecond)
	rows, err := w.Store.List(ctx, ledger.Filter{
		States: ledger.Claimable, WithMembers: true, Limit: math.MaxInt,
	})
	for _, r := range rows {
		if w.due(r, now) && !w.held(r.Call.Target, now) && !slices.Contains(c.BusyTargets, r.Call.Target) && !slices.Contains(c.BusyJobs, ledger.LimitKey(r.Parent, r.JobID)) {
			w.saw(Passed, r.ID, "%s, attempt %d, due %s, lease until %s, at %s", r.State, r.Attempt, stamp(r.NextAt), stamp(r.LeasedUntil),
				stamp(now))
		}
	}
	return err
}

// due reports whether a run can surely be leased: it has its slot or needs none.
func (w *Witness) due(r ledger.Run, now time.Time) bool {
	switch r.State {
	case ledger.Running:
		return r.LeasedUntil.Before(now)
	case ledger.Accepted:
		return r.NextAt.Before(now)
	case ledger.Retrying:
		return r.NextAt.Before(now) && w.renewed[r.ID] == 0
	}
	return r.NextAt.Before(now) && (!w.run(r.ID).slotted && w.run(r.ID).pace == 0 || ledger.IsAdHoc(r.ID))
}

// PauseJob notes that a job's scheduled times are to be skipped.
func (w *Witness) PauseJob(ctx context.Context, jobID string, who ledger.Actor) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.Store.PauseJob(ctx, jobID, who)
	w.paused[jobID] = w.paused[jobID] || err == nil
	return err
}

// ResumeJob notes that they are not any more.
func (w *Witness) ResumeJob(ctx context.Context, jobID string, who ledger.Actor) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.Store.ResumeJob(ctx, jobID, who)
	w.paused[jobID] = w.paused[jobID] && err != nil
	return err
}
