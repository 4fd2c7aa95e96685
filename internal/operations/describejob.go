package operations

import (
	"cmp"
	"context"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// JobDescription is the state of a job, and when it runs next. The API, the dashboard and the
// command line all show what it has.
type JobDescription struct {
	ID    string
	Job   *jobs.Job // of the registry; nil: it lacks the job
	State JobState
	// Pause is the pause that the job is in; zero: none. The job's own has no end, and goes before
	// those of many jobs.
	Pause     ledger.Pause
	HeldUntil time.Time // nothing is sent to its target until then
	// Next is the first scheduled time to come that is not in a pause, and Starts the time at which
	// its run starts, by the job's spread. Both are zero if there is none, or if the job is disabled or
	// unfit, has ended or is paused without an end.
	Next, Starts time.Time
}

// DescribeJob describes a job by its registry's definition (nil: it has none; a template's has no
// schedule), the ledger's row (zero: it has none) and the pauses of many jobs.
func DescribeJob(j *jobs.Job, s ledger.JobStatus, pauses []ledger.Pause, now time.Time) JobDescription {
	d := DescribeState(j, s.State(), pauses, now)
	if !s.PausedAt.IsZero() {
		d.Pause.By, d.Pause.Why = s.PausedBy, s.PausedWhy
	}
	return d
}

// DescribeState is DescribeJob for a list of very many jobs: it lacks who paused a job alone, and why.
func DescribeState(j *jobs.Job, s ledger.JobState, pauses []ledger.Pause, now time.Time) JobDescription {
	d := JobDescription{ID: s.JobID, Job: j}
	var pause *ledger.Pause
	if j != nil {
		var hold *ledger.Pause
		if pause, hold = Paused(pauses, *j, now); hold != nil {
			d.HeldUntil = hold.Until
		}
		d.ID = j.ID
	}
	d.State = stateOf(j, s, pause)
	switch {
	case !s.PausedAt.IsZero():
		d.Pause.From = s.PausedAt
	case pause != nil:
		d.Pause = *pause
	}
	if j == nil || j.ParsedSchedule() == nil || d.State == JobDisabled || d.State == JobUnfit || d.State == JobEnded || !s.PausedAt.IsZero() {
		return d
	}
	if s.Watermark.After(now) { // the clock was set back: what is planned does not run again
		now = s.Watermark
	}
	if d.Next = NextRun(pauses, *j, now); !d.Next.IsZero() {
		d.Starts = j.DueAt(d.Next)
	}
	return d
}

// jobOf returns a job as the API has it.
func (s *Service) jobOf(ctx context.Context, j jobs.Job, st ledger.JobStatus, pauses []ledger.Pause) Job {
	d := DescribeJob(&j, st, pauses, s.now())
	v := Job{
		ID: j.ID, Schedule: j.Schedule, InWords: j.ParsedSchedule().Describe(), Timezone: j.Timezone, DST: string(j.DST),
		Target: j.Target, Method: j.Method, Path: j.Path, Scopes: append([]string{}, j.Scopes...),
		KeyScope: j.KeyScope, Timeout: j.Timeout.String(), Overlap: string(j.Overlap), CatchUp: string(j.CatchUp),
		Acknowledge: string(cmp.Or(j.Acknowledge, jobs.AckByOperator)),
		Enabled:     !j.Disabled, State: d.State, Next: TimeText(d.Next), Watermark: TimeText(st.Watermark),
		PausedAt: actualTime(d.Pause.From), PausedBy: d.Pause.By, PausedWhy: d.Pause.Why, PausedUntil: TimeText(d.Pause.Until),
		HeldUntil: TimeText(d.HeldUntil), LastRun: runIf(ctx, st.LastRun),
		FailingSince: TimeText(st.FailingSince), FailingEarlier: st.FailingEarlier, Dead: st.DeadUnacknowledged,
		Incidents: jobIncidents(st.Incidents), Description: j.Description, Owner: j.Owner, Labels: j.Labels,
	}
	v.SlotRun, v.LastOutcome = v.LastRun, v.LastRun // nearly always the same runs
	if st.SlotRun != st.LastRun {
		v.SlotRun = runIf(ctx, st.SlotRun)
	}
	if st.LastOutcome != st.LastRun {
		v.LastOutcome = runIf(ctx, st.LastOutcome)
	}
	if j.Each != (jobs.Each{}) {
		v.Each = j.Each.String()
	}
	if j.Spread > 0 {
		v.Spread, v.Starts = j.Spread.String(), TimeText(d.Starts)
	}
	if j.Async != (jobs.Async{}) {
		v.Async = &Async{j.Async.Within.String(), j.Async.Poll.String()}
	}
	return v
}

// stateOf returns the state of a job. j is its definition in the registry (nil: it has none), s its state in the ledger
// (zero: it has none), and pause the pause of many jobs that it is in (nil: none). The order of the cases decides: a
// job that is disabled and paused is disabled.
func stateOf(j *jobs.Job, s ledger.JobState, pause *ledger.Pause) JobState {
	switch {
	case s.Ended && (j == nil || ledger.TemplateOf(s.JobID) != ""):
		return JobEnded
	case j != nil && j.Disabled:
		return JobDisabled
	case j != nil && j.Unfit() != "":
		return JobUnfit
	case pause != nil || !s.PausedAt.IsZero():
		return JobPaused
	case s.JobID == "" || s.Ended:
		return JobNew
	case s.Failing:
		return JobFailing
	}
	return JobActive
}
