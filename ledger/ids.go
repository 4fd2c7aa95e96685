package ledger

import (
	"strings"
	"time"
)

// cutID returns the part of a run ID before its scheduled time, and the rest from that on.
func cutID(runID string) (job, at string, ok bool) { return strings.Cut(runID, "@") }

// JobOf returns the job of a run, or of a range row, by its ID.
func JobOf(runID string) string {
	job, _, _ := cutID(runID)
	return JobOfID(job)
}

// RunIDRange returns bounds of the ids of a job's rows from one scheduled time to
// another, both included and each open when zero: from <= id < below in byte order.
// A row in these bounds is one of the job's, but may be one second outside of them.
//
// An id begins with its job's id, "@" and its scheduled time (see RunSpec.RunID), all
// scheduled times are of one length, and no job's id has an "@". So the ids of a job
// are adjacent, separate from those of every other job, and in the order of time:
// one index by id finds a run, a job's runs and its newest.
func RunIDRange(jobID string, first, last time.Time) (from, below string) {
	from, below = jobID+"@", jobID+"A" // A follows @
	if fitsRunID(first) {
		from += secondText(first)
	}
	if fitsRunID(last) {
		below = jobID + "@" + secondText(last) + "\x7f" // follows the ~ and the / after a scheduled time
	}
	return from, below
}

// RunIDInterval returns bounds of the ids of a job's rows scheduled in [since,
// until), and of no others: scheduled times are in whole seconds.
func RunIDInterval(jobID string, since, until time.Time) (from, below string) {
	from, below = RunIDRange(jobID, wholeSecond(since), time.Time{})
	if until = wholeSecond(until); fitsRunID(until) {
		below = jobID + "@" + secondText(until)
	}
	return from, below
}

// wholeSecond returns the first whole second at or after t.
func wholeSecond(t time.Time) time.Time {
	if t.Nanosecond() == 0 {
		return t
	}
	return t.Truncate(time.Second).Add(time.Second)
}

// IDBounds returns bounds of the ids that a filter by job can select, as RunIDRange
// does.
func (f Filter) IDBounds() (from, below string) {
	last := f.Until
	if f.Before != nil && (last.IsZero() || f.Before.ScheduledAt.Before(last)) {
		last = f.Before.ScheduledAt
	}
	return RunIDRange(f.JobID, f.Since, last)
}

// fitsRunID reports whether a time can be written with a year of four digits.
func fitsRunID(t time.Time) bool {
	year := t.UTC().Year()
	return !t.IsZero() && 0 <= year && year <= 9999
}

// secondText leaves out fractions of a second.
func secondText(t time.Time) string { return t.UTC().Format(time.RFC3339) }
