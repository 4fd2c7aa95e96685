package ledger

import (
	"context"
	"fmt"
	"time"
)

// PauseChange makes a pause, or changes the times of one that has not ended.
type PauseChange struct {
	ID       int64     // 0: a new one, of Kind and Selector
	Kind     PauseKind // of a new one
	Selector           // of a new one
	// From is the time at which the pause begins. Zero begins a new pause now, and leaves an existing
	// one as it is. A pause that has begun keeps its From.
	From time.Time
	// Until is the time at which the pause ends; zero: the existing one keeps it.
	Until time.Time
	// End ends the existing pause now. If the pause has not begun, it then covers no time at all.
	End bool
	Actor
}

// ChangePause makes, changes or ends a pause, and returns it. It returns ErrNotFound,
// ErrPauseEnded or ErrInvalidPause.
func (l *Ledger) ChangePause(ctx context.Context, c PauseChange) (Pause, error) {
	if err := c.Actor.Validate(); err != nil {
		return Pause{}, err
	}
	return write(ctx, l, "change a pause", func(tx Tx) (p Pause, err error) {
		found, now, err := c.lock(tx)
		if err != nil {
			return p, err
		}
		switch {
		case c.ID == 0:
			p, err = c.Begin(now)
		case len(found) == 0:
			return p, ErrNotFound
		default:
			p, err = c.apply(found[0], now)
		}
		if err != nil {
			return p, err
		}
		if p.ID, err = tx.PutPause(p).Get(); err != nil {
			return p, err
		}
		if p.Kind == PauseCatchUp {
			old := p
			old.Until = old.From
			if len(found) > 0 { // a new one covered nothing
				old = found[0]
			}
			if err := moveDue(tx, old, p); err != nil {
				return p, err
			}
		}
		return p, addAudit(tx, Audit{Action: c.action(), About: p.about(), Count: 1, Actor: c.Actor}, nil, p)
	})
}

// lock locks the pause that is changed, if there is one, and before it what a change of its end
// needs.
func (c PauseChange) lock(tx Tx) (found []Pause, now time.Time, err error) {
	pausesFuture := tx.Pauses(time.Time{})
	if now, err = tx.Now(); err != nil {
		return nil, now, err
	}
	list, err := pausesFuture.Get()
	if err != nil {
		return nil, now, err
	}
	if err := c.lockCatchUps(tx, list, now); err != nil {
		return nil, now, err
	}
	found, err = tx.LockPause(c.ID).Get()
	return found, now, err
}

// action returns the kind of action that the audit has for the change.
func (c PauseChange) action() ActionKind {
	switch {
	case c.End:
		return ActionEndPause
	case c.ID == 0:
		return ActionAddPause
	}
	return ActionChangePause
}

// Begin returns the new pause that the change makes at a time, without an ID. It returns
// ErrInvalidPause.
func (c PauseChange) Begin(now time.Time) (Pause, error) {
	if c.End {
		return Pause{}, fmt.Errorf("%w: name the one to end by its ID", ErrInvalidPause)
	}
	p := Pause{Kind: c.Kind, Selector: c.Selector, From: now.Truncate(time.Second), CreatedAt: now, By: c.By, Why: c.Why}
	if c.From.After(now) {
		p.From = c.From.UTC()
	}
	p.Until = c.Until.UTC()
	return p, p.validate(now)
}

// apply returns an existing pause with the change. A pause that has begun keeps its From, and one
// that has ended stays as it is.
func (c PauseChange) apply(p Pause, now time.Time) (Pause, error) {
	p.By, p.Why = c.By, c.Why
	switch {
	case !p.EndedAt.IsZero() || !now.Before(p.Until):
		return p, ErrPauseEnded
	case c.End:
		p.EndedAt = now
		p.Until = wholeSecondAfter(now)
		if p.From.After(now) {
			p.Until = p.From
		}
		return p, nil
	case !c.From.IsZero() && p.From.After(now):
		if p.From = c.From.UTC(); p.From.Before(now) {
			p.From = now.Truncate(time.Second)
		}
	}
	if !c.Until.IsZero() {
		p.Until = c.Until.UTC()
	}
	return p, p.validate(now)
}

// wholeSecondAfter returns the first whole second after a time: scheduled times up to the
// time are in what ends there.
func wholeSecondAfter(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }

// Pauses lists the pauses that have not ended, by ID; with ended, all that the ledger keeps.
func (l *Ledger) Pauses(ctx context.Context, ended bool) ([]Pause, error) {
	return read(ctx, l, "list pauses", func(tx Tx) ([]Pause, error) {
		after := time.Time{}
		if ended {
			after = time.Unix(0, 0)
		}
		return tx.Pauses(after).Get()
	})
}

// ClosePauses notes in the audit which pauses have ended by themselves, and returns how many
// they are. Their ends do not depend on it.
func (l *Ledger) ClosePauses(ctx context.Context) (int, error) {
	readEnded := func(tx Tx) (list []Pause, err error) {
		pausesFuture := tx.Pauses(time.Time{})
		now, err := tx.Now()
		if err != nil {
			return nil, err
		}
		all, err := pausesFuture.Get()
		for _, p := range all {
			if !now.Before(p.Until) {
				list = append(list, p)
			}
		}
		return list, err
	}
	found, err := read(ctx, l, "look for pauses that are over", readEnded)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return write(ctx, l, "close pauses", func(tx Tx) (n int, err error) {
		for _, p := range found {
			locked, err := tx.LockPause(p.ID).Get()
			if err != nil || len(locked) == 0 || !locked[0].EndedAt.IsZero() || !locked[0].Until.Equal(p.Until) {
				return n, err // another process was first; the next look finds the rest
			}
			p = locked[0]
			p.EndedAt = p.Until
			if _, err := tx.PutPause(p).Get(); err != nil {
				return n, err
			}
			a := Audit{Action: ActionEndPause, About: p.about(), Count: 1, Actor: Actor{By: SystemActor, Why: "its time is over"}}
			if err := addAudit(tx, a, nil, p); err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	})
}

// PauseJob pauses a job: until ResumeJob, all its scheduled times are skipped (paused). Runs that
// were admitted before continue. A pause outlives edits, removal and re-adding of the job. To
// pause a paused job changes nothing.
func (l *Ledger) PauseJob(ctx context.Context, jobID string, who Actor) error {
	return l.setPause(ctx, "pause "+jobID, jobID, Audit{Action: ActionPause, JobID: jobID, Actor: who})
}

// ResumeJob ends the pause of a job. A job that is not paused stays as it is.
func (l *Ledger) ResumeJob(ctx context.Context, jobID string, who Actor) error {
	return l.setPause(ctx, "resume "+jobID, jobID, Audit{Action: ActionResume, JobID: jobID, Actor: who})
}

// setPause begins or ends the pause of a job, under the job's lock, so that an admission sees it or
// comes before it. A job that is so already stays as it is; the request is still kept, so that it
// can be repeated.
func (l *Ledger) setPause(ctx context.Context, name, jobID string, a Audit) error {
	if err := a.Actor.Validate(); err != nil {
		return err
	}
	return l.rows.Write(ctx, name, func(tx Tx) error {
		jobsFuture := tx.LockJobs([]string{jobID})
		now, err := tx.Now()
		if err != nil {
			return err
		}
		jobs, err := jobsFuture.Get()
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			return ErrNotFound
		}
		old, pause := jobs[0], a.Action == ActionPause
		j := old
		if pause == !j.PausedAt.IsZero() {
			return addAudit(tx, a, nil, nil)
		}
		a := a
		a.Count = 1
		j.PausedAt, j.PausedBy, j.PausedWhy = time.Time{}, "", ""
		if pause {
			j.PausedAt, j.PausedBy, j.PausedWhy = now, a.By, a.Why
		}
		if err := tx.PutJobs([]JobChange{DiffJobs(old, j)}); err != nil {
			return err
		}
		return addAudit(tx, a, nil, nil)
	})
}
