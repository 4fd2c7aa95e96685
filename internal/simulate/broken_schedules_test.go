package simulate_test

import (
	"context"
	"time"

	"github.com/cronce/cronce/ledger"
)

// amnesiac forgets what a schedule was due to do before a change.
type amnesiac struct{ ledger.Store }

func (s amnesiac) ChangeSchedules(ctx context.Context, c ledger.ChangeSchedules) ([]ledger.ScheduleResult, error) {
	c.Rules = forgottenTimes{c.Rules}
	return s.Store.ChangeSchedules(ctx, c)
}

type forgottenTimes struct{ ledger.ScheduleRules }

func (r forgottenTimes) Plan(s *ledger.Schedule, now time.Time, all bool) (p ledger.Plan, next time.Time, err error) {
	p, next, err = r.ScheduleRules.Plan(s, now, all)
	p.Runs = nil
	return p, next, err
}
