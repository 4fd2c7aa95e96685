package simulate_test

import (
	"context"
	"slices"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/simulate"
	"github.com/cronce/cronce/ledger"
)

// Broken parts of long work.

// unslotted frees the slot of a run that is accepted: the job's next scheduled times
// find none taken.
func unslotted(s *store) {
	accepted := map[string]bool{} // jobs
	s.record = func(s *store, ctx context.Context, outcomes []ledger.Outcome) ([]ledger.RecordResult, error) {
		for _, o := range outcomes {
			if o.State == ledger.Accepted {
				run, _, err := s.Get(ctx, o.RunID)
				if err != nil {
					return nil, err
				}
				accepted[run.JobID] = true
			}
		}
		return s.Store.Record(ctx, outcomes)
	}
	s.admit = func(s *store, ctx context.Context, a ledger.Admission) (ledger.Admitted, error) {
		a.Plans = slices.Clone(a.Plans)
		for p := range a.Plans {
			a.Plans[p].Runs = slices.Clone(a.Plans[p].Runs)
			for i := range a.Plans[p].Runs {
				if accepted[a.Plans[p].JobID] {
					a.Plans[p].Runs[i].Overlap = ledger.OverlapAllow
				}
			}
		}
		return s.Store.Admit(ctx, a)
	}
}

// spending uses up all retries by an acceptance.
func spending(_ *store, o *ledger.Outcome) {
	if o.State == ledger.Accepted {
		o.Failures = 100
	}
}

// credulous takes "accepted" for "done".
func credulous(inner executor.Caller, _ simulate.World) executor.Caller {
	return callerFunc(func(ctx context.Context, c executor.Call) executor.Answer {
		a := inner.Call(ctx, c)
		if a.Kind == ledger.AnswerAccepted {
			a.Kind = ledger.AnswerFresh
		}
		return a
	})
}
