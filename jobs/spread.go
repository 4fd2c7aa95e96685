package jobs

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/cronce/cronce/jobs/internal/field"
	"github.com/cronce/cronce/schedule"
)

// DueAt returns the time at which the run of a scheduled time is due to start: the
// scheduled time plus a delay of less than Spread. The delay is a pure function of
// Spread, the registry's name, the job's ID, the scheduled time and the next scheduled
// time. It is the first eight bytes of the SHA-256 of "<registry> <run ID>", as a
// big-endian number, modulo the seconds of Spread, or of the time to the next scheduled
// time if a clock change makes that shorter.
//
// DueAt and Registry.NextDue return times at which runs start. NextRun and DueBy return
// scheduled times, without the delay.
func (j Job) DueAt(at time.Time) time.Time {
	window := j.Spread
	if window <= 0 || at.IsZero() {
		return at
	}
	if next := j.schedule.Next(at); !next.IsZero() {
		window = min(window, next.Sub(at))
	}
	text := append(make([]byte, 0, 2*MaxRunIDLength), j.registry...)
	text = append(append(text, ' '), j.ID...)
	sum := sha256.Sum256(appendTime(append(text, '@'), at))
	return at.Add(time.Duration(binary.BigEndian.Uint64(sum[:8])%uint64(window/time.Second)) * time.Second)
}

// DueBy returns the time up to which the runs of all scheduled times are due to start at
// t, or were before. It is the latest such time. Without Spread that is t.
func (j Job) DueBy(t time.Time) time.Time {
	if j.Spread <= 0 {
		return t
	}
	if last := j.schedule.Last(t); j.DueAt(last).After(t) {
		return last.Add(-1)
	}
	return t
}

// NextRun returns the scheduled time of the first run that is due to start after t. With
// Spread, this scheduled time may be before t; the run starts at DueAt of it. It is the
// zero time if there is none.
func (j Job) NextRun(t time.Time) time.Time { return j.schedule.Next(j.DueBy(t)) }

// NextDue does what Job.NextDue does, for the job at index i.
func (r *Registry) NextDue(i int, after time.Time) time.Time {
	j := r.At(i)
	return j.NextDue(after)
}

// NextDue returns the time at which the run of the first scheduled time after a time is
// due to start: DueAt of that scheduled time. If a local time that
// a clock change skips comes first (see schedule.Gaps), it returns the end of the gap, so
// that the gap is reported when it happens. It returns the zero time if there is neither,
// within ten years for a gap.
func (j *Job) NextDue(after time.Time) time.Time {
	next := j.schedule.Next(after)
	end := next
	if next.IsZero() {
		end = after.AddDate(10, 0, 0)
	} else {
		next = j.DueAt(next)
	}
	for g := range j.schedule.Gaps(after, end) {
		at := g.At
		if last := j.schedule.Last(at); j.Spread > 0 && j.DueAt(last).After(at) {
			at = j.DueAt(last) // an earlier scheduled time whose run has not started
		}
		if next.IsZero() || at.Before(next) {
			return at
		}
		break
	}
	return next
}

// gap is the shortest time between two scheduled times of a schedule, and the first of
// the two.
type gap struct {
	length time.Duration
	from   time.Time
}

// gapTimes is the number of scheduled times that are searched for the shortest gap: a year of
// daily ones. DueAt sees to a shorter one that comes later.
const gapTimes = 400

// shortestGap looks at fixed times, so that a registry is judged alike on every day.
func (d *draft) shortestGap(j Job) gap {
	key := timing{j.Schedule, j.Timezone, j.DST}
	if known, ok := d.gaps[key]; ok {
		return known
	}
	shortest := shortestGap(j.schedule)
	d.gaps[key] = shortest
	return shortest
}

// shortestGap returns the shortest time between two of the gapTimes scheduled times after a fixed start.
func shortestGap(s *schedule.Schedule) (shortest gap) {
	var before time.Time
	for _, at := range s.Upcoming(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Second), gapTimes) {
		if length := at.Sub(before); !before.IsZero() && (shortest.length == 0 || length < shortest.length) {
			shortest = gap{length, before}
		}
		before = at
	}
	return shortest
}

// MaxSpread returns the longest Spread that a job with the schedule can have.
func MaxSpread(s *schedule.Schedule) time.Duration {
	if g := shortestGap(s); g.length > 0 {
		return min(g.length, maxWait)
	}
	return maxWait
}

func (d *draft) checkSpread(path string, j Job) {
	d.Between(path, j.Spread, 0, maxWait)
	switch {
	case j.Spread <= 0:
	case j.Spread%time.Second != 0:
		d.Add(path, field.BadDuration, "spread %s is not a number of whole seconds; use e.g. 30s or 5m", j.Spread)
	case j.schedule != nil:
		if g := d.shortestGap(j); g.length > 0 && j.Spread > g.length {
			d.Add(path, field.BadDuration,
				"spread %s is longer than %s, the shortest time between two scheduled times (%s and %s); set at most %[2]s",
				j.Spread, g.length, timeText(g.from), timeText(g.from.Add(g.length)))
		}
	}
}
