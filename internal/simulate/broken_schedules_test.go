package simulate_test

import (
	"context"
	"time"

	"github.com/cronce/cronce/internal/simulate"
	"github.com/cronce/cronce/ledger"
)

// ending is a ledger that ends the content of a schedule otherwise than its rules say.
type ending struct {
	ledger.Store
	end func(ledger.Plan) ledger.Plan
}

func endingBy(end func(ledger.Plan) ledger.Plan) simulate.Options {
	return behind(func(s ledger.Store) ending { return ending{s, end} })
}

func (s ending) ChangeSchedules(ctx context.Context, c ledger.ChangeSchedulesRequest) ([]ledger.ScheduleResult, error) {
	c.Rules = endingRules{c.Rules, s.end}
	return s.Store.ChangeSchedules(ctx, c)
}

type endingRules struct {
	ledger.ScheduleRules
	end func(ledger.Plan) ledger.Plan
}

func (r endingRules) Plan(s *ledger.Schedule, now time.Time, all bool) (p ledger.Plan, next time.Time, err error) {
	if p, next, err = r.ScheduleRules.Plan(s, now, all); all {
		p = r.end(p)
	}
	return p, next, err
}

// amnesiac forgets what a schedule was due to do before a change.
func amnesiac(p ledger.Plan) ledger.Plan {
	p.Runs = nil
	return p
}

// withholding forgets it of a schedule that cannot be called.
func withholding(p ledger.Plan) ledger.Plan {
	if len(p.Runs) > 0 && p.Runs[0].Reason == ledger.ReasonNotPlannable {
		p.Runs = nil
	}
	return p
}

// resigning calls nothing that was due before a change.
func resigning(p ledger.Plan) ledger.Plan {
	for i := range p.Runs {
		in := &p.Runs[i]
		in.State, in.Reason, in.Call, in.Lease = ledger.Missed, ledger.ReasonNotPlannable, ledger.CallSpec{}, false
	}
	return p
}
