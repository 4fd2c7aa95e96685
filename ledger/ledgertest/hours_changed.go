package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// changedHourCases: what changes a run of an hour that is counted is counted.
var changedHourCases = []testCase{
	changesHour("a late record", func(_ *fixture, m *counted) { m.record(succeeded(m.running)) }),
	changesHour("a failed attempt", func(_ *fixture, m *counted) { m.record(retrying(m.running, time.Minute)) }),
	changesHour("a claim", func(t *fixture, _ *counted) { t.claim("p2", 10) }),
	changesHour("a redrive", func(t *fixture, m *counted) {
		a := actionOn(m.id(1))
		a.Force = true
		t.wantChanged(t.Redrive(t.ctx, a))(m.id(1))
	}),
	changesHour("an acknowledgement", func(t *fixture, m *counted) { t.wantChanged(t.Ack(t.ctx, actionOn(m.id(1))))(m.id(1)) }),
	changesHour("a cancel", func(t *fixture, m *counted) { t.canceled(m.id(3)) }),
	changesHour("a backfill of a row", func(_ *fixture, m *counted) { m.fill(ledger.Backfilled{Planned: 1}, 9) }),
	changesHour("a backfill out of a range", func(_ *fixture, m *counted) { m.fill(ledger.Backfilled{Planned: 1}, 6) }),
	changesHour("a backfill of a whole range", func(_ *fixture, m *counted) { m.fill(ledger.Backfilled{Planned: 5}, 4, 5, 6, 7, 8) }),
	changesHour("a rerun", func(t *fixture, m *counted) { t.mustEnter(m.repeat(m.id(0), "again")) }),
	changesHour("a late catch-up", func(_ *fixture, m *counted) {
		j := m.next()
		j.admit(j.missed(0), j.rangeOf(1, 90), j.leased(95, ledger.OverlapAllow))
	}),
	changesHour("an entry of a past scheduled time", func(t *fixture, m *counted) { t.mustEnter(m.entry(m.leased(20, ledger.OverlapAllow))) }),
	changesHour("a run past its send-before time", func(t *fixture, _ *counted) {
		t.advance(200 * time.Hour)
		t.claim("p2", 10)
	}),
	hoursAfterSteps(1), hoursAfterSteps(2), hoursAfterSteps(3),
	{"a purge of runs whose hour is not counted leaves no counts", purgedUncounted},
}

// counted is a job with runs of each kind in hours that are counted.
type counted struct {
	*job
	running ledger.Work
}

func changesHour(what string, change func(*fixture, *counted)) testCase {
	return testCase{what + " of a run of an hour that is over is counted", func(t *fixture) {
		j, a := t.job("j"), ledger.OverlapAllow
		ins := []ledger.RunSpec{j.leased(0, a), j.leased(1, a), j.leased(2, a), j.planned(3, a), j.rangeOf(4, 8), j.missed(9)}
		for i := range ins {
			ins[i].Call.Horizon = 100 * time.Hour
			if !ins[i].Until.IsZero() || ins[i].State != ledger.Planned {
				ins[i].Call = ledger.CallSpec{}
			}
		}
		m := &counted{job: j}
		var outcomes []ledger.Outcome
		for _, w := range j.admit(ins...).Leased {
			switch w.RunID {
			case j.id(0):
				outcomes = append(outcomes, succeeded(w))
			case j.id(1):
				outcomes = append(outcomes, dead(w, ledger.ReasonExhausted))
			default:
				m.running = w
			}
		}
		t.record(outcomes...)
		t.advance(4 * time.Hour)
		rollUp(t.T, t.Store)
		t.sameAsRuns()
		change(t, m)
		t.sameAsRuns()
		rollUp(t.T, t.Store)
		t.sameAsRuns()
		if t.rollUpStep() {
			t.Error("there is something to count after all was counted")
		}
	}}
}

func purgedUncounted(t *fixture) {
	_, w := t.newStarted("j")
	t.record(succeeded(w))
	t.advance(3 * time.Hour)
	t.purge(ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour})
	rollUp(t.T, t.Store)
	t.sameAsRuns()
}
