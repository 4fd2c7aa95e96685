package operations

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/schedule"
)

// absoluteLayouts are the ways to write a time with its date. A date is its first second.
var absoluteLayouts = []string{
	time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04",
	"2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly,
}

// ParseTime reads a time as people write it: an absolute one, an age before now, or a time of day, which is the last
// such time. A time without an offset is in zone. If a local time comes twice, because the clock is set back, it
// returns the first.
func ParseTime(text string, now time.Time, zone *time.Location) (time.Time, bool) {
	if age, ok := parseAge(text); ok {
		return now.Add(-age), true
	}
	for _, layout := range absoluteLayouts {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			if t.Location() == zone {
				t = instants(t)[0]
			}
			return t, true
		}
	}
	for _, layout := range []string{"15:04", time.TimeOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return lastTimeOfDay(t, now.In(zone)), true
		}
	}
	return time.Time{}, false
}

// instants returns the times that have the local time of t in its zone: two where the clock is set back over it, else
// t.
func instants(t time.Time) []time.Time {
	list := []time.Time{t}
	_, own := t.Zone()
	for _, near := range []time.Time{t.AddDate(0, 0, -1), t.AddDate(0, 0, 1)} {
		_, offset := near.Zone()
		other := t.Add(time.Duration(own-offset) * time.Second)
		if _, has := other.Zone(); has == offset && offset != own {
			list = append(list, other)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// ParseTimeAhead reads a time to come, without an offset in a zone: absolute, a duration from now,
// or a time of day, which is the next such time. A duration's end has whole seconds.
func ParseTimeAhead(text string, now time.Time, zone *time.Location) (time.Time, bool) {
	if ahead, ok := parseAge(text); ok {
		return now.UTC().Add(ahead).Truncate(time.Second), true
	}
	at, ok := ParseTime(text, now, zone)
	if ok && len(text) <= len(time.TimeOnly) && at.Before(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at, ok
}

// CheckSpan refuses a filter from a time up to another, excluded, that selects no time. Either may be
// zero: no limit.
func CheckSpan(since, until time.Time) error {
	if !since.IsZero() && !until.IsZero() && !since.Before(until) {
		return refuse(Invalid, "the end (until) is not after the start (since), so no time is between them; give a later end")
	}
	return nil
}

func lastTimeOfDay(timeOfDay, now time.Time) time.Time {
	t := time.Date(now.Year(), now.Month(), now.Day(), timeOfDay.Hour(), timeOfDay.Minute(), timeOfDay.Second(), 0, now.Location())
	if t.After(now) {
		return t.AddDate(0, 0, -1)
	}
	return t
}

// IsAge reports whether a text is an age, or a duration from now.
func IsAge(text string) bool {
	_, ok := parseAge(text)
	return ok
}

// parseAge reads a duration that may begin with whole weeks and days, of 7 days
// and 24 hours: 2w, 1d12h, 90m.
func parseAge(text string) (time.Duration, bool) {
	var age time.Duration
	rest := text
	for _, unit := range []struct {
		letter string
		length time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		number, after, found := strings.Cut(rest, unit.letter)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 31)
		if err != nil || time.Duration(n) > (math.MaxInt64-age)/unit.length {
			return 0, false
		}
		age, rest = age+time.Duration(n)*unit.length, after
	}
	if rest == "" {
		return age, text != ""
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d > math.MaxInt64-age {
		return 0, false
	}
	return age + d, true
}

// parseTimeOf is ParseTime in the zone of a schedule. If a local time comes twice, it returns one at which the schedule
// is due.
func parseTimeOf(sched *schedule.Schedule, text string, now time.Time) (time.Time, bool) {
	t, ok := ParseTime(text, now, sched.Location())
	if !ok || t.Location() != sched.Location() {
		return t, ok
	}
	for _, at := range instants(t) {
		if sched.Last(at).Equal(at) {
			return at, true
		}
	}
	return t, true
}
