package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var countCases = []testCase{
	{"Counts tells unfinished, dead unseen, and the oldest due", counts},
	{"Counts: a run that waits for the slot is not due", func(b *fixture) {
		j := b.job("j")
		j.admit(j.leased(0, ledger.OverlapQueue), j.planned(1, ledger.OverlapQueue))
		b.wantLedgerCounts(ledger.Counts{Unfinished: map[ledger.State]int{ledger.Running: 1, ledger.Planned: 1}})
	}},
}

func counts(b *fixture) {
	b.wantLedgerCounts(ledger.Counts{})
	j := b.job("j")
	a := ledger.OverlapAllow
	got := j.admit(j.leased(0, a), j.leased(1, a), j.leased(2, a), j.leased(3, a), j.planned(4, a), j.planned(5, a), j.missed(6))
	ws := got.Leased
	b.record(retrying(ws[0], time.Hour), dead(ws[1], ledger.ReasonPermanent), succeeded(ws[2]))
	want := ledger.Counts{
		Unfinished:         map[ledger.State]int{ledger.Planned: 2, ledger.Running: 1, ledger.Retrying: 1},
		DeadUnacknowledged: 1, OldestDue: j.at(4),
	}
	b.wantLedgerCounts(want)
	b.wantChanged(b.Ack(b.ctx, actionOn(j.id(1))))(j.id(1))
	want.DeadUnacknowledged = 0
	b.wantLedgerCounts(want)
	b.claim("p1", 10)
	b.wantLedgerCounts(ledger.Counts{Unfinished: map[ledger.State]int{ledger.Running: 3, ledger.Retrying: 1}})
}

func (b *fixture) wantLedgerCounts(want ledger.Counts) {
	b.Helper()
	got, err := b.Counts(b.ctx)
	b.must(err)
	for _, s := range ledger.States {
		if got.Unfinished[s] != want.Unfinished[s] {
			b.Errorf("%d %s, want %d", got.Unfinished[s], s, want.Unfinished[s])
		}
		if _, told := got.Unfinished[s]; told == s.Finished() {
			b.Errorf("%+v: want a count of each unfinished state, also of 0, and of no other", got.Unfinished)
		}
	}
	if got.DeadUnacknowledged != want.DeadUnacknowledged || !got.OldestDue.Equal(want.OldestDue) {
		b.Errorf("counts %+v, want %+v", got, want)
	}
}
