package operations

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Pause is a pause of many jobs until a time, or a hold of a target.
type Pause struct {
	ID   int64            `json:"id"`
	Kind ledger.PauseKind `json:"kind"`
	Selection
	From      string     `json:"from"`
	Until     string     `json:"until"`
	State     PauseState `json:"state"`
	By        string     `json:"by"`
	Why       string     `json:"why"`
	CreatedAt string     `json:"createdAt,omitempty"`
	EndedAt   string     `json:"endedAt,omitempty"`
	// Jobs counts those that the registry that is served now has, and Times their
	// scheduled times in the pause; 0 of what has ended.
	Jobs  int `json:"jobs"`
	Times int `json:"scheduledTimes"`
	// Templates counts the templates with schedules in the pause: Jobs and Times do not count these.
	Templates int `json:"templates,omitempty"`
}

// PauseState says whether a pause holds.
type PauseState string

const (
	PausePlanned PauseState = "planned"
	PauseActive  PauseState = "active"
	PauseEnded   PauseState = "ended"
)

// PauseChange makes, changes or ends a pause.
type PauseChange struct {
	ledger.PauseChange
	All    bool // a new one of all jobs, which needs to be said
	DryRun bool // of a new one
}

// timesCounted bounds the scheduled times that are counted of a pause.
const timesCounted = 1_000_000

// Pauses lists the pauses that have not ended; with ended, all that the ledger keeps.
func (s *Service) Pauses(ctx context.Context, ended bool) ([]Pause, error) {
	list, err := s.ledger.Pauses(ctx, ended)
	out := []Pause{}
	for _, p := range list {
		out = append(out, s.pauseOf(p))
	}
	return out, err
}

// pauseOf returns a pause as the interfaces show it, with the number of jobs and scheduled times that it stops. It
// stops counting times at timesCounted: a pause of every job for a year has more than somebody can wait for.
func (s *Service) pauseOf(p ledger.Pause) Pause {
	now := s.now()
	v := Pause{
		ID: p.ID, Kind: p.Kind, Selection: Selection(p.Selector), From: TimeText(p.From), Until: TimeText(p.Until), State: PauseActive,
		By: p.By, Why: p.Why, CreatedAt: actualTime(p.CreatedAt), EndedAt: actualTime(p.EndedAt),
	}
	switch {
	case !p.EndedAt.IsZero() || !now.Before(p.Until):
		v.State = PauseEnded
		return v
	case now.Before(p.From):
		v.State = PausePlanned
	}
	reg, err := s.registry()
	if err != nil {
		return v // what is in the ledger can be asked without it
	}
	for _, t := range reg.Templates() {
		if !t.Disabled && v.Selection.ofTemplate().selects(t.Job) {
			v.Templates++
		}
	}
	from := p.From
	if now.After(from) {
		from = now
	}
	for _, j := range reg.All() {
		if j.Disabled || !p.Selects(j.ID, executor.TraitsOf(j)) {
			continue
		}
		v.Jobs++
		if v.Times < timesCounted {
			v.Times += j.ParsedSchedule().Count(from.Add(-time.Second), p.Until.Add(-time.Second))
		}
	}
	return v
}

// ChangePause makes, changes or ends a pause. A new one must select jobs that the registry
// has.
func (s *Service) ChangePause(ctx context.Context, c PauseChange) (Pause, error) {
	if !c.DryRun {
		if err := checkActor(c.Actor); err != nil {
			return Pause{}, err
		}
	}
	if c.ID == 0 {
		if err := s.checkNewPause(c); err != nil {
			return Pause{}, err
		}
	}
	var p ledger.Pause
	var err error
	if c.DryRun {
		p, err = c.Begin(s.now().UTC())
	} else {
		keep(c.Actor, func(p ledger.Pause) (any, error) { return s.pauseOf(p), nil })
		p, err = s.ledger.ChangePause(ctx, c.PauseChange)
	}
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return Pause{}, refuse(UnknownPause, `unknown pause %d; "cronce pauses list" lists those that have not ended`, c.ID)
	case errors.Is(err, ledger.ErrPauseEnded):
		return Pause{}, refuse(Conflict, "pause %d has ended; add a new one", c.ID)
	case errors.Is(err, ledger.ErrInvalidPause):
		return Pause{}, refuse(Invalid, "%v", err)
	case err != nil:
		return Pause{}, err
	}
	return s.pauseOf(p), nil
}

// checkNewPause refuses a new pause that selects nothing, or everything without All: most such requests come from a
// variable that is not set.
func (s *Service) checkNewPause(c PauseChange) error {
	sel := Selection(c.Selector)
	switch err := sel.check(); {
	case err != nil:
		return err
	case c.Until.IsZero():
		return refuse(Invalid, "a pause needs an end (until); to pause one job without an end, use \"cronce jobs pause\"")
	case c.Kind == ledger.PauseHold && c.Target == "":
		return refuse(Invalid, "a hold needs a target")
	case sel.IsZero() && !c.All:
		return refuse(Invalid, "the pause selects no jobs; give a job, an owner, a label or a target, or set all (--all)")
	case !sel.IsZero() && c.All:
		return refuse(Invalid, "the pause is of all jobs or of a selection; give one of them")
	case c.All:
		return nil
	}
	reg, err := s.registry()
	if err != nil {
		return err
	}
	for j := range reg.JobsAndTemplates() {
		if sel.ofTemplate().selects(j) {
			return nil
		}
	}
	_, known := reg.Target(sel.Target)
	if c.Kind == ledger.PauseHold && known { // no job calls the target now; runs of earlier definitions may still do
		return nil
	}
	_, err = sel.JobsIn(reg)
	return err
}

// activePauses returns the pauses that have not ended. The answer may be a second old.
func (s *Service) activePauses(ctx context.Context) ([]ledger.Pause, error) {
	if s.ledger == nil {
		return nil, nil
	}
	return s.pauses.get(ctx, "", statusAge, func(ctx context.Context) ([]ledger.Pause, error) { return s.ledger.Pauses(ctx, false) })
}

// Paused returns the pause of a list that a job is in at a time, and the hold of its target. Each is nil if there is
// none, and the one that lasts longest if there are several.
func Paused(list []ledger.Pause, j jobs.Job, now time.Time) (pause, hold *ledger.Pause) {
	for i := range list {
		switch p := &list[i]; {
		case p.Covers(j.ID, executor.TraitsOf(j), now) && (pause == nil || p.Until.After(pause.Until)):
			pause = p
		case p.Holds(j.Target, now) && (hold == nil || p.Until.After(hold.Until)):
			hold = p
		}
	}
	return pause, hold
}

// NextRun returns the job's first scheduled time after a time that is in none of the pauses; zero:
// there is none. It also gives up after a thousand pauses, one after the other, each of which has the
// next time: a page must not wait for that.
func NextRun(list []ledger.Pause, j jobs.Job, now time.Time) time.Time {
	at := j.NextRun(now)
	for range 1000 {
		pause, _ := Paused(list, j, at)
		if at.IsZero() || pause == nil {
			return at
		}
		at = j.ParsedSchedule().Next(pause.Until.Add(-time.Second))
	}
	return time.Time{}
}

func (s *Service) doChangePause(ctx context.Context, a ActionRequest) (any, error) {
	return s.changePause(ctx, a, false)
}

func (s *Service) doEndPause(ctx context.Context, a ActionRequest) (any, error) {
	return s.changePause(ctx, a, true)
}

func (s *Service) changePause(ctx context.Context, a ActionRequest, end bool) (any, error) {
	c := PauseChange{All: a.All, DryRun: a.DryRun, PauseChange: ledger.PauseChange{
		Kind: cmp.Or(a.Kind, ledger.PauseSkip), Selector: ledger.Selector(a.Selection), From: a.From, Until: a.Until, End: end, Actor: a.actor,
	}}
	if a.ID != "" {
		var err error
		if c.ID, err = ParseID("pause", a.ID); err != nil {
			return nil, err
		}
	}
	return s.ChangePause(ctx, c)
}
