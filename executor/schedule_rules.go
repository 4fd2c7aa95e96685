package executor

import (
	"cmp"
	"fmt"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// scheduleRules are the ledger.ScheduleRules of a registry's templates: a schedule is planned as a
// job of the registry, with the template's definition.
type scheduleRules struct {
	registry *jobs.Registry
	onTime   time.Duration
	cache    *jobs.ScheduleCache
}

// ScheduleRules returns the rules by which the schedules of a registry's templates are made
// and planned. onTime is that of a Config; 0: its default.
func ScheduleRules(r *jobs.Registry, onTime time.Duration) ledger.ScheduleRules {
	if onTime <= 0 {
		onTime = DefaultOnTime
	}
	return scheduleRules{r, onTime, new(jobs.ScheduleCache)}
}

// job returns the job that a schedule makes of its template.
func (r scheduleRules) job(s *ledger.Schedule) (jobs.Job, error) {
	t, known := r.registry.Template(s.Template())
	if !known {
		return jobs.Job{}, fmt.Errorf("the registry has no template %q", s.Template())
	}
	return t.JobOf(keyedOf(s), r.cache)
}

// keyedOf returns a schedule as a job, by its template in the registry.
func keyedOf(s *ledger.Schedule) jobs.KeyedSchedule {
	return jobs.KeyedSchedule{
		Key: s.Key(), Schedule: s.Expr, Timezone: s.Timezone, DST: schedule.DST(s.DST), Data: s.Data, Until: s.Until,
	}
}

// Begin lets new content begin now. A single scheduled time that has just passed is still to
// run, within the window in which the template would catch it up, and in which the ledger
// still knows whether it has run.
func (r scheduleRules) Begin(s *ledger.Schedule, earliest, now time.Time) (time.Time, error) {
	j, err := r.job(s)
	if err != nil {
		return now, err
	}
	t, _ := r.registry.Template(s.Template())
	window := min(j.CatchUpWindow, cmp.Or(t.Retention, r.registry.Cleanup().LedgerRetention))
	if j.CatchUp == jobs.CatchUpNone {
		window = r.onTime
	}
	times := j.ParsedSchedule()
	last := times.Last(now)
	if last.IsZero() || !times.Next(now).IsZero() || !times.Last(last.Add(-time.Second)).IsZero() {
		return now, nil
	}
	if !last.After(earliest) {
		return now, fmt.Errorf("its only scheduled time, %s, is not after %s, up to which the times of this key are planned; use a later one, "+
			"or another key", last.Format(time.RFC3339), earliest.UTC().Format(time.RFC3339))
	}
	if now.Sub(last) > window {
		return now, fmt.Errorf("its only scheduled time, %s, has passed; the template runs it up to %s late",
			last.Format(time.RFC3339), window)
	}
	return last.Add(-time.Second), nil
}

// Plan treats the scheduled times as those of a job.
func (r scheduleRules) Plan(s *ledger.Schedule, now time.Time, all bool) (p ledger.Plan, next time.Time, err error) {
	j, err := r.job(s)
	switch {
	case all && (err != nil || j.Disabled):
		return r.lastPlan(s, now), next, nil
	case err != nil:
		return p, next, err
	}
	due := now
	if !all {
		due = j.DueBy(now)
	}
	p = planJob(j, positionOf(s), now, due, r.onTime)
	return p, j.NextDue(p.Through), nil
}

func positionOf(s *ledger.Schedule) ledger.Position {
	return ledger.Position{JobID: s.JobID, Revision: s.Revision, Watermark: s.Watermark}
}

// lastPlanRows is the number of missed times of a schedule that get rows of their own, which a
// backfill can take after a change. More become one range row: 500 schedules may be changed at
// once.
const lastPlanRows = 10

// lastPlan accounts for the scheduled times of a schedule that ends and cannot be called: they
// are missed, or skipped if the template is disabled. Of a schedule whose expression or time
// zone is unknown here, a range row that counts 1 has all times.
func (r scheduleRules) lastPlan(s *ledger.Schedule, now time.Time) ledger.Plan {
	t, _ := r.registry.Template(s.Template())
	state, reason := ledger.Missed, ledger.ReasonNotPlannable
	if t.Disabled {
		state, reason = ledger.Skipped, ledger.ReasonPaused
	}
	t.ID = s.Template()
	if j, _ := t.JobOf(keyedOf(s), r.cache); j.ParsedSchedule() != nil {
		return jobPlan(j, positionOf(s), notRun(j, s.Watermark, now, state, reason, lastPlanRows), now)
	}
	p := ledger.Plan{JobID: s.JobID, Traits: TraitsOf(t.Job), Revision: s.Revision, After: s.Watermark, Through: now}
	first, last := s.Watermark.Truncate(time.Second).Add(time.Second), now.Truncate(time.Second)
	if !first.After(last) {
		p.Runs = []ledger.RunSpec{{
			RunID: jobs.RangeID(s.JobID, first, last), ScheduledAt: first, Until: last, Count: 1,
			State: state, Reason: reason, Trigger: ledger.BySchedule,
		}}
	}
	return p
}

// Next returns when the first scheduled time after the watermark is due.
func (r scheduleRules) Next(s *ledger.Schedule) (time.Time, error) {
	j, err := r.job(s)
	if err != nil {
		return time.Time{}, err
	}
	return j.NextDue(s.Watermark), nil
}
