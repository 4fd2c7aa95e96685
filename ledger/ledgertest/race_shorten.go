package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

// raceShorten: an event enters a run in a pause that an operator shortens at the same time.
func raceShorten(b *bed) {
	j := b.job("j")
	stores := []ledger.Store{b.Store, b.second()}
	for i := range 20 {
		p := b.changePause(ledger.PauseChange{Kind: ledger.PauseCatchUp, Selector: ledger.Selector{Job: "j"},
			Until: b.idle0().Add(2 * time.Hour).Truncate(time.Second), Actor: ann})
		at := p.From.Add(time.Duration(i) * time.Second)
		in := ledger.RunSpec{RunID: "j@" + at.Format(time.RFC3339), ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule,
			Overlap: ledger.OverlapAllow, Call: call("j")}
		until := p.Until.Add(-time.Hour)
		b.each(stores, 1, func(s ledger.Store, token string) error {
			if token == "race-0-0" {
				_, err := s.Enter(b.ctx, ledger.Entry{JobID: j.JobID, RunSpec: in})
				return err
			}
			_, err := s.ChangePause(b.ctx, ledger.PauseChange{ID: p.ID, Until: until, Actor: ann})
			return err
		})
		if r := b.get(in.RunID); !r.NextAt.Equal(until) {
			b.Errorf("%d: due at %s, want the new end %s", i, r.NextAt, until)
		}
		b.changePause(ledger.PauseChange{ID: p.ID, End: true, Actor: ann})
	}
}
