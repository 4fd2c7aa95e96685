package web

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/plural"
	"github.com/cronce/cronce/jobs"
)

// overlapWords and catchUpWords say what a job's policies mean.
var overlapWords = map[jobs.Overlap]string{
	jobs.OverlapSkip:  "skip a scheduled time while an earlier run is unfinished",
	jobs.OverlapQueue: "queue a scheduled time while an earlier run is unfinished",
	jobs.OverlapAllow: "run beside an earlier run",
}

var catchUpWords = map[jobs.CatchUp]string{
	jobs.CatchUpNone:   "none: late scheduled times are missed",
	jobs.CatchUpLatest: "latest: only the newest late scheduled time runs",
	jobs.CatchUpAll:    "all: every late scheduled time runs, oldest first",
}

// short writes a duration for a person, in at most two units: 1h 5m, 2.4s.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + short(-d)
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return twoUnits(d, time.Minute, "min", time.Second, "s")
	case d < 48*time.Hour:
		return twoUnits(d, time.Hour, "h", time.Minute, "min")
	}
	return twoUnits(d, 24*time.Hour, "d", time.Hour, "h")
}

func twoUnits(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	text := fmt.Sprintf("%d %s", d/large, largeName)
	if rest := d % large / small; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return text
}

// relative says how far a time is from now in one unit. The script (assets/app.js) keeps such times
// up to date in an open page, and writes them in the same way.
func relative(t, now time.Time) string {
	gap := t.Sub(now).Round(time.Second)
	var text string
	switch d := gap.Abs(); {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		text = fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		text = fmt.Sprintf("%d min", d/time.Minute)
	case d < 24*time.Hour:
		text = fmt.Sprintf("%d h", d/time.Hour)
	default:
		text = fmt.Sprintf("%d d", d/(24*time.Hour))
	}
	if gap > 0 {
		return "in " + text
	}
	return text + " ago"
}

// counted writes a number and its noun, such as "1 run" or "2,000 runs".
func counted(n int, noun string) string { return thousands(n) + " " + plural.Noun(n, noun) }
