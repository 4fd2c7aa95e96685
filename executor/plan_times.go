package executor

import (
	"time"

	"github.com/cronce/cronce/internal/clocks"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	// planLimit bounds the runs of one plan. A longer backlog that is to be
	// caught up is planned in several, each moving the watermark.
	planLimit = 1_000
	// rangeAbove is the number of scheduled times in one state that get rows of their own;
	// more become one range row, so that a gap of any length is cheap.
	rangeAbove = 100
)

// planTimes decides about a job's scheduled times in (after, due], oldest first, and returns
// the rows to write and the scheduled time up to which they account for everything. due
// is now, or before the scheduled time whose delay has not passed.
//
// Time falls into three parts: what is older than the job's catch-up window,
// however short, is missed, what is late follows the catchUp rule, what is on time
// is planned.
func planTimes(j jobs.Job, after, now, due time.Time, onTime time.Duration) (rows []ledger.RunSpec, through time.Time) {
	s := j.ParsedSchedule()
	windowStart := clocks.Later(after, j.DueBy(now.Add(-j.CatchUpWindow).Add(-1))) // the window's own end is in it
	onTimeFrom := clocks.Later(after, j.DueBy(now.Add(-onTime).Add(-1)))
	rows = notRun(j, after, windowStart, ledger.Missed, ledger.ReasonCatchUpWindow, rangeAbove)
	if windowStart.Before(onTimeFrom) {
		rows = append(rows, lateRows(j, windowStart, onTimeFrom, due)...)
	}
	if n := len(rows); n > planLimit {
		return rows[:planLimit], rows[planLimit-1].ScheduledAt
	}
	for at := range s.Due(clocks.Later(windowStart, onTimeFrom), due) {
		rows = append(rows, planned(j, at, ledger.BySchedule))
	}
	return rows, clocks.Later(after, due.Truncate(time.Second))
}

// lateRows applies the job's catchUp rule to (from, to]; the scheduled times up to due are due.
func lateRows(j jobs.Job, from, to, due time.Time) (rows []ledger.RunSpec) {
	s := j.ParsedSchedule()
	switch j.CatchUp {
	case jobs.CatchUpNone:
		return notRun(j, from, to, ledger.Missed, ledger.ReasonCatchUpNone, rangeAbove)
	case jobs.CatchUpAll:
		for at := range s.Due(from, to) {
			if rows = append(rows, planned(j, at, ledger.ByCatchUp)); len(rows) > planLimit {
				break
			}
		}
		return rows
	}
	newest := s.Last(due)
	if !newest.After(from) {
		return nil
	}
	if newest.After(to) {
		return notRun(j, from, to, ledger.Superseded, ledger.ReasonNewerRun, rangeAbove)
	}
	rows = notRun(j, from, newest.Add(-1), ledger.Superseded, ledger.ReasonNewerRun, rangeAbove)
	return append(rows, planned(j, newest, ledger.ByCatchUp))
}

// notRun makes the rows of the scheduled times in (from, to], which do not run: rows of their
// own for up to limit, else a range row.
func notRun(j jobs.Job, from, to time.Time, state ledger.State, reason ledger.Reason, limit int) (rows []ledger.RunSpec) {
	if !from.Before(to) {
		return nil
	}
	s := j.ParsedSchedule()
	row := ledger.RunSpec{Count: 1, State: state, Reason: reason, Trigger: ledger.BySchedule}
	if n := s.Count(from, to); n > limit {
		row.ScheduledAt, row.Until, row.Count = s.Next(from), s.Last(to), n
		row.RunID = jobs.RangeID(j.ID, row.ScheduledAt, row.Until)
		return []ledger.RunSpec{row}
	}
	for at := range s.Due(from, to) {
		row.ScheduledAt, row.RunID = at, jobs.RunID(j.ID, at)
		rows = append(rows, row)
	}
	return rows
}

// planned makes the row of a scheduled time that runs.
func planned(j jobs.Job, at time.Time, trigger ledger.Trigger) ledger.RunSpec {
	in := ledger.RunSpec{
		RunID: jobs.RunID(j.ID, at), ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: trigger,
		Overlap: ledger.Overlap(j.Overlap),
	}
	if trigger == ledger.ByCatchUp && j.CatchUp == jobs.CatchUpAll && j.Overlap == jobs.OverlapSkip {
		in.Overlap = ledger.OverlapQueue // what is caught up must not skip its own kind
	}
	in.Call = FrozenCall(j, in.RunID, at)
	in.Call.Delay = j.DueAt(at).Sub(at)
	return in
}

// TraitsOf returns what pauses select a job by.
func TraitsOf(j jobs.Job) ledger.Traits {
	return ledger.Traits{Target: j.Target, Owner: j.Owner, Labels: j.Labels}
}

// FrozenCall returns what a run of the job sends and the rules of its retries, to be
// stored in the run's row. at is the run's scheduled time.
func FrozenCall(j jobs.Job, runID string, at time.Time) ledger.CallSpec {
	var each *ledger.Each
	form := string(j.Key.Form)
	if e := j.Each; e != (jobs.Each{}) {
		form = parentForm + form
		each = &ledger.Each{Path: e.Path, Items: e.Items, Max: e.Max, InFlight: e.InFlight}
	}
	return ledger.CallSpec{
		Each:          each,
		Target:        j.Target,
		Method:        j.Method,
		Path:          j.Path,
		Body:          j.RequestBody(runID, at),
		Scopes:        j.Scopes,
		KeyHeader:     j.Key.Header,
		KeyForm:       form,
		Headers:       j.RequestHeaders(runID, at),
		Timeout:       j.Timeout,
		Backoff:       j.Retry.Backoff,
		Jitter:        j.Retry.Jitter,
		MaxRetryAfter: j.Retry.MaxRetryAfter,
		Horizon:       j.Retry.Horizon,
		KeySafeFor:    j.KeySafeFor(),
		MaxInFlight:   j.MaxInFlight,
		Within:        j.Async.Within,
		Poll:          j.Async.Poll,
		StartWithin:   j.Alarm.StartWithin,
		FinishWithin:  j.Alarm.FinishWithin,
		Heartbeat:     j.HeartbeatURLEnv != "",
		AckEarlier:    j.Acknowledge == jobs.AckBySuccess,
	}
}
