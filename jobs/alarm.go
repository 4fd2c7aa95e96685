package jobs

import (
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/internal/field"
)

// Alarm defines when a run is late: if it has not started or finished in time. As an
// Entry it is the default for every job. The zero Alarm means never. In Go, a negative
// field of a job's Alarm means never, whatever the default is.
type Alarm struct {
	StartWithin  time.Duration `json:"startWithin,omitempty"`  // from Job.DueAt of the scheduled time to the first call
	FinishWithin time.Duration `json:"finishWithin,omitempty"` // from Job.DueAt of the scheduled time to the end of the run
}

// String returns the alarm in words: "none", or "startWithin 5m0s, finishWithin 1h0m0s".
func (a Alarm) String() string {
	var parts []string
	for _, b := range []struct {
		name   string
		within time.Duration
	}{{"startWithin", a.StartWithin}, {"finishWithin", a.FinishWithin}} {
		if b.within > 0 {
			parts = append(parts, b.name+" "+b.within.String())
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func (r *report) checkAlarm(path string, a Alarm) {
	if a.StartWithin > 0 && a.FinishWithin > 0 && a.FinishWithin < a.StartWithin {
		r.Add(path+".finishWithin", field.BadDuration,
			"finishWithin %s is shorter than startWithin %s; a run finishes after it starts", a.FinishWithin, a.StartWithin)
	}
}

func (a Alarm) enter(d *draft) { d.alarms = append(d.alarms, a) }
