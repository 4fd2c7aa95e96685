package command

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
)

// TimeHelp names the forms of timeOrAge in a flag's help.
const TimeHelp = "RFC 3339, 2026-11-21, 04:40; or an age: 24h, 7d"

// TimeOrAge reads a flag or an argument that is a time: absolute, an age
// before now, or a time of day (UTC), which is the last such time. An empty
// text is the zero time.
func TimeOrAge(name, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, ok := operations.ParseTime(text, now, time.UTC); ok {
		return t, nil
	}
	return time.Time{}, Usage("invalid %s %q; use a time such as 2026-11-21T03:00:00Z, 2026-11-21 or 04:40 (UTC), "+
		"or an age such as 90m, 24h, 7d or 2w", name, text)
}

// FutureHelp names the forms of TimeAhead in a flag's help.
const FutureHelp = "RFC 3339, 2026-11-21, 04:40; or from now: 1h, 7d"

// TimeAhead reads a flag that is a time to come. An empty text is the zero time.
func TimeAhead(name, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, ok := operations.ParseTimeAhead(text, now, time.UTC); ok {
		return at, nil
	}
	return time.Time{}, Usage("invalid %s %q; use a time such as 2026-11-21T03:00:00Z, 2026-11-21 or 04:40 (UTC), "+
		"or a duration from now such as 90m, 24h or 7d", name, text)
}

// WarnOfOldZones warns of a time zone database that is more than a year old.
func (env *Env) WarnOfOldZones() {
	if text := jobs.ZonesWarning(env.Now()); text != "" {
		fmt.Fprintln(env.Err, "warning:", text)
	}
}
