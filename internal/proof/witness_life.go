package proof

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// silence is how long a system that lives may be without a heartbeat.
const silence = 10 * time.Second

// Beat notes that something lives.
func (w *Witness) Beat(ctx context.Context, process string) (ledger.Pulse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	got, err := w.Store.Beat(ctx, process)
	if err == nil {
		m := w.mark()
		w.alive, w.down = m.at, m.down
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

// ended notes that a run's life ended.
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
	if h.slotted {
		w.hold(r.JobID, r.ID)
		h.begun = mark{} // it may wait for the slot, which nothing bounds
	}
}

// took is how long each run took, as long as anything lived.
func (w *Witness) took() map[string]time.Duration {
	all := map[string]time.Duration{}
	for id, h := range w.runs {
		end := h.ended
		if end.at.IsZero() {
			end = w.mark()
		}
		if !h.begun.at.IsZero() {
			all[id] = end.at.Sub(h.begun.at) - (end.down - h.begun.down)
		}
	}
	return all
}

// claimed looks at what a claim got.
func (w *Witness) claimed(c ledger.Claim, work []ledger.Work) {
	for _, l := range work {
		if slices.Contains(c.BusyTargets, l.Call.Target) || slices.Contains(c.BusyJobs, l.JobID) {
			w.saw(Busy, l.RunID, "%s, by %s", l.Call.Target, c.Owner)
		}
	}
}

// Pause notes that a job's instants are to be skipped.
func (w *Witness) Pause(ctx context.Context, jobID, by, why string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.Store.Pause(ctx, jobID, by, why)
	w.paused[jobID] = w.paused[jobID] || err == nil
	return err
}

// Resume notes that they are not any more.
func (w *Witness) Resume(ctx context.Context, jobID, by, why string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.Store.Resume(ctx, jobID, by, why)
	w.paused[jobID] = w.paused[jobID] && err != nil
	return err
}

func jobOf(runID string) string {
	job, _, _ := strings.Cut(runID, "@")
	return job
}
