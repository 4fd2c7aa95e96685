package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// When runs that wait for the end of a pause that catches up are due.
var pauseDueCases = []testCase{
	{"runs that wait for the end of a pause are due at its new end when it is changed or ended", func(t *fixture) {
		j := t.job("j")
		pause, other := t.catchUpOf(j, 61, 180), t.catchUpOf(j, 62, 65)
		t.advance(3 * time.Minute)
		j.waits(61, 62)
		t.changePause(ledger.PauseChange{ID: pause.ID, Until: j.at(240), Actor: ann})
		j.due(61, j.at(240))
		j.due(62, j.at(240))
		ended := t.changePause(ledger.PauseChange{ID: pause.ID, End: true, Actor: ann})
		j.due(61, ended.Until)
		j.due(62, other.Until)
	}},
	{"of two pauses the shorter one is prolonged past the longer one", func(t *fixture) {
		j := t.job("j")
		shorter, longer := t.catchUpOf(j, 62, 65), t.catchUpOf(j, 61, 70)
		t.advance(3 * time.Minute)
		j.waits(61, 62)
		for until, want := range map[int]int{69: 70, 80: 80} {
			t.changePause(ledger.PauseChange{ID: shorter.ID, Until: j.at(until), Actor: ann})
			j.due(61, longer.Until)
			j.due(62, j.at(want))
			t.changePause(ledger.PauseChange{ID: shorter.ID, Until: j.at(65), Actor: ann})
			j.due(62, longer.Until)
		}
	}},
	{"a pause of another owner does not keep a run back", func(t *fixture) {
		j := t.job("j")
		own := t.catchUpOf(j, 61, 80)
		other := t.changePause(ledger.PauseChange{Kind: ledger.PauseCatchUp, Selector: ledger.Selector{Owner: "Ops"}, From: j.at(61),
			Until: j.at(90), Actor: ann})
		t.advance(3 * time.Minute)
		j.waits(61)
		t.changePause(ledger.PauseChange{ID: own.ID, Until: j.at(70), Actor: ann})
		j.due(61, j.at(70))
		t.changePause(ledger.PauseChange{ID: other.ID, Until: j.at(85), Actor: ann})
		j.due(61, j.at(70))
	}},
	{"a new pause of another owner, or a longer one, makes no run due later", func(t *fixture) {
		j := t.job("j")
		own := t.catchUpOf(j, 61, 180)
		t.advance(3 * time.Minute)
		j.waits(90)
		other := t.changePause(ledger.PauseChange{Kind: ledger.PauseCatchUp, Selector: ledger.Selector{Owner: "Ops"}, From: j.at(80),
			Until: j.at(200), Actor: ann})
		j.due(90, own.Until)
		for _, end := range []int{170, 210} {
			t.changePause(ledger.PauseChange{ID: other.ID, Until: j.at(end), Actor: ann})
			j.due(90, own.Until)
		}
	}},
	{"a run that waits for the end of a pause stays due then when the clock is set back", func(t *fixture) {
		j := t.job("j")
		pause := t.catchUpOf(j, 61, 400)
		t.advance(3 * time.Minute)
		j.waits(61)
		t.advance(150 * time.Minute)
		t.setClockBack("process-of-j")
		t.heartbeat("process-of-j")
		j.due(61, pause.Until)
	}},
	{"a run due at the end that an operator set does not wait longer when the clock is set back", func(t *fixture) {
		j := t.job("j")
		pause := t.catchUpOf(j, 61, 400)
		t.advance(3 * time.Minute)
		j.waits(61)
		t.advance(150 * time.Minute)
		t.changePause(ledger.PauseChange{ID: pause.ID, End: true, Actor: ann})
		t.advance(time.Second)
		t.setClockBack("process-of-j")
		t.heartbeat("process-of-j")
		t.advance(time.Minute)
		t.claimOne("p1", j.id(61))
	}},
	{"a hold and a pause that have begun last when the clock is set back, and one that is to come begins at its time", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		hold, later := t.holdOf("target-of-j", time.Hour), t.catchUpOf(j, 90, 180)
		t.setClockBack("process-of-j")
		now := t.heartbeat("process-of-j").Now
		t.wantIdle()
		t.advance(time.Minute)
		t.wantIdle()
		list, err := t.Pauses(t.ctx, false)
		t.must(err)
		if got := list[0]; got.From.After(now) || !got.Until.Equal(hold.Until) || got.By != hold.By {
			t.Errorf("%+v, want it to have begun by %s", got, now)
		}
		if got := list[1]; !got.From.Equal(later.From) || !got.Until.Equal(later.Until) {
			t.Errorf("%+v, want it as it was: %+v", got, later)
		}
	}},
	{"a hold whose time is over holds again when the clock is set back, and one that an operator ended does not", func(t *fixture) {
		j := t.job("j")
		j.admit(j.planned(0, ledger.OverlapAllow))
		hold, ended := t.holdOf("target-of-j", time.Hour), t.holdOf("target-of-k", time.Hour)
		t.changePause(ledger.PauseChange{ID: ended.ID, End: true, Actor: ann})
		t.advance(90 * time.Minute)
		if n, err := t.ClosePauses(t.ctx); n != 1 || err != nil {
			t.Fatalf("closed %d, %v", n, err)
		}
		t.setClockBack("process-of-j")
		t.heartbeat("process-of-j")
		t.wantIdle()
		list, err := t.Pauses(t.ctx, false)
		t.must(err)
		if len(list) != 1 || list[0].ID != hold.ID || !list[0].Until.Equal(hold.Until) {
			t.Errorf("%+v, want the hold alone: %+v", list, hold)
		}
		t.changePause(ledger.PauseChange{ID: hold.ID, End: true, Actor: ann})
		t.advance(time.Second)
		t.claimOne("p1", j.id(0))
	}},
	{"a pause stops no backfill, and a hold does", func(t *fixture) {
		j := t.job("j")
		j.admit(j.missed(0), j.missed(1))
		t.must(t.PauseJob(t.ctx, "j", ann))
		t.pauseOf(j, 0, 180, ledger.Selector{})
		t.catchUpOf(j, 0, 180)
		j.backfill(false, 0, 1)
		t.record(succeeded(t.claimOne("p1", j.id(0))))
		hold := t.holdOf("target-of-j", 5*time.Minute)
		t.wantIdle()
		t.changePause(ledger.PauseChange{ID: hold.ID, End: true, Actor: ann})
		t.advance(time.Second)
		t.claimOne("p1", j.id(1))
	}},
	{"a run that is planned ahead is due at its own time when its pause ends before, and waits for a new one", func(t *fixture) {
		j := t.job("j")
		pause := t.catchUpOf(j, 61, 180)
		t.advance(3 * time.Minute)
		j.waits(90)
		t.changePause(ledger.PauseChange{ID: pause.ID, Until: j.at(91), Actor: ann})
		j.due(90, j.at(91))
		again := t.catchUpOf(j, 90, 100)
		j.due(90, again.Until)
		t.changePause(ledger.PauseChange{ID: again.ID, From: j.at(91), Actor: ann})
		j.due(90, pause.From.Add(30*time.Minute))
		t.changePause(ledger.PauseChange{ID: pause.ID, End: true, Actor: ann})
		j.due(90, j.at(90))
		t.wantIdle()
		t.catchUpOf(j, 80, 100)
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

func (t *fixture) wantDue(id string, want time.Time) {
	t.Helper()
	if r := t.wantState(id, ledger.Planned, ""); !r.NextAt.Equal(want) {
		t.Errorf("%s is due at %s, want %s", id, r.NextAt, want)
	}
}
