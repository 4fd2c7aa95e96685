package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs"
)

// TimeHelp names the forms of timeOrAge in a flag's help.
const TimeHelp = "RFC 3339, 2026-11-21, 04:40; or an age: 24h, 7d"

// absoluteLayouts are the ways to write a time on the command line. Without an
// offset it is UTC; a date is its first second.
var absoluteLayouts = []string{
	time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04",
	"2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly,
}

// TimeOrAge reads a flag or an argument that is a time: absolute, an age
// before now, or a time of day (UTC), which is the last such time. An empty
// text is the zero time.
func TimeOrAge(name, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if age, ok := parseAge(text); ok {
		return now.Add(-age), nil
	}
	for _, layout := range absoluteLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{"15:04", time.TimeOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return lastTimeOfDay(t, now.UTC()), nil
		}
	}
	return time.Time{}, Usage("invalid %s %q; use a time such as 2026-11-21T03:00:00Z, 2026-11-21 or 04:40 (UTC), or an age such as 90m, 24h, 7d or 2w", name, text)
}

func lastTimeOfDay(of, now time.Time) time.Time {
	t := time.Date(now.Year(), now.Month(), now.Day(), of.Hour(), of.Minute(), of.Second(), 0, time.UTC)
	if t.After(now) {
		return t.AddDate(0, 0, -1)
	}
	return t
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

// WarnOfOldZones warns of a time zone database that is more than a year old.
func (env *Env) WarnOfOldZones() {
	if text := jobs.ZonesWarning(env.Now()); text != "" {
		fmt.Fprintln(env.Err, "warning:", text)
	}
}
