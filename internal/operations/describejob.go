package operations

import (
	"cmp"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

func (s *Service) describe(j jobs.Job, known map[string]ledger.JobStatus, pauses []ledger.Pause) Job {
	st := known[j.ID]
	pause, hold := Paused(pauses, j, s.now())
	from := s.now()
	if st.Watermark.After(from) { // the clock was set back: what is planned does not run again
		from = st.Watermark
	}
	next := NextRun(pauses, j, from)
	v := Job{
		ID: j.ID, Schedule: j.Schedule, InWords: j.ParsedSchedule().Describe(), Timezone: j.Timezone, DST: string(j.DST),
		Target: j.Target, Method: j.Method, Path: j.Path, Scopes: append([]string{}, j.Scopes...),
		KeyScope: j.KeyScope, Timeout: j.Timeout.String(), Overlap: string(j.Overlap), CatchUp: string(j.CatchUp),
		Acknowledge: string(cmp.Or(j.Acknowledge, jobs.AckByOperator)),
		Enabled:     !j.Disabled, State: StateOf(&j, st.State(), pause), Next: TimeText(next),
		Watermark: TimeText(st.Watermark), PausedAt: actualTime(st.PausedAt), PausedBy: st.PausedBy, PausedWhy: st.PausedWhy,
		LastRun:      runIf(st.LastRun),
		FailingSince: TimeText(st.FailingSince), FailingEarlier: st.FailingEarlier, Dead: st.DeadUnacknowledged,
		Incidents: jobIncidents(st.Incidents),
	}
	v.SlotRun, v.LastOutcome = v.LastRun, v.LastRun // nearly always the same runs
	if st.SlotRun != st.LastRun {
		v.SlotRun = runIf(st.SlotRun)
	}
	if st.LastOutcome != st.LastRun {
		v.LastOutcome = runIf(st.LastOutcome)
	}
	if j.Each != (jobs.Each{}) {
		v.Each = j.Each.String()
	}
	if j.Spread > 0 {
		v.Spread, v.Starts = j.Spread.String(), TimeText(j.DueAt(next))
	}
	v.pausedBy(pause, hold)
	v.Description, v.Owner, v.Labels = j.Description, j.Owner, j.Labels
	if j.Async != (jobs.Async{}) {
		v.Async = &Async{j.Async.Within.String(), j.Async.Poll.String()}
	}
	if j.Disabled || !st.PausedAt.IsZero() {
		v.Next, v.Starts = "", ""
	}
	return v
}

// StateOf is the state of a job, by its registry's definition (nil: it has none), its row in the
// ledger (zero: it has none) and the pause of many jobs that it is in (nil: none).
func StateOf(j *jobs.Job, s ledger.JobState, pause *ledger.Pause) JobState {
	switch {
	case s.Ended && (j == nil || ledger.TemplateOf(s.JobID) != ""):
		return JobEnded
	case j != nil && j.Disabled:
		return JobDisabled
	case pause != nil || !s.PausedAt.IsZero():
		return JobPaused
	case s.JobID == "" || s.Ended:
		return JobNew
	case s.Failing:
		return JobFailing
	}
	return JobActive
}

// pausedBy adds the pause that the job is in, and the hold of its target. A pause of its own goes
// before, as it has no end.
func (j *Job) pausedBy(pause, hold *ledger.Pause) {
	if pause != nil && j.PausedAt == "" {
		j.PausedAt, j.PausedBy, j.PausedWhy, j.PausedUntil = actualTime(pause.From), pause.By, pause.Why, TimeText(pause.Until)
	}
	if hold != nil {
		j.HeldUntil = TimeText(hold.Until)
	}
}
