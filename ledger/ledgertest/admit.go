package ledgertest

import (
	"github.com/cronce/cronce/ledger"
)

var admitCases = []testCase{
	{"a job never seen before begins at epoch 1, watermark now", beginsNow},
	{"each instant has one row and the watermark moves in the same admission", admitsOnce},
}

// A job's first watermark is the time at which it is first seen.
func beginsNow(b *bed) {
	b.declare("p1", "v1", "j")
	pulse, err := b.Beat(b.ctx, "p1")
	b.must(err)
	s := b.standings("v1")["j"]
	if s.Epoch != 1 || s.Watermark.Before(pulse.Now) || s.Hash != "v1" || s.Winner != "v1" {
		b.Errorf("standing %+v, want epoch 1 of v1 with a watermark not before %s", s, pulse.Now)
	}
}

// The rows and the watermark that passes them are one transaction.
func admitsOnce(b *bed) {
	j := b.job("j")
	j.admit(j.planned(0, ledger.OverlapAllow), j.planned(1, ledger.OverlapAllow))
	b.is(j.id(0), ledger.Planned, "")
	b.is(j.id(1), ledger.Planned, "")
	if w := j.next().Watermark; !w.Equal(j.at(1)) {
		b.Errorf("watermark %s, want %s", w, j.at(1))
	}
}
