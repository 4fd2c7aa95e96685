package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var countCases = []testCase{
	{"Counts tells unfinished, dead unseen, and the oldest due", counts},
	{"Counts: a run that waits for the slot is not due", func(t *fixture) {
		j := t.job("j")
		j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue))
		t.wantLedgerCounts(ledger.Counts{Unfinished: map[ledger.State]int{ledger.Running: 1, ledger.Planned: 1}})
	}},
}

func counts(t *fixture) {
	t.wantLedgerCounts(ledger.Counts{})
	j := t.job("j")
	a := ledger.OverlapAllow
	got := j.admit(j.leased(0, a), j.leased(1, a), j.leased(2, a), j.leased(3, a), j.planned(4, a), j.planned(5, a), j.missed(6))
	ws := got.Leased
	t.record(retrying(ws[0], time.Hour), dead(ws[1], ledger.ReasonPermanent), succeeded(ws[2]))
	want := ledger.Counts{
		Unfinished:         map[ledger.State]int{ledger.Planned: 2, ledger.Running: 1, ledger.Retrying: 1},
		DeadUnacknowledged: 1, OldestDue: j.at(4),
	}
	t.wantLedgerCounts(want)
	t.wantChanged(t.Ack(t.ctx, actionOn(j.id(1))))(j.id(1))
	want.DeadUnacknowledged = 0
	t.wantLedgerCounts(want)
	t.claim("p1", 10)
	t.wantLedgerCounts(ledger.Counts{Unfinished: map[ledger.State]int{ledger.Running: 3, ledger.Retrying: 1}})
}

func (t *fixture) wantLedgerCounts(want ledger.Counts) {
	t.Helper()
	got, err := t.Counts(t.ctx)
	t.must(err)
	for _, s := range ledger.States {
		if got.Unfinished[s] != want.Unfinished[s] {
			t.Errorf("%d %s, want %d", got.Unfinished[s], s, want.Unfinished[s])
		}
		if _, told := got.Unfinished[s]; told == s.Finished() {
			t.Errorf("%+v: want a count of each unfinished state, also of 0, and of no other", got.Unfinished)
		}
	}
	if got.DeadUnacknowledged != want.DeadUnacknowledged || !got.OldestDue.Equal(want.OldestDue) {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}
