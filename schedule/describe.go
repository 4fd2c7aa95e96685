package schedule

import (
	"fmt"
	"strings"
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
		return count(n/day, "day")
	case n%hour == 0:
		return count(n/hour, "hour")
	case n%minute == 0:
		return count(n/minute, "minute")
	default:
		return count(n, "second")
	}
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
