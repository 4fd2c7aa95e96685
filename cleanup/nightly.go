package cleanup

import (
	"context"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// detailLimit is the size to which the ledger keeps a report with an attempt.
const detailLimit = 4 << 10

// Nightly makes the calls of the built-in job jobs.PurgeJobID, in this
// process. A program that embeds cronce routes the calls of jobs.BuiltinTarget to it, as
// the example of package executor shows. A purge that fails in one store fails its run,
// and the retry finds the other stores done.
type Nightly struct{ Purge Purge }

var _ executor.Caller = Nightly{}

// Call purges within nine tenths of the time that the call has; what is left is
// counted, reported, and removed the next night.
func (n Nightly) Call(ctx context.Context, c executor.Call) executor.Answer {
	p := n.Purge
	p.Logger = p.Logger.With("run", c.RunID)
	if deadline, ok := ctx.Deadline(); ok {
		p.Pace.For = max(time.Until(deadline)*9/10, time.Nanosecond)
	}
	report, err := p.Run(ctx)
	a := executor.Answer{Kind: ledger.AnswerFresh, Status: 200, Detail: report.Detail(detailLimit)}
	if err != nil {
		a.Kind, a.Status, a.Error = ledger.AnswerFailed, 0, err.Error()
	}
	return a
}

// overdueAfter is the time for which a nightly purge may go without success before that is
// a problem: one night, and half a day to fix it.
const overdueAfter = 36 * time.Hour

// isOverdue reports whether the purge has gone without success for overdueAfter,
// counted from its last success or, before the first, from when the job was
// first seen. One that is scheduled less often than nightly is overdue half a
// day after the scheduled time that it should have succeeded at.
func isOverdue(j jobs.Job, last, now time.Time) bool {
	if j.Disabled || !now.After(last.Add(overdueAfter)) {
		return false
	}
	next := j.ParsedSchedule().Next(last)
	return !next.IsZero() && now.After(next.Add(12*time.Hour))
}
