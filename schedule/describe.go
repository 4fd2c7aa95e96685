package schedule

import (
	"strings"

	"github.com/cronce/cronce/internal/plural"
)

// Describe returns the schedule in words, such as "every hour at minute 0, UTC".
func (s *Schedule) Describe() string {
	if _, ok := s.expression.(interval); ok {
		return s.expression.describe() // the same in every zone
	}
	return s.expression.describe() + ", " + s.zone.loc.String()
}

func (i interval) describe() string {
	return "every " + strings.TrimPrefix(i.length(), "1 ") + ", counted from 1970-01-01T00:00:00Z"
}

// length says the interval in the largest unit that divides it.
func (i interval) length() string {
	switch n := i.seconds; {
	case n%day == 0:
		return plural.Of(n/day, "day")
	case n%hour == 0:
		return plural.Of(n/hour, "hour")
	case n%minute == 0:
		return plural.Of(n/minute, "minute")
	default:
		return plural.Of(n, "second")
	}
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
