package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// changedHourCases: what changes a run of an hour that is counted is counted.
var changedHourCases = []testCase{
	changesHour("a late record", func(_ *fixture, m *counted) { m.record(succeeded(m.running)) }),
	changesHour("a failed attempt", func(_ *fixture, m *counted) { m.record(retrying(m.running, time.Minute)) }),
	changesHour("a claim", func(b *fixture, _ *counted) { b.claim("p2", 10) }),
	changesHour("a redrive", func(b *fixture, m *counted) {
		a := actionOn(m.id(1))
		a.Force = true
		b.wantChanged(b.Redrive(b.ctx, a))(m.id(1))
	}),
	changesHour("an acknowledgement", func(b *fixture, m *counted) { b.wantChanged(b.Ack(b.ctx, actionOn(m.id(1))))(m.id(1)) }),
	changesHour("a cancel", func(b *fixture, m *counted) { b.canceled(m.id(3)) }),
	changesHour("a backfill of a row", func(_ *fixture, m *counted) { m.fill(ledger.Backfilled{Planned: 1}, 9) }),
	changesHour("a backfill out of a range", func(_ *fixture, m *counted) { m.fill(ledger.Backfilled{Planned: 1}, 6) }),
	changesHour("a backfill of a whole range", func(_ *fixture, m *counted) { m.fill(ledger.Backfilled{Planned: 5}, 4, 5, 6, 7, 8) }),
	changesHour("a rerun", func(b *fixture, m *counted) { b.mustEnter(m.repeat(m.id(0), "again")) }),
	changesHour("a late catch-up", func(_ *fixture, m *counted) {
		j := m.next()
		j.admit(j.missed(0), j.rangeOf(1, 90), j.leased(95, ledger.OverlapAllow))
	}),
	changesHour("an entry of a past scheduled time", func(b *fixture, m *counted) { b.mustEnter(m.entry(m.leased(20, ledger.OverlapAllow))) }),
	changesHour("a run past its send-before time", func(b *fixture, _ *counted) {
		b.advance(200 * time.Hour)
		b.claim("p2", 10)
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
	return testCase{what + " of a run of an hour that is over is counted", func(b *fixture) {
		j, a := b.job("j"), ledger.OverlapAllow
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
		b.record(outcomes...)
		b.advance(4 * time.Hour)
		rollUp(b.T, b.Store)
		b.sameAsRuns()
		change(b, m)
		b.sameAsRuns()
		rollUp(b.T, b.Store)
		b.sameAsRuns()
		if b.rollUpStep() {
			b.Error("there is something to count after all was counted")
		}
	}}
}

func purgedUncounted(b *fixture) {
	_, w := b.newStarted("j")
	b.record(succeeded(w))
	b.advance(3 * time.Hour)
	b.purge(ledger.Purge{Retention: time.Hour, DeadRetention: time.Hour})
	rollUp(b.T, b.Store)
	b.sameAsRuns()
}
