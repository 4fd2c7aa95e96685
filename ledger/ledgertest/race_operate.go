package ledgertest

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

var raceOperateCases = []testCase{
	{"a run is redriven once", raceRedrive},
	{"a range is backfilled once", raceBackfill},
	{"no more backfilled runs run at a time than their pace allows", racePace},
	{"each scheduled time after the answer to a pause follows it", racePause},
	{"a run that is entered while its pause is shortened is due at the new end", raceShorten},
	{"the last plan of a schedule's content while its pause is shortened is due at the new end", raceLastPlan},
	{"of two pauses that are changed at once, the last end counts", raceProlong},
	{"operators and executors at once do not fail one another", raceOperators},
}

func raceRedrive(t *fixture) {
	j, _ := t.newDead("j")
	var mu sync.Mutex
	n := 0
	t.onEachReplica([]ledger.Store{t.Store, t.secondReplica(), t.secondReplica()}, 2, func(s ledger.Store, _ string) error {
		a := actionOn(j.id(0))
		a.Force = true
		got, err := s.Redrive(t.ctx, a)
		mu.Lock()
		defer mu.Unlock()
		n += len(got.Changed)
		return err
	})
	if n != 1 {
		t.Errorf("redriven %d times, want once", n)
	}
}

func raceBackfill(t *fixture) {
	const count = 30
	j := t.job("j")
	j.admit(j.rangeOf(0, count-1))
	fill := ledger.BackfillRequest{JobID: "j", Actor: ledger.Actor{By: "ann", Why: "outage"}}
	for i := range count {
		fill.Runs = append(fill.Runs, j.planned(i, ledger.OverlapSkip))
	}
	var mu sync.Mutex
	planned := 0
	t.onEachReplica([]ledger.Store{t.Store, t.secondReplica(), t.secondReplica()}, 2, func(s ledger.Store, _ string) error {
		got, err := s.Backfill(t.ctx, fill)
		mu.Lock()
		defer mu.Unlock()
		planned += got.Planned
		return err
	})
	if n := len(t.all("j")); planned != count || n != count {
		t.Errorf("planned %d in %d rows, want %d of each", planned, n, count)
	}
}

// raceOperators: each worker does all that an operator and an executor do, in
// an order of its own. What matters is that no call fails: rows are locked in
// one order everywhere.
func raceOperators(t *fixture) {
	stores := t.fleet(10, 3)
	t.onEachReplica(stores, 3, func(s ledger.Store, token string) error {
		all := ledger.Action{Actor: ledger.Actor{By: token, Why: "race"}, Force: true}
		var held []ledger.Work
		moves := []func(round int) error{
			func(int) error {
				assignments, err := s.Assignments(t.ctx, "v1", "")
				if err != nil {
					return err
				}
				got, err := s.Admit(t.ctx, ledger.Admission{
					Plans: plansAt(assignments, 0, ledger.OverlapQueue), Process: token, Token: token, LeaseFor: lease,
				})
				held = append(held, got.Leased...)
				return err
			},
			func(int) error {
				got, err := s.Claim(t.ctx, ledger.ClaimRequest{Process: token, Token: token, Limit: 5, LeaseFor: lease})
				held = append(held, got.Work...)
				return err
			},
			func(round int) error {
				var os []ledger.Outcome
				for i, w := range held {
					os = append(os, []ledger.Outcome{succeeded(w), dead(w, ledger.ReasonPermanent), retrying(w, 0)}[(i+round)%3])
				}
				held = nil
				_, err := s.Record(t.ctx, os)
				return err
			},
			func(int) error { _, err := s.Redrive(t.ctx, all); return err },
			func(int) error {
				some := all
				some.Filter = ledger.Filter{States: []ledger.State{ledger.Planned}, Limit: 2}
				_, err := s.Cancel(t.ctx, some)
				return err
			},
			func(int) error { return s.PauseJob(t.ctx, "job-003", ledger.Actor{By: token, Why: "race"}) },
			func(int) error { return s.ResumeJob(t.ctx, "job-003", ledger.Actor{By: token, Why: "race"}) },
			func(int) error { _, err := s.PurgeRuns(t.ctx, ledger.Purge{Batch: 5}); return err },
			func(int) error { _, err := s.PurgeHistory(t.ctx, ledger.HistoryPurge{Batch: 5}); return err },
			func(int) error { _, err := s.Audit(t.ctx, ledger.AuditFilter{By: token}); return err },
			func(int) error { _, err := s.Ack(t.ctx, all); return err },
		}
		for round := range 5 {
			for _, i := range rand.Perm(len(moves)) {
				if err := moves[i](round); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// racePause: an operator pauses while processes admit. What is under way may go either way;
// each process obeys the pause at the first scheduled time after it.
func racePause(t *fixture) {
	stores := t.fleet(8, 3)
	begun, err := t.Assignments(t.ctx, "v1", "")
	t.must(err)
	made := make(chan ledger.Pause, 1)
	t.onEachReplica(stores, 3, func(s ledger.Store, token string) error {
		if token != "race-1-1" {
			_, err := s.Admit(t.ctx, ledger.Admission{Plans: plansAt(begun, 0, ledger.OverlapAllow), Process: token, Token: token, LeaseFor: lease})
			return err
		}
		all := ledger.Selector{Job: "job-*"}
		until := t.storeTime().Add(time.Hour).Truncate(time.Second)
		p, err := s.ChangePause(t.ctx, ledger.PauseChange{Kind: ledger.PauseSkip, Selector: all, Until: until, Actor: ann})
		made <- p
		return err
	})
	pause := <-made
	t.advance(2 * time.Minute)
	t.onEachReplica(stores, 3, func(s ledger.Store, token string) error {
		for i := range begun {
			j := &job{Position: begun[i].Position}
			k := int(pause.From.Sub(j.at(0))/time.Minute) + 1
			p := j.plan(k, j.planned(k, ledger.OverlapAllow))
			p.After = j.at(0)
			if _, err := s.Admit(t.ctx, ledger.Admission{Plans: []ledger.Plan{p}, Process: token, Token: token + "-2", LeaseFor: lease}); err != nil {
				return err
			}
		}
		return nil
	})
	skipped, err := t.List(t.ctx, ledger.Filter{States: []ledger.State{ledger.Skipped}, Reason: ledger.ReasonPaused})
	if err != nil || len(skipped) != len(begun) {
		t.Errorf("skipped %d times, %v: want one of each of %d jobs", len(skipped), err, len(begun))
	}
}
