package proof

import (
	"context"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// writtenRow describes a row at the time of its write.
type writtenRow struct {
	ledger.Run
	job     jobs.Job
	planned bool      // by a plan, which goes up to through
	through time.Time //
	cut     bool      // the plan ended before its time: later ones follow
	paused  bool
	held    time.Time // a pause keeps it back until then
	taken   bool      // a run of the job had the slot, or waited for it
}

// kept is the row that was written for a scheduled time just now, if it was.
func (w *Witness) kept(ctx context.Context, in ledger.RunSpec, now time.Time) (ledger.Run, bool) {
	r, _, err := w.Store.Get(ctx, in.RunID)
	return r, err == nil && r.PlannedAt.Equal(now)
}

// checkPlan looks at the rows that a plan has written.
func (w *Witness) checkPlan(ctx context.Context, p ledger.Plan, now time.Time) {
	list := w.revisions[p.JobID]
	if len(list) == 0 {
		return
	}
	v := writtenRow{
		job: list[len(list)-1].job, planned: true, through: p.Through,
		cut: len(p.Runs) >= planLimit,
	}
	for _, in := range p.Runs {
		if r, ok := w.kept(ctx, in, now); ok {
			v.Run, v.taken = r, len(w.open[p.JobID]) > 0
			v.paused, v.held = w.pausedAt(p.JobID, p.Traits, r.ScheduledAt)
			w.checkRow(v)
			w.opened(in.Overlap, r)
		}
	}
}

// planLimit is the number of rows that a plan has at most.
const planLimit = 1_000

// checkRow holds a new row against what its job asks for.
func (w *Witness) checkRow(v writtenRow) {
	what := func(rule Rule) {
		w.saw(rule, v.ID, "%s %s, planned up to %s; paused %t, slot taken %t", v.State, v.Reason, stamp(v.through), v.paused, v.taken)
	}
	if v.runs() && v.paused || v.Reason == ledger.ReasonPaused && !v.paused {
		what(Paused)
	}
	if early := v.State == ledger.Running || v.NextAt.Before(v.held); v.runs() && !v.State.Finished() && early && v.PlannedAt.Before(v.held) {
		what(Paused)
	}
	if v.planned && !v.caughtUp() {
		what(CatchUp)
	}
	if v.Reason == ledger.ReasonOverlap && !v.taken {
		what(Unasked)
	}
}

// runs reports whether the scheduled time is to be run, if the slot allows.
func (v writtenRow) runs() bool {
	return v.State == ledger.Planned || v.State == ledger.Running || v.Reason == ledger.ReasonOverlap
}

// caughtUp reports whether a scheduled time that is late, or not, is treated as its
// job's catchUp says. Processes plan up to the second, so that much is open.
func (v writtenRow) caughtUp() bool {
	at := v.ScheduledAt
	if !v.Until.IsZero() {
		at = v.Until
	}
	late, newest := v.through.Sub(v.job.DueAt(at)), !v.job.ParsedSchedule().Last(v.through).After(at)
	if v.State == ledger.Missed || v.State == ledger.Superseded { // a plan ends before a time that its spread delays
		late = max(late, v.PlannedAt.Sub(v.job.DueAt(at)))
	}
	switch {
	case v.Reason == ledger.ReasonCatchUpNone:
		return v.job.CatchUp == jobs.CatchUpNone && (v.cut || late > executor.DefaultOnTime-time.Second)
	case v.Reason == ledger.ReasonCatchUpWindow:
		return v.cut || late > v.job.CatchUpWindow-time.Second
	case v.State == ledger.Superseded:
		return v.job.CatchUp == jobs.CatchUpLatest && (v.cut || !newest && late > executor.DefaultOnTime-time.Second)
	case !v.runs(), late <= executor.DefaultOnTime:
		return true
	}
	return late <= v.job.CatchUpWindow && v.job.CatchUp != jobs.CatchUpNone && (v.job.CatchUp == jobs.CatchUpAll || newest)
}

// opened notes that a new row has its job's slot or waits for it.
func (w *Witness) opened(o ledger.Overlap, r ledger.Run) {
	if !r.State.Finished() && o != ledger.OverlapAllow && !ledger.IsAdHoc(r.ID) {
		w.hold(r.JobID, r.ID)
	}
}

func (w *Witness) hold(jobID, runID string) {
	if w.open[jobID] == nil {
		w.open[jobID] = map[string]bool{}
	}
	w.open[jobID][runID] = true
}
