package jobs

import (
	"fmt"
	"strings"
)

// Describe says the schedule in words, such as "every hour at minute 0, UTC".
func (s *Schedule) Describe() string { return s.form.describe() + ", " + s.zone.loc.String() }

func (i interval) describe() string {
	return "every " + spell(i.seconds) + ", counted from 1970-01-01T00:00:00Z"
}

// spell says a number of seconds in its largest whole units.
func spell(seconds int64) string {
	if seconds == minute || seconds == hour || seconds == day {
		return strings.TrimPrefix(unitsOf(seconds), "1 ")
	}
	return unitsOf(seconds)
}

func unitsOf(seconds int64) string {
	var parts []string
	for _, u := range []struct {
		name string
		size int64
	}{{"day", day}, {"hour", hour}, {"minute", minute}, {"second", 1}} {
		if n := seconds / u.size; n > 0 {
			parts = append(parts, count(n, u.name))
			seconds -= n * u.size
		}
	}
	return listing(parts)
}

func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// listing joins words as "a, b and c".
func listing(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

func (o oneTime) describe() string {
	return "once, at " + o.local.Format("2006-01-02 15:04:05")
}
