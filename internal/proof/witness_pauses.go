package proof

import (
	"context"
	"errors"
	"time"

	"github.com/cronce/cronce/ledger"
)

// ChangePause notes which pauses there are.
func (w *Witness) ChangePause(ctx context.Context, c ledger.PauseChange) (ledger.Pause, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.Store.ChangePause(ctx, c)
	if err == nil {
		w.pauses[p.ID] = p
	}
	return p, err
}

// ClosePauses notes which have ended: one does not begin again if the clock is set back.
func (w *Witness) ClosePauses(ctx context.Context) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.Store.ClosePauses(ctx)
	return n, errors.Join(err, w.observePauses(ctx))
}

// observePauses notes how the ledger has moved the pauses: their ends, and the beginnings of those
// that began when they were made, after the clock was set back.
func (w *Witness) observePauses(ctx context.Context) error {
	list, err := w.Store.Pauses(context.WithoutCancel(ctx), true)
	for _, p := range list {
		own, known := w.pauses[p.ID]
		if !known {
			continue
		}
		own.EndedAt = p.EndedAt
		if own.From.Equal(own.CreatedAt.Truncate(time.Second)) && p.From.Before(own.From) {
			own.From = p.From
		}
		w.pauses[p.ID] = own
	}
	return err
}

// followClock observes the pauses if the clock was set back to before what is noted of them.
func (w *Witness) followClock(ctx context.Context) error {
	now := w.now()
	for _, p := range w.pauses {
		if p.From.After(now) || p.EndedAt.After(now) {
			return w.observePauses(ctx)
		}
	}
	return nil
}

// pausedAt reports whether a scheduled time of a job is skipped, and until when it is kept back.
func (w *Witness) pausedAt(jobID string, t ledger.Traits, at time.Time) (skipped bool, until time.Time) {
	skipped = w.paused[jobID]
	for _, p := range w.pauses {
		switch {
		case !p.Covers(jobID, t, at):
		case p.Kind == ledger.PauseSkip:
			skipped = true
		case p.Until.After(until):
			until = p.Until
		}
	}
	return skipped, until
}

// covered reports whether a scheduled time is in a pause with an end. It may then be missed.
func (w *Witness) covered(p ledger.Plan, at time.Time) bool {
	for _, pause := range w.pauses {
		if pause.Covers(p.JobID, p.Traits, at) {
			return true
		}
	}
	return false
}

// held reports whether a target is held.
func (w *Witness) held(target string, now time.Time) bool {
	for _, p := range w.pauses {
		if p.EndedAt.IsZero() && p.Holds(target, now) {
			return true
		}
	}
	return false
}

// outOfTurn looks whether a run that was leased should have waited.
func (w *Witness) outOfTurn(l ledger.Work, now time.Time) {
	if w.held(l.Call.Target, now) {
		w.saw(Held, l.RunID, "%s, at %s", l.Call.Target, stamp(now))
	}
	h, running, most := w.run(l.RunID), 0, 0
	if h.pace == 0 || h.forced {
		return
	}
	for id, other := range w.runs {
		if other.active && other.pace != 0 && !other.forced && ledger.JobOf(id) == l.JobID {
			running, most = running+1, max(most, other.pace.Parallel())
		}
	}
	if running > most { // of two backfills, the greater pace bounds both
		w.saw(Crowded, l.RunID, "%d run at a time, at most %d may", running, most)
	}
}
