package schedule

import (
	"errors"
	"slices"
	"time"
)

// shiftYears is for how long after its release the offsets of a time zone database are
// kept with a job. A program that runs longer than that with one database is planned
// for by the next one's offsets.
const shiftYears = 5

// Shifts returns the offsets of the zone from the release of the time zone database on:
// a Unix time and the offset from then on in seconds, again and again, and at last the
// time up to which they are known. It is nil for UTC. WithShifts reads them.
func (s *Schedule) Shifts() []int64 {
	if s.Location() == time.UTC {
		return nil
	}
	from := ZonesReleased()
	end := from.AddDate(shiftYears, 0, 0).Unix()
	var shifts []int64
	for at := from.Unix(); at < end; {
		e := s.zone.at(at)
		shifts = append(shifts, at, e.offset)
		at = e.end
	}
	return append(shifts, end)
}

// WithShifts returns the schedule as it is in another release of the time zone
// database, whose Shifts are given. Outside of their time it is as it was. It returns an
// error if they are not what Shifts returns.
func (s *Schedule) WithShifts(shifts []int64) (*Schedule, error) {
	if slices.Equal(shifts, s.Shifts()) || len(shifts) == 0 {
		return s, nil
	}
	if len(shifts) < 3 || len(shifts)%2 == 0 || shifts[0] < tableFrom || shifts[len(shifts)-1] > tableTo {
		return nil, errors.New("the offsets of its time zone are damaged")
	}
	for i := 2; i < len(shifts); i += 2 {
		if shifts[i] <= shifts[i-2] || shifts[i-1] < -day || shifts[i-1] > day {
			return nil, errors.New("the offsets of its time zone are damaged")
		}
	}
	other := *s
	other.zone = s.zone.withShifts(shifts)
	other.calendar = s.expression.calendar(other.zone, s.dst)
	return &other, nil
}

func (z *zone) withShifts(shifts []int64) *zone {
	from, to := shifts[0], shifts[len(shifts)-1]
	other := &zone{loc: z.loc}
	for _, e := range z.eras {
		e.end = min(e.end, from)
		other.add(e)
	}
	for i := 0; i+2 < len(shifts); i += 2 {
		other.add(era{start: shifts[i], end: shifts[i+2], offset: shifts[i+1]})
	}
	for _, e := range z.eras {
		e.start = max(e.start, to)
		other.add(e)
	}
	return other
}

// handoverSteps bounds the search for a handover: a schedule with a time in each hour of
// the day does not find one.
const handoverSteps = 100

// Handover returns when another release of the time zone database may take over from
// this one: next is the same schedule in that release. From that time on, a local time
// that has fired has passed in both releases, and one that has not is to come in both.
// So none is lost and none fires twice. It is now if the two differ in more than the
// release, if time zones do not move the schedule, or if a day has no such time.
func (s *Schedule) Handover(next *Schedule, now time.Time) time.Time {
	if s.expr != next.expr || s.dst != next.dst || s.Location().String() != next.Location().String() || s.Periodic() {
		return now
	}
	utc, _ := loadZone("UTC") // which always exists
	local := s.expression.calendar(utc, s.dst)
	at := now.Unix()
	for range handoverSteps {
		reached, reaching := at+s.zone.at(at).offset, at+next.zone.at(at).offset
		if reached > reaching {
			reached, reaching = reaching, reached
		}
		between := local.next(reached + 1)
		switch {
		case between == noTime || between > reaching:
			return latestOf(now, time.Unix(at, 0).UTC())
		case at+between-reached > now.Unix()+day:
			return now
		}
		at += between - reached
	}
	return now
}

func latestOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
