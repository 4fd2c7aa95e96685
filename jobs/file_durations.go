package jobs

import (
	"fmt"
	"time"
)

// The durations of the registry file. A delay may be zero. A period must be positive
// and has a default. A span must be positive and has no default.
type (
	delay  time.Duration
	period time.Duration
	span   time.Duration
)

func (s *span) duration() time.Duration { return (*period)(s).duration() }

func (p *period) duration() time.Duration {
	if p == nil {
		return 0
	}
	return time.Duration(*p)
}

// orNone returns the duration as Platform and Alarm hold it: 0 if it is not set,
// and -1 if it is set to zero.
func (s *delay) orNone() time.Duration {
	switch {
	case s == nil:
		return 0
	case *s == 0:
		return -1
	}
	return time.Duration(*s)
}

// parseDuration reads Go's durations. The error says what to write.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("invalid duration %s; use numbers with units, e.g. 500ms, 30s, 1h30m (a day is 24h)", quoted(text))
	}
	return d, nil
}
