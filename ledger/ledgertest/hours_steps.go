package ledgertest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/ledger"
)

// hourSteps takes random steps of runs of past hours, some of which are counted.
type hourSteps struct {
	*fixture
	*rand.Rand
	held   []ledger.Work
	purged map[ledger.HourKey]bool // hours of which runs were purged
}

func hoursAfterSteps(seed uint64) testCase {
	return testCase{fmt.Sprintf("after any steps the counts of hours are those of the runs (%d)", seed), func(t *fixture) {
		s := &hourSteps{fixture: t, Rand: rand.New(rand.NewPCG(seed, 0)), purged: map[ledger.HourKey]bool{}}
		t.job("a")
		t.job("b")
		for range 25 {
			for range 3 {
				s.step()
			}
			sameAsRuns(t.T, t.Store, s.purged)
			if t.Failed() {
				return
			}
		}
	}}
}

func (s *hourSteps) step() {
	s.Helper()
	a := ledger.Action{Filter: ledger.Filter{JobID: s.jobID(), Limit: 1 + s.IntN(3)}, Actor: ledger.Actor{By: "ann", Why: "asked"},
		Force: true}
	switch s.IntN(12) {
	case 0, 1, 2:
		s.plan(s.now(s.jobID()))
	case 3:
		s.held = append(s.held, s.claim("p2", 5).Work...)
	case 4, 5:
		s.end()
	case 6:
		_, err := []func() (ledger.ActionResult, error){
			func() (ledger.ActionResult, error) { return s.Cancel(s.ctx, a) },
			func() (ledger.ActionResult, error) { return s.Redrive(s.ctx, a) },
			func() (ledger.ActionResult, error) { return s.Ack(s.ctx, a) },
		}[s.IntN(3)]()
		s.must(err)
	case 7:
		s.again(s.now(a.JobID))
	case 8:
		s.purgeSome()
	case 9:
		for range 1 + s.IntN(9) {
			s.rollUpStep()
		}
	default:
		s.advance(time.Duration(20+s.IntN(200)) * time.Minute)
	}
}

func (s *hourSteps) jobID() string { return string(rune('a' + s.IntN(2))) }

// plan plans up to five scheduled times that have come.
func (s *hourSteps) plan(j *job) {
	s.Helper()
	come := int(s.claim("p9", 0).Now.Sub(j.Watermark)/time.Minute) - 5
	if come < 1 {
		return
	}
	first := s.IntN(come)
	var ins []ledger.RunSpec
	if first > 1 {
		ins = append(ins, j.rangeOf(0, first-1))
	}
	for i := first; i < first+5; i++ {
		in := j.leased(i, ledger.OverlapAllow)
		in.Call.Horizon = 30 * time.Hour
		if s.IntN(4) == 0 {
			in = j.missed(i)
		}
		in.Lease = in.Lease && s.IntN(2) == 0
		ins = append(ins, in)
	}
	s.held = append(s.held, j.admit(ins...).Leased...)
}

// end records outcomes, also of leases that are lost.
func (s *hourSteps) end() {
	s.Helper()
	var outcomes []ledger.Outcome
	for len(s.held) > 0 && len(outcomes) < 3 {
		w := s.held[0]
		s.held = s.held[1:]
		all := []ledger.Outcome{succeeded(w), succeeded(w), dead(w, ledger.ReasonExhausted), retrying(w, time.Hour), unsent(w, time.Minute)}
		outcomes = append(outcomes, all[s.IntN(len(all))])
	}
	if len(outcomes) > 0 {
		s.recordResults(outcomes...)
	}
}

// again makes a past run of a job once more: by a backfill, a rerun or a trigger.
func (s *hourSteps) again(j *job) {
	s.Helper()
	runs := s.all(j.JobID)
	if len(runs) == 0 {
		return
	}
	r := runs[s.IntN(len(runs))]
	in := j.planned(0, ledger.OverlapAllow)
	in.RunID, in.ScheduledAt = runID(j.JobID, r.ScheduledAt), r.ScheduledAt
	if s.IntN(2) == 0 {
		_, err := s.Backfill(s.ctx, ledger.BackfillRequest{JobID: j.JobID, Runs: []ledger.RunSpec{in}, Actor: ledger.Actor{By: "ann", Why: "asked"}})
		s.must(err)
		return
	}
	in.RunID, in.Trigger = in.RunID+"~"+s.token(), ledger.ByOperator
	e := j.entry(in)
	e.By, e.Why = "ann", "asked"
	if r.State.Finished() && r.RerunID == "" {
		e.Trigger, e.RerunOf = ledger.ByRerun, r.ID
	}
	s.mustEnter(e)
}

// purgeSome purges runs, and notes their hours: their counts stay.
func (s *hourSteps) purgeSome() {
	s.Helper()
	before := append(s.all("a"), s.all("b")...)
	s.purge(ledger.Purge{Retention: time.Duration(s.IntN(20)) * time.Hour, DeadRetention: 20 * time.Hour})
	left := map[string]bool{}
	for _, r := range append(s.all("a"), s.all("b")...) {
		left[r.ID] = true
	}
	for _, r := range before {
		hour := r.ScheduledAt.UTC().Truncate(time.Hour)
		if !left[r.ID] {
			s.purged[ledger.HourKey{Hour: hour, JobID: r.JobID}], s.purged[ledger.HourKey{Hour: hour}] = true, true
		}
	}
}
