package schedule

import (
	"iter"
	"time"

	"github.com/robfig/cron/v3"
)

var _ cron.Schedule = (*Schedule)(nil)

// Schedule defines when a job is due. It is a pure function of time: every process and
// every restart computes the same scheduled times. They are in UTC, in whole seconds, and
// in the years 1 to 9999. A Schedule is immutable and safe for concurrent use.
type Schedule struct {
	expr       string
	dst        DST
	zone       *zone
	calendar   calendar
	expression expression
}

// calendar computes the scheduled times of one kind of expression, in Unix seconds between
// earliest and latest; noTime stands for none.
type calendar interface {
	next(from int64) int64 // first scheduled time at or after
	last(upTo int64) int64 // last scheduled time at or before
	count(from, upTo int64) int64
}

const noTime = fromEver

// The years in which scheduled times are looked for: those that RFC 3339 can write.
// The first second is left out, since the zero time means that there is none.
const (
	earliest = -62135596799 // 0001-01-01T00:00:01Z
	latest   = 253402300799 // 9999-12-31T23:59:59Z
)

// Next returns the first scheduled time after t, or the zero time if there is none within
// 400 years. Schedule thereby implements cron.Schedule of github.com/robfig/cron.
func (s *Schedule) Next(t time.Time) time.Time {
	from := t.Unix()
	if from >= latest {
		return time.Time{}
	}
	return scheduledTime(s.calendar.next(max(from+1, earliest)))
}

// Last returns the latest scheduled time at or before t, or the zero time when there
// is none.
func (s *Schedule) Last(t time.Time) time.Time {
	upTo := t.Unix()
	if upTo < earliest {
		return time.Time{}
	}
	return scheduledTime(s.calendar.last(min(upTo, latest)))
}

// Due yields every scheduled time in (after, through], in ascending order.
func (s *Schedule) Due(after, through time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for t := s.Next(after); !t.IsZero() && !t.After(through); t = s.Next(t) {
			if !yield(t) {
				return
			}
		}
	}
}

// Upcoming returns the next n scheduled times after t, fewer where the schedule
// ends.
func (s *Schedule) Upcoming(t time.Time, n int) []time.Time {
	var times []time.Time
	for next := s.Next(t); !next.IsZero() && len(times) < n; next = s.Next(next) {
		times = append(times, next)
	}
	return times
}

// Count returns the number of scheduled times that Due yields for the interval. Its cost
// grows with the months of the interval, not with the number of scheduled times.
func (s *Schedule) Count(after, through time.Time) int {
	if after.Unix() >= latest || through.Unix() < earliest {
		return 0
	}
	from, upTo := max(after.Unix()+1, earliest), min(through.Unix(), latest)
	if from > upTo {
		return 0
	}
	return int(s.calendar.count(from, upTo))
}

// EndingAt returns the schedule without its scheduled times after a time.
func (s *Schedule) EndingAt(end time.Time) *Schedule {
	bounded := *s
	bounded.calendar = ending{s.calendar, end.Unix()}
	return &bounded
}

// ending is a calendar without its scheduled times after a time.
type ending struct {
	calendar
	end int64
}

func (e ending) next(from int64) int64 {
	if at := e.calendar.next(from); at <= e.end {
		return at
	}
	return noTime
}

func (e ending) last(upTo int64) int64 { return e.calendar.last(min(upTo, e.end)) }

func (e ending) count(from, upTo int64) int64 {
	if upTo = min(upTo, e.end); from > upTo {
		return 0
	}
	return e.calendar.count(from, upTo)
}

func scheduledTime(unix int64) time.Time {
	if unix < earliest || unix > latest {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}

// String returns the expression that the schedule was parsed from.
func (s *Schedule) String() string { return s.expr }

// Location returns the time zone of the expression.
func (s *Schedule) Location() *time.Location { return s.zone.loc }
