package ledger

import (
	"cmp"
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

// PauseKind says what a Pause does to the scheduled times in it, or to a target.
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

// about names the pause in the audit.
func (p Pause) about() string { return fmt.Sprintf("#%d: %s", p.ID, p) }

// validate returns ErrInvalidPause for a pause that makes no sense at a time, which is that of the
// change.
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

// MaxPause is the maximum time until the end of a pause.
const MaxPause = 366 * 24 * time.Hour

// SystemActor is By in the audit of what no operator did.
const SystemActor = "cronce"

// pauses has the pauses that a transaction has read. All rules ask it what a pause keeps back:
// covering for scheduled times, holdOf and heldTargets for what is sent.
type pauses []Pause

// covering returns the pause that a scheduled time of a job is in, or nil. A pause that skips goes
// before a pause that catches up; among several of a kind, the last to end.
func (list pauses) covering(jobID string, t Traits, at time.Time) (found *Pause) {
	for i := range list {
		p := &list[i]
		if !p.Covers(jobID, t, at) {
			continue
		}
		if found == nil || cmp.Or(cmp.Compare(string(p.Kind), string(found.Kind)), p.Until.Compare(found.Until)) > 0 {
			found = p // "skip" is after "catch-up"
		}
	}
	return found
}

// holdOf returns the hold of a target that ends last, or nil if the target is not held.
func (list pauses) holdOf(target string, now time.Time) (found *Pause) {
	for i := range list {
		if p := &list[i]; p.Holds(target, now) && (found == nil || p.Until.After(found.Until)) {
			found = p
		}
	}
	return found
}

// heldTargets returns the targets that are held at a time, each once, in order.
func (list pauses) heldTargets(now time.Time) (targets []string) {
	for _, p := range list {
		if p.Holds(p.Target, now) {
			targets = append(targets, p.Target)
		}
	}
	return sortedSet(targets)
}
