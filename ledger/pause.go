package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Pause is a time, perhaps to come, in which jobs do not run or nothing is sent to a
// target. It ends by itself. A job's own pause, which Store.PauseJob begins, has no end and
// is not one of these.
//
// A rule that admits, leases or watches runs reads the pauses in its transaction, and the
// store's clock decides. A change waits for no transaction that has read the pauses: each
// scheduled time after the answer to it follows it, one before may not. What was admitted
// goes on.
type Pause struct {
	ID   int64
	Kind PauseKind
	Selector
	From      time.Time // in whole seconds
	Until     time.Time // exclusive; in whole seconds
	By        string    // who made it or changed it last, and why
	Why       string
	CreatedAt time.Time
	EndedAt   time.Time // noted by ClosePauses, or the time at which an operator ended it
}

// PauseKind says what a Pause does.
type PauseKind string

const (
	// PauseSkip makes the scheduled times in the pause skipped (paused).
	PauseSkip PauseKind = "skip"
	// PauseCatchUp leaves the scheduled times in the pause unplanned until its end, as
	// if no process had run: the job's catch-up decides about them. A run that Enter
	// makes in it, or the last plan of a revision, is due at its end, also if that changes.
	PauseCatchUp PauseKind = "catch-up"
	// PauseHold holds the Selector's Target: none of its runs is leased. They wait, use no
	// retry, and keep their SendBefore. Its Selector has nothing else.
	PauseHold PauseKind = "hold"
)

// PauseKinds lists every kind.
var PauseKinds = []PauseKind{PauseSkip, PauseCatchUp, PauseHold}

// ErrPauseEnded reports that a pause has ended: make another one.
var ErrPauseEnded = errors.New("the pause has ended")

// ErrInvalidPause reports that a pause's times or selector make no sense. Nothing was
// written.
var ErrInvalidPause = errors.New("invalid pause")

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

// Covers reports whether a scheduled time of a job is in the pause.
func (p Pause) Covers(jobID string, t Traits, at time.Time) bool {
	return p.Kind != PauseHold && p.contains(at) && p.Selects(jobID, t)
}

// Holds reports whether nothing is sent to a target at a time.
func (p Pause) Holds(target string, at time.Time) bool {
	return p.Kind == PauseHold && p.Target == target && p.contains(at)
}

func (p Pause) contains(at time.Time) bool { return !at.Before(p.From) && at.Before(p.Until) }

// String returns what the pause does, and when: "hold target payments from … until …".
func (p Pause) String() string {
	verb := map[PauseKind]string{PauseSkip: "pause", PauseCatchUp: "pause and then catch up", PauseHold: "hold"}[p.Kind]
	return fmt.Sprintf("%s %s from %s until %s", verb, p.Selector, p.From.UTC().Format(time.RFC3339), p.Until.UTC().Format(time.RFC3339))
}

// ChangePause makes, changes or ends a pause, and returns it. It returns ErrNotFound,
// ErrPauseEnded or ErrInvalidPause.
func (l *Ledger) ChangePause(ctx context.Context, c PauseChange) (Pause, error) {
	if err := c.Actor.Validate(); err != nil {
		return Pause{}, err
	}
	return write(ctx, l, "change a pause", func(tx Tx) (p Pause, err error) {
		pausesFuture := tx.Pauses(time.Time{})
		now, err := tx.Now()
		if err != nil {
			return p, err
		}
		list, err := pausesFuture.Get()
		if err != nil {
			return p, err
		}
		if err := c.lockCatchUps(tx, list, now); err != nil {
			return p, err
		}
		found, err := tx.LockPause(c.ID).Get()
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

// about names the pause in the audit.
func (p Pause) about() string { return fmt.Sprintf("#%d: %s", p.ID, p) }

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

// apply returns the pause with the change.
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

func (p Pause) validate(now time.Time) error {
	var what string
	switch other := p.Job != "" || p.Owner != "" || len(p.Labels) > 0; {
	case p.Kind != PauseSkip && p.Kind != PauseCatchUp && p.Kind != PauseHold:
		what = fmt.Sprintf("unknown kind %q", p.Kind)
	case p.Kind == PauseHold && (p.Target == "" || other):
		what = "a hold is for a target alone"
	case p.Selector.Validate() != nil:
		what = p.Selector.Validate().Error()
	case p.From.Nanosecond() != 0 || p.Until.Nanosecond() != 0:
		what = "its times must be in whole seconds"
	case !p.Until.After(p.From):
		what = fmt.Sprintf("it must end after its begin, %s", p.From.Format(time.RFC3339))
	case !p.Until.After(now):
		what = fmt.Sprintf("it must end after the time now, %s", now.Format(time.RFC3339))
	case p.Until.Sub(now) > MaxPause:
		what = fmt.Sprintf("it must end within %d days", MaxPause/(24*time.Hour))
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", ErrInvalidPause, what)
}

// MaxPause is how far ahead a pause may end.
const MaxPause = 366 * 24 * time.Hour

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

// SystemActor is By in the audit of what no operator did.
const SystemActor = "cronce"
