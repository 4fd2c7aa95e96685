package executor

import (
	"cmp"
	"fmt"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

// scheduleRules are the ledger.ScheduleRules of a registry's templates.
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
	return t.JobOf(jobs.KeyedSchedule{
		Key: s.Key(), Schedule: s.Expr, Timezone: s.Timezone, DST: schedule.DST(s.DST), Data: s.Data, Until: s.Until,
	}, r.cache)
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
	if !last.After(earliest) || now.Sub(last) > window {
		return now, fmt.Errorf("its only scheduled time, %s, has passed; the template runs it up to %s late",
			last.Format(time.RFC3339), window)
	}
	return last.Add(-time.Second), nil
}

// Plan judges the scheduled times as those of a job.
func (r scheduleRules) Plan(s *ledger.Schedule, now time.Time, all bool) (p ledger.Plan, next time.Time, err error) {
	j, err := r.job(s)
	if err != nil {
		return p, next, err
	}
	due := now
	if !all {
		due = j.DueBy(now)
	}
	p = planJob(j, ledger.Position{JobID: s.JobID, Revision: s.Revision, Watermark: s.Watermark}, now, due, r.onTime)
	return p, j.NextDue(p.Through), nil
}

// Next returns when the first scheduled time after the watermark is due.
func (r scheduleRules) Next(s *ledger.Schedule) (time.Time, error) {
	j, err := r.job(s)
	if err != nil {
		return time.Time{}, err
	}
	return j.NextDue(s.Watermark), nil
}
