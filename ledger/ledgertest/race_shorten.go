package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// raceShorten: an event enters a run in a pause that an operator shortens at the same time.
func raceShorten(t *fixture) {
	j := t.job("j")
	t.whilePauseIsShortened("j", func(s ledger.Store, p ledger.Pause, round int) (string, error) {
		at := p.From.Add(time.Duration(round) * time.Second)
		in := ledger.RunSpec{RunID: "j@" + at.Format(time.RFC3339), ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule,
			Overlap: ledger.OverlapAllow, Call: callOf("j")}
		_, err := s.Enter(t.ctx, ledger.Entry{JobID: j.JobID, RunSpec: in})
		return in.RunID, err
	})
}

// raceLastPlan: a change plans the scheduled times of a schedule's content that ends, in a pause
// that an operator shortens at the same time.
func raceLastPlan(t *fixture) {
	t.template()
	t.putSchedule(upsert("a", "1s"), ledger.ScheduleCreated)
	t.whilePauseIsShortened("t", func(s ledger.Store, p ledger.Pause, round int) (string, error) {
		in := upsert("a", []string{"1000ms", "1s"}[round%2])
		got, err := s.ChangeSchedules(t.ctx, ledger.ChangeSchedulesRequest{Template: "t", Items: []ledger.ScheduleChange{in}, Rules: timing{}, Actor: someone})
		if err == nil {
			err = got[0].Err
		}
		return runID("t:a", p.From.Add(time.Second)), err
	})
}

// whilePauseIsShortened lets make write a run in a pause that catches up for a job, and an operator
// shorten the pause, at the same time, again and again: the run is due at the new end.
func (t *fixture) whilePauseIsShortened(jobID string, make func(s ledger.Store, p ledger.Pause, round int) (runID string, err error)) {
	t.Helper()
	stores := []ledger.Store{t.Store, t.secondReplica()}
	for i := range 20 {
		p := t.changePause(ledger.PauseChange{Kind: ledger.PauseCatchUp, Selector: ledger.Selector{Job: jobID},
			Until: t.storeTime().Add(2 * time.Hour).Truncate(time.Second), Actor: ann})
		t.advance(2 * time.Second)
		until := p.Until.Add(-time.Hour)
		made := ""
		t.onEachReplica(stores, 1, func(s ledger.Store, token string) (err error) {
			if token == "race-0-0" {
				made, err = make(s, p, i)
				return err
			}
			_, err = s.ChangePause(t.ctx, ledger.PauseChange{ID: p.ID, Until: until, Actor: ann})
			return err
		})
		if r := t.get(made); !r.NextAt.Equal(until) {
			t.Errorf("%d: due at %s, want the new end %s", i, r.NextAt, until)
		}
		t.changePause(ledger.PauseChange{ID: p.ID, End: true, Actor: ann})
		t.advance(2 * time.Second)
	}
}

// raceProlong: of two pauses that keep a run back, one is prolonged and the other shortened at
// the same time.
func raceProlong(t *fixture) {
	j := t.job("j")
	stores := []ledger.Store{t.Store, t.secondReplica()}
	for i := range 20 {
		long, short := t.catchUpOf(j, 61, 180), t.catchUpOf(j, 61, 120)
		at := long.From.Add(time.Duration(i) * time.Second)
		in := ledger.RunSpec{RunID: "j@" + at.Format(time.RFC3339), ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule,
			Overlap: ledger.OverlapAllow, Call: callOf("j")}
		t.mustEnter(ledger.Entry{JobID: "j", RunSpec: in, Token: t.token()})
		t.onEachReplica(stores, 1, func(s ledger.Store, token string) error {
			c := ledger.PauseChange{ID: long.ID, Until: j.at(90), Actor: ann}
			if token == "race-0-0" {
				c = ledger.PauseChange{ID: short.ID, Until: j.at(150), Actor: ann}
			}
			_, err := s.ChangePause(t.ctx, c)
			return err
		})
		j.wantDue(in.RunID, j.at(150))
		for _, p := range []ledger.Pause{long, short} {
			t.changePause(ledger.PauseChange{ID: p.ID, End: true, Actor: ann})
		}
	}
}
