package ledgertest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/ledger"
)

var raceCases = []testCase{
	{"three replicas that plan 300 jobs at once make one row for each scheduled time", racePlans},
	{"replicas that claim at once never share a run", raceClaims},
	{"replicas that enter one event at once make one run", raceEntries},
	{"a plan and an event of one scheduled time make one run and one lease", racePlanEntry},
	{"an expired lease is taken over by one", raceTakeover},
	{"planning, claiming and recording at once run every scheduled time once, one at a time", raceAll},
	{"concurrent plans, events and pauses return what they wrote", raceMixed},
}

func jobIDs(n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("job-%03d", i))
	}
	return ids
}

// fleet begins n jobs and returns replicas to work on them.
func (t *fixture) fleet(jobs, replicas int) []ledger.Store {
	t.Helper()
	t.declare("p1", "v1", jobIDs(jobs)...)
	t.assignments("v1")
	t.advance(time.Hour)
	stores := []ledger.Store{t.Store}
	for len(stores) < replicas {
		stores = append(stores, t.secondReplica())
	}
	return stores
}

// onEachReplica runs f once for every replica, workers times at once.
func (t *fixture) onEachReplica(stores []ledger.Store, workers int, f func(s ledger.Store, token string) error) {
	t.Helper()
	var wg sync.WaitGroup
	for i, s := range stores {
		for w := range workers {
			wg.Go(func() {
				if err := f(s, fmt.Sprintf("race-%d-%d", i, w)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
}

// beats is how many rounds of scheduled times a race plans, one scheduled time a round.
const beats = 3

// plansAt makes each job's plan for one round from where it stood: in an order
// of its own, as replicas differ.
func plansAt(assignments []ledger.JobAssignment, round int, o ledger.Overlap) []ledger.Plan {
	var plans []ledger.Plan
	for _, s := range assignments {
		first := &job{Position: s.Position}
		plans = append(plans, first.plan(round, first.leased(round, o)))
	}
	rand.Shuffle(len(plans), func(i, k int) { plans[i], plans[k] = plans[k], plans[i] })
	return plans
}

// racePlans: every worker of every replica admits the same plans, shuffled,
// round after round.
func racePlans(t *fixture) {
	stores := t.fleet(300, 3)
	begun, err := t.Assignments(t.ctx, "v1", "")
	t.must(err)
	var mu sync.Mutex
	leased := map[string]int{}
	for round := range beats {
		t.onEachReplica(stores, 4, func(s ledger.Store, token string) error {
			plans := plansAt(begun, round, ledger.OverlapAllow)
			for i := range plans {
				if round > 0 {
					first := &job{Position: ledger.Position{Watermark: plans[i].After}}
					plans[i].After = first.at(round - 1)
				}
			}
			got, err := s.Admit(t.ctx, ledger.Admission{
				Plans: plans, Process: token, Token: fmt.Sprintf("%s-%d", token, round), LeaseFor: time.Hour,
			})
			mu.Lock()
			defer mu.Unlock()
			for _, w := range got.Leased {
				leased[w.RunID]++
			}
			return err
		})
	}
	t.wantOnceEach(leased, 300*beats)
	if runs, err := t.List(t.ctx, ledger.Filter{Limit: 10000}); err != nil || len(runs) != 300*beats {
		t.Errorf("%d rows, %v: want %d", len(runs), err, 300*beats)
	}
}

// wantOnceEach checks that n runs were given out, each once.
func (t *fixture) wantOnceEach(given map[string]int, n int) {
	t.Helper()
	if len(given) != n {
		t.Errorf("%d runs were given out, want %d", len(given), n)
	}
	for id, times := range given {
		if times != 1 {
			t.Errorf("%s was given out %d times", id, times)
		}
	}
}

func raceClaims(t *fixture) {
	stores := t.fleet(40, 3)
	begun, err := t.Assignments(t.ctx, "v1", "")
	t.must(err)
	var plans []ledger.Plan
	for _, s := range begun {
		j := &job{Position: s.Position}
		plans = append(plans, j.plan(4, j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow),
			j.planned(2, ledger.OverlapAllow), j.planned(3, ledger.OverlapAllow), j.planned(4, ledger.OverlapAllow)))
	}
	_, err = t.Admit(t.ctx, t.admission(plans...))
	t.must(err)
	var mu sync.Mutex
	leased := map[string]int{}
	t.onEachReplica(stores, 3, func(s ledger.Store, token string) error {
		for empty := 0; empty < 3; {
			got, err := s.Claim(t.ctx, ledger.ClaimRequest{Process: token, Token: token, Limit: 7, LeaseFor: time.Hour})
			if err != nil {
				return err
			}
			if len(got.Work) == 0 {
				empty++
			}
			mu.Lock()
			for _, w := range got.Work {
				leased[w.RunID]++
			}
			mu.Unlock()
		}
		return nil
	})
	t.wantOnceEach(leased, 200)
}

func raceEntries(t *fixture) {
	j := t.job("j")
	stores := []ledger.Store{t.Store, t.secondReplica(), t.secondReplica()}
	var mu sync.Mutex
	inserted, leased := 0, 0
	for i := range 10 {
		t.onEachReplica(stores, 2, func(s ledger.Store, token string) error {
			e := ledger.Entry{JobID: "j", RunSpec: j.leased(i, ledger.OverlapAllow), Process: token, Token: token, LeaseFor: lease}
			got, err := s.Enter(t.ctx, e)
			mu.Lock()
			defer mu.Unlock()
			if got.Inserted {
				inserted++
			}
			if got.Work != nil {
				leased++
			}
			return err
		})
	}
	if inserted != 10 || leased != 10 {
		t.Errorf("inserted %d, leased %d: want 10 each", inserted, leased)
	}
}

func racePlanEntry(t *fixture) {
	j := t.job("j")
	stores := []ledger.Store{t.Store, t.secondReplica(), t.secondReplica()}
	for range 8 {
		leased := map[string]int{}
		var mu sync.Mutex
		give := func(ws ...ledger.Work) {
			mu.Lock()
			defer mu.Unlock()
			for _, w := range ws {
				leased[w.RunID]++
			}
		}
		in := j.leased(0, ledger.OverlapAllow)
		t.onEachReplica(stores, 2, func(s ledger.Store, token string) error {
			if strings.HasSuffix(token, "0") {
				got, err := s.Admit(t.ctx, ledger.Admission{Plans: []ledger.Plan{j.plan(0, in)}, Process: token, Token: token, LeaseFor: lease})
				give(got.Leased...)
				return err
			}
			got, err := s.Enter(t.ctx, ledger.Entry{JobID: "j", RunSpec: in, Process: token, Token: token, LeaseFor: lease})
			if got.Work != nil {
				give(*got.Work)
			}
			return err
		})
		t.wantOnceEach(leased, 1)
		j = j.next()
	}
}

func raceTakeover(t *fixture) {
	j, _ := t.newStarted("j")
	t.advance(lease + time.Second)
	var mu sync.Mutex
	taken := map[string]int{}
	t.onEachReplica([]ledger.Store{t.Store, t.secondReplica(), t.secondReplica()}, 3, func(s ledger.Store, token string) error {
		got, err := s.Claim(t.ctx, ledger.ClaimRequest{Process: token, Token: token, Limit: 10, LeaseFor: lease})
		mu.Lock()
		defer mu.Unlock()
		for _, w := range got.Work {
			taken[w.RunID]++
		}
		return err
	})
	t.wantOnceEach(taken, 1)
	if r := t.get(j.id(0)); r.Attempt != 2 || len(t.history(j.id(0))) != 1 {
		t.Errorf("row %+v, want attempt 2 after one that is lost", r)
	}
}

// raceAll: half the workers plan queued scheduled times, all of them claim and
// record, until every scheduled time has run. Of one job no two may run together.
func raceAll(t *fixture) {
	const jobs, times = 20, 5
	stores := t.fleet(jobs, 3)
	begun, err := t.Assignments(t.ctx, "v1", "")
	t.must(err)
	var mu sync.Mutex
	running, ran := map[string]bool{}, map[string]int{}
	hold := func(ws []ledger.Work, on bool) {
		mu.Lock()
		defer mu.Unlock()
		for _, w := range ws {
			if on && running[w.JobID] {
				t.Errorf("two runs of %s at once", w.JobID)
			}
			running[w.JobID] = on
			if on {
				ran[w.RunID]++
			}
		}
	}
	t.onEachReplica(stores, 2, func(s ledger.Store, token string) error {
		for until := time.Now().Add(time.Minute); time.Now().Before(until); {
			mu.Lock()
			done := len(ran) == jobs*times
			mu.Unlock()
			if done {
				return nil
			}
			var plans []ledger.Plan
			for _, st := range begun {
				j := &job{Position: st.Position}
				var ins []ledger.RunSpec
				for i := range times {
					ins = append(ins, j.leased(i, ledger.OverlapQueue))
				}
				plans = append(plans, j.plan(times-1, ins...))
			}
			rand.Shuffle(len(plans), func(i, k int) { plans[i], plans[k] = plans[k], plans[i] })
			admitted, err := s.Admit(t.ctx, ledger.Admission{Plans: plans, Process: token, Token: token, LeaseFor: time.Hour})
			if err != nil {
				return err
			}
			claimed, err := s.Claim(t.ctx, ledger.ClaimRequest{Process: token, Token: token, Limit: 5, LeaseFor: time.Hour})
			if err != nil {
				return err
			}
			ws := append(admitted.Leased, claimed.Work...)
			hold(ws, true)
			hold(ws, false)
			var os []ledger.Outcome
			for _, w := range ws {
				os = append(os, succeeded(w))
			}
			if _, err := s.Record(t.ctx, os); err != nil {
				return err
			}
		}
		return nil
	})
	t.wantOnceEach(ran, jobs*times)
}
