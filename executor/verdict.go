package executor

import (
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	// onTime is how late an instant may be planned and still count as on
	// time; catchUp judges what is later.
	onTime = 30 * time.Second
	// planLimit bounds the instants that one plan looks at. A longer gap is
	// planned in several, each moving the watermark.
	planLimit = 10_000
	// rangeAbove is how many instants in a row with one verdict get rows of
	// their own; more become one range row.
	rangeAbove = 100
)

// verdict is what planning decides of one instant.
type verdict struct {
	state   ledger.State
	reason  ledger.Reason
	trigger ledger.Trigger
}

// instants judges a job's instants in (after, now], oldest first, and returns
// the rows to write and the instant up to which they account for everything.
// It looks at planLimit instants at most.
func instants(j jobs.Job, after, now time.Time) (rows []ledger.Instant, through time.Time) {
	if through = now.Truncate(time.Second); through.Before(after) {
		through = after
	}
	newest := j.Parsed().Last(now)
	var group []time.Time
	var same verdict
	flush := func() {
		rows = append(rows, grouped(j, group, same)...)
		group = group[:0]
	}
	seen := 0
	for at := range j.Parsed().Due(after, through) {
		if seen++; seen > planLimit {
			break
		}
		v := judgeInstant(j, at, now, newest)
		if v != same || v.state == ledger.Planned {
			flush()
		}
		same = v
		group = append(group, at)
		if seen == planLimit {
			through = at
		}
	}
	flush()
	return rows, through
}

func judgeInstant(j jobs.Job, at, now, newest time.Time) verdict {
	late := now.Sub(at)
	switch {
	case late <= onTime:
		return verdict{state: ledger.Planned, trigger: ledger.BySchedule}
	case late > j.CatchUpWindow:
		return verdict{ledger.Missed, ledger.CatchUpWindow, ledger.BySchedule}
	case j.CatchUp == jobs.CatchUpNone:
		return verdict{ledger.Missed, ledger.CatchUpNone, ledger.BySchedule}
	case j.CatchUp == jobs.CatchUpAll || at.Equal(newest):
		return verdict{state: ledger.Planned, trigger: ledger.ByCatchUp}
	}
	return verdict{ledger.Superseded, ledger.NewerInstant, ledger.BySchedule}
}

// grouped makes the rows of instants that share a verdict.
func grouped(j jobs.Job, at []time.Time, v verdict) []ledger.Instant {
	if len(at) > rangeAbove && v.state != ledger.Planned {
		first, last := at[0], at[len(at)-1]
		return []ledger.Instant{{
			RunID: jobs.RangeID(j.ID, first, last), At: first, Until: last, Count: len(at),
			State: v.state, Reason: v.reason, Trigger: v.trigger,
		}}
	}
	rows := make([]ledger.Instant, 0, len(at))
	for _, t := range at {
		rows = append(rows, row(j, t, v))
	}
	return rows
}

func row(j jobs.Job, at time.Time, v verdict) ledger.Instant {
	in := ledger.Instant{
		RunID: jobs.RunID(j.ID, at), At: at, Count: 1,
		State: v.state, Reason: v.reason, Trigger: v.trigger,
	}
	if v.state == ledger.Planned {
		in.Overlap = ledger.Overlap(j.Overlap)
		if v.trigger == ledger.ByCatchUp && j.CatchUp == jobs.CatchUpAll && j.Overlap == jobs.OverlapSkip {
			in.Overlap = ledger.OverlapQueue // catching up all must not skip its own
		}
		in.Call = CallFor(j, in.RunID, at)
	}
	return in
}

// CallFor freezes what a run of the job sends and the rules of its retries.
func CallFor(j jobs.Job, runID string, at time.Time) ledger.Call {
	return ledger.Call{
		Target:        j.Target,
		Method:        j.Method,
		Path:          j.Path,
		Body:          j.RequestBody(runID, at),
		Scopes:        j.Scopes,
		Timeout:       j.Timeout,
		Backoff:       j.Retry.Backoff,
		Jitter:        j.Retry.Jitter,
		MaxRetryAfter: j.Retry.MaxRetryAfter,
		Horizon:       j.Retry.Horizon,
		MaxInFlight:   j.MaxInFlight,
	}
}
