package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// When runs that wait for the end of a pause that catches up are due.
var pauseDueCases = []testCase{
	{"runs that wait for the end of a pause are due at its new end when it is changed or ended", func(b *fixture) {
		j := b.job("j")
		pause, other := b.catchUpOf(j, 61, 180), b.catchUpOf(j, 62, 65)
		b.advance(3 * time.Minute)
		j.waits(61, 62)
		b.changePause(ledger.PauseChange{ID: pause.ID, Until: j.at(240), Actor: ann})
		j.due(61, j.at(240))
		j.due(62, j.at(240))
		ended := b.changePause(ledger.PauseChange{ID: pause.ID, End: true, Actor: ann})
		j.due(61, ended.Until)
		j.due(62, other.Until)
	}},
	{"of two pauses the shorter one is prolonged past the longer one", func(b *fixture) {
		j := b.job("j")
		shorter, longer := b.catchUpOf(j, 62, 65), b.catchUpOf(j, 61, 70)
		b.advance(3 * time.Minute)
		j.waits(61, 62)
		for until, want := range map[int]int{69: 70, 80: 80} {
			b.changePause(ledger.PauseChange{ID: shorter.ID, Until: j.at(until), Actor: ann})
			j.due(61, longer.Until)
			j.due(62, j.at(want))
			b.changePause(ledger.PauseChange{ID: shorter.ID, Until: j.at(65), Actor: ann})
			j.due(62, longer.Until)
		}
	}},
	{"a pause of another owner does not keep a run back", func(b *fixture) {
		j := b.job("j")
		own := b.catchUpOf(j, 61, 80)
		other := b.changePause(ledger.PauseChange{Kind: ledger.PauseCatchUp, Selector: ledger.Selector{Owner: "Ops"}, From: j.at(61),
			Until: j.at(90), Actor: ann})
		b.advance(3 * time.Minute)
		j.waits(61)
		b.changePause(ledger.PauseChange{ID: own.ID, Until: j.at(70), Actor: ann})
		j.due(61, j.at(70))
		b.changePause(ledger.PauseChange{ID: other.ID, Until: j.at(85), Actor: ann})
		j.due(61, j.at(70))
	}},
	{"a new pause of another owner, or a longer one, makes no run due later", func(b *fixture) {
		j := b.job("j")
		own := b.catchUpOf(j, 61, 180)
		b.advance(3 * time.Minute)
		j.waits(90)
		other := b.changePause(ledger.PauseChange{Kind: ledger.PauseCatchUp, Selector: ledger.Selector{Owner: "Ops"}, From: j.at(80),
			Until: j.at(200), Actor: ann})
		j.due(90, own.Until)
		for _, end := range []int{170, 210} {
			b.changePause(ledger.PauseChange{ID: other.ID, Until: j.at(end), Actor: ann})
			j.due(90, own.Until)
		}
	}},
	{"a run that waits for the end of a pause stays due then when the clock is set back", func(b *fixture) {
		j := b.job("j")
		pause := b.catchUpOf(j, 61, 400)
		b.advance(3 * time.Minute)
		j.waits(61)
		b.advance(150 * time.Minute)
		b.setClockBack("process-of-j")
		b.heartbeat("process-of-j")
		j.due(61, pause.Until)
	}},
	{"a run due at the end that an operator set does not wait longer when the clock is set back", func(b *fixture) {
		j := b.job("j")
		pause := b.catchUpOf(j, 61, 400)
		b.advance(3 * time.Minute)
		j.waits(61)
		b.advance(150 * time.Minute)
		b.changePause(ledger.PauseChange{ID: pause.ID, End: true, Actor: ann})
		b.advance(time.Second)
		b.setClockBack("process-of-j")
		b.heartbeat("process-of-j")
		b.advance(time.Minute)
		b.claimOne("p1", j.id(61))
	}},
	{"a hold and a pause that have begun last when the clock is set back, and one that is to come begins at its time", func(b *fixture) {
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		hold, later := b.holdOf("target-of-j", time.Hour), b.catchUpOf(j, 90, 180)
		b.setClockBack("process-of-j")
		now := b.heartbeat("process-of-j").Now
		b.wantIdle()
		b.advance(time.Minute)
		b.wantIdle()
		list, err := b.Pauses(b.ctx, false)
		b.must(err)
		if got := list[0]; got.From.After(now) || !got.Until.Equal(hold.Until) || got.By != hold.By {
			b.Errorf("%+v, want it to have begun by %s", got, now)
		}
		if got := list[1]; !got.From.Equal(later.From) || !got.Until.Equal(later.Until) {
			b.Errorf("%+v, want it as it was: %+v", got, later)
		}
	}},
	{"a hold whose time is over holds again when the clock is set back, and one that an operator ended does not", func(b *fixture) {
		j := b.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		hold, ended := b.holdOf("target-of-j", time.Hour), b.holdOf("target-of-k", time.Hour)
		b.changePause(ledger.PauseChange{ID: ended.ID, End: true, Actor: ann})
		b.advance(90 * time.Minute)
		if n, err := b.ClosePauses(b.ctx); n != 1 || err != nil {
			b.Fatalf("closed %d, %v", n, err)
		}
		b.setClockBack("process-of-j")
		b.heartbeat("process-of-j")
		b.wantIdle()
		list, err := b.Pauses(b.ctx, false)
		b.must(err)
		if len(list) != 1 || list[0].ID != hold.ID || !list[0].Until.Equal(hold.Until) {
			b.Errorf("%+v, want the hold alone: %+v", list, hold)
		}
		b.changePause(ledger.PauseChange{ID: hold.ID, End: true, Actor: ann})
		b.advance(time.Second)
		b.claimOne("p1", j.id(0))
	}},
	{"a pause stops no backfill, and a hold does", func(b *fixture) {
		j := b.job("j")
		j.admit(j.missed(0), j.missed(1))
		b.must(b.PauseJob(b.ctx, "j", ann))
		b.pauseOf(j, 0, 180, ledger.Selector{})
		b.catchUpOf(j, 0, 180)
		j.backfill(false, 0, 1)
		b.record(succeeded(b.claimOne("p1", j.id(0))))
		hold := b.holdOf("target-of-j", 5*time.Minute)
		b.wantIdle()
		b.changePause(ledger.PauseChange{ID: hold.ID, End: true, Actor: ann})
		b.advance(time.Second)
		b.claimOne("p1", j.id(1))
	}},
	{"a run that is planned ahead is due at its own time when its pause ends before, and waits for a new one", func(b *fixture) {
		j := b.job("j")
		pause := b.catchUpOf(j, 61, 180)
		b.advance(3 * time.Minute)
		j.waits(90)
		b.changePause(ledger.PauseChange{ID: pause.ID, Until: j.at(91), Actor: ann})
		j.due(90, j.at(91))
		again := b.catchUpOf(j, 90, 100)
		j.due(90, again.Until)
		b.changePause(ledger.PauseChange{ID: again.ID, From: j.at(91), Actor: ann})
		j.due(90, pause.From.Add(30*time.Minute))
		b.changePause(ledger.PauseChange{ID: pause.ID, End: true, Actor: ann})
		j.due(90, j.at(90))
		b.wantIdle()
		b.catchUpOf(j, 80, 100)
		j.due(90, j.at(90)) // it did not wait: what was admitted goes on
	}},
}

// waits enters runs that wait for the end of a pause.
func (j *job) waits(times ...int) {
	j.Helper()
	for _, i := range times {
		if got := j.mustEnter(j.entry(j.leased(i, ledger.OverlapAllow))); got.Work != nil || !got.Run.NextAt.After(j.at(i)) {
			j.Fatalf("run %d is due at %s", i, got.Run.NextAt)
		}
	}
}

func (j *job) due(i int, want time.Time) {
	j.Helper()
	j.wantDue(j.id(i), want)
}

func (b *fixture) wantDue(id string, want time.Time) {
	b.Helper()
	if r := b.wantState(id, ledger.Planned, ""); !r.NextAt.Equal(want) {
		b.Errorf("%s is due at %s, want %s", id, r.NextAt, want)
	}
}
