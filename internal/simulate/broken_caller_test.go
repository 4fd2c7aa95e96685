package simulate_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/internal/simulate"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

type callerFunc func(context.Context, executor.Call) executor.Answer

func (f callerFunc) Call(ctx context.Context, c executor.Call) executor.Answer { return f(ctx, c) }

// trusting takes a timeout for a success.
func trusting(inner executor.Caller, _ simulate.World) executor.Caller {
	return callerFunc(func(ctx context.Context, c executor.Call) executor.Answer {
		a := inner.Call(ctx, c)
		if a.Kind == ledger.AnswerUnknown {
			a.Kind = ledger.AnswerFresh
		}
		return a
	})
}

// impatient takes "in progress" for a success.
func impatient(inner executor.Caller, _ simulate.World) executor.Caller {
	return callerFunc(func(ctx context.Context, c executor.Call) executor.Answer {
		a := inner.Call(ctx, c)
		if a.Kind == ledger.AnswerInProgress {
			a.Kind = ledger.AnswerReplayed
		}
		return a
	})
}

func clockKey(c executor.Call, w simulate.World) string {
	return c.JobID + "@" + w.Now().Format(time.RFC3339)
}

func attemptKey(c executor.Call, _ simulate.World) string { return fmt.Sprint(c.RunID, "#", c.Attempt) }

// functionKey is another for each call of a job that no ledger has.
func functionKey(c executor.Call, w simulate.World) string {
	if c.JobID == "fn" {
		return clockKey(c, w)
	}
	return c.RunID
}

func unfloored(_ *schedule.Schedule, at time.Time) time.Time { return at.Truncate(time.Second) }

func newestSchedule(_ *proof.Witness, j jobs.Job, from, to time.Time) []time.Time {
	return slices.Collect(j.ParsedSchedule().Due(from, to))
}
