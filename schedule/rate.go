package schedule

import (
	"strconv"
	"strings"
	"time"
)

// interval is rate(...) and @every: all multiples of a period since the Unix
// epoch, whatever the zone.
type interval struct{ seconds int64 }

// longestInterval is 400 years, as far as Next looks.
const longestInterval = cycle

func (i interval) calendar(*zone, DST) calendar { return i }

func (i interval) next(from int64) int64 { return from + floorMod(-from, i.seconds) }

func (i interval) last(upTo int64) int64 { return upTo - floorMod(upTo, i.seconds) }

// parseEvery reads the duration of "@every 1h30m".
func parseEvery(text span) (expression, error) {
	d, err := time.ParseDuration(text.text)
	switch {
	case err != nil:
		return nil, text.fail("@every", "write a duration such as 30s, 5m or 1h30m; a day is 24h")
	case d < time.Second:
		return nil, text.fail("@every", "at least 1s")
	case d%time.Second != 0:
		return nil, text.fail("@every", "use whole seconds, e.g. 2s; scheduled times have no fraction")
	}
	return interval{int64(d / time.Second)}, nil
}

var rateUnits = map[string]int64{"minute": minute, "hour": hour, "day": day}

// parseRate reads AWS's "rate(value unit)": the unit is singular for 1 only.
func parseRate(inner span) (expression, error) {
	words := inner.words()
	if len(words) != 2 {
		return nil, inner.fail("rate", "write a number and a unit, such as rate(5 minutes) or rate(1 hour)")
	}
	n, err := strconv.ParseUint(words[0].text, 10, 32)
	if err != nil || n == 0 {
		return nil, words[0].fail("rate", "must be a whole number of at least 1")
	}
	unit := strings.TrimSuffix(words[1].text, "s")
	size, known := rateUnits[unit]
	switch {
	case !known && strings.TrimSuffix(unit, "s") == "second":
		return nil, words[1].fail("rate", "a rate has no seconds; write @every %ds", n)
	case !known:
		return nil, words[1].fail("rate", "write minutes, hours or days (singular for 1)")
	case n == 1 && unit != words[1].text:
		return nil, words[1].fail("rate", "the unit of 1 is singular; write rate(1 %s)", unit)
	case n > 1 && unit == words[1].text:
		return nil, words[1].fail("rate", "the unit is plural; write rate(%d %ss)", n, unit)
	case int64(n) > longestInterval/size:
		return nil, words[0].fail("rate", "longer than 400 years")
	}
	return interval{int64(n) * size}, nil
}

// oneTime is AWS's at(...): one local time.
type oneTime struct{ local time.Time }

// parseAt reads "at(yyyy-mm-ddThh:mm:ss)".
func parseAt(inner span) (expression, error) {
	text := inner.trim()
	local, err := time.Parse("2006-01-02T15:04:05", text.text)
	if err != nil || len(text.text) != len("2006-01-02T15:04:05") {
		return nil, text.fail("at", "write a date and time that exist, as at(2026-11-21T03:00:00); the zone is the job's timezone")
	}
	if y := local.Year(); y < firstYear || y > lastYear {
		return nil, text.fail("at", "the year must be %d to %d", firstYear, lastYear)
	}
	return oneTime{local}, nil
}

func (o oneTime) calendar(z *zone, dst DST) calendar {
	p := pattern{
		seconds: 1 << o.local.Second(),
		minutes: 1 << o.local.Minute(),
		hours:   1 << o.local.Hour(),
		months:  1 << o.local.Month(),
		years:   new(yearSet),
	}
	p.years.add(o.local.Year())
	for kind := range p.days {
		p.days[kind] = 1 << o.local.Day()
	}
	return newWallClock(p, z, dst, false)
}

// Periodic reports whether the schedule is a rate or @every: a period counted
// from the Unix epoch, whatever the calendar says.
func (s *Schedule) Periodic() bool {
	_, ok := s.expression.(interval)
	return ok
}
