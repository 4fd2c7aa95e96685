package simulate

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/ledger"
)

// maintain is an operator who pauses jobs and holds a target, now or later, and shortens,
// prolongs and ends what is planned. It ends all when the storm is over.
func (s *script) maintain(r *rand.Rand) {
	var open []int64
	for !s.sleepUntilQuiet(between(r, time.Second, pick(r, 3*time.Minute, 20*time.Minute))) {
		if len(open) > 0 && r.IntN(2) == 0 {
			i := r.IntN(len(open))
			if s.changePause(r, open[i]) {
				open = append(open[:i], open[i+1:]...)
			}
			continue
		}
		c := ledger.PauseChange{Kind: pick(r, ledger.PauseKinds...), Actor: simulated, Until: s.later(r)}
		switch {
		case c.Kind == ledger.PauseHold:
			c.Target = pick(r, "books", "members")
		case r.IntN(4) == 0:
			c.Selector = ledger.Selector{Target: "books"}
		default:
			c.Job = s.someJobOf(r).ID
		}
		if r.IntN(2) == 0 {
			c.From = s.later(r)
		}
		if p, err := s.ledger.ChangePause(context.Background(), c); err == nil {
			open = append(open, p.ID)
			s.noteHold(p)
		} else if !errors.Is(err, ledger.ErrInvalidPause) { // it may end before it begins
			s.fail(err)
		}
	}
	for _, id := range open {
		s.endPause(id)
	}
}

var simulated = ledger.Actor{By: "op", Why: "simulated"}

// changePause gives a pause other times, or ends it, and reports whether it has ended.
func (s *script) changePause(r *rand.Rand, id int64) bool {
	if r.IntN(3) == 0 {
		return s.endPause(id)
	}
	c := ledger.PauseChange{ID: id, Until: s.later(r), Actor: simulated}
	if r.IntN(3) == 0 {
		c.From = s.later(r)
	}
	p, err := s.ledger.ChangePause(context.Background(), c)
	if err == nil {
		s.noteHold(p)
	} else if !errors.Is(err, ledger.ErrInvalidPause) && !errors.Is(err, ledger.ErrPauseEnded) {
		s.fail(err)
	}
	return errors.Is(err, ledger.ErrPauseEnded)
}

func (s *script) endPause(id int64) bool {
	_, err := s.ledger.ChangePause(context.Background(), ledger.PauseChange{ID: id, End: true, Actor: simulated})
	if err != nil && !errors.Is(err, ledger.ErrPauseEnded) {
		s.fail(err)
	}
	return true
}

// noteHold notes how long a run may be kept back beyond its horizon.
func (s *script) noteHold(p ledger.Pause) {
	s.note(func(t *Tally) { t.Maintenance++ })
	if p.Kind == ledger.PauseHold {
		now := s.Now()
		s.mu.Lock()
		s.held += p.Until.Sub(now)
		s.mu.Unlock()
	}
}

func (s *script) later(r *rand.Rand) time.Time {
	return s.Now().Add(between(r, time.Second, pick(r, time.Minute, 10*time.Minute, 30*time.Minute))).Truncate(time.Second)
}

// sleepUntilQuiet reports whether the storm is over.
func (s *script) sleepUntilQuiet(d time.Duration) bool {
	select {
	case <-s.quiet:
		return true
	case <-time.After(d):
		return false
	}
}
