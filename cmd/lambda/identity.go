package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/jobs"
)

const (
	// eventLate is how much later than its scheduled time an event's time may be:
	// AWS fires within the minute.
	eventLate = time.Minute
	// eventEarly is how far ahead of this machine's clock an event may be.
	eventEarly = time.Minute
)

// timeless is the scheduled time of work whose event contains no time: only its id tells it from
// other work, so its run ID cannot depend on when it is asked for.
var timeless = time.Unix(0, 0).UTC()

// identity is an event's run: the run ID that everybody who fires this event
// derives.
type identity struct {
	runID     string
	at        time.Time
	scheduled bool // the time is one of the schedule, else ~ work
}

// errTooLate is of an event whose run may not be sent any more.
var errTooLate = errors.New("too late to be sent")

// identify derives the run from the event and the job's schedule alone; now
// only decides whether the event may still, and may already, be answered.
func identify(j jobs.Job, e event, now time.Time) (identity, error) {
	if e.rule && j.ParsedSchedule().Periodic() {
		return identity{}, fmt.Errorf("job %q has the schedule %q, and AWS counts a rule's rate from the rule's creation, so its "+
			"events fit no scheduled time of the job; "+
			"drive it with EventBridge Scheduler (cronce export cloudformation) or with a cron schedule", j.ID, j.Schedule)
	}
	run, err := fit(j, e)
	if err != nil {
		return run, err
	}
	if run.at.Equal(timeless) {
		return run, nil
	}
	if age := now.Sub(run.at); age >= j.Retry.Horizon {
		return run, ofKind(errTooLate, fmt.Errorf("the event for %s is %s old, and a call of job %q may be sent only within %s of "+
			"its scheduled time: the target may have forgotten the key; "+
			"not sent; to make the call as new work, send an event with a new id and no time", run.runID, age.Round(time.Second), j.ID,
			j.Retry.Horizon))
	}
	if ahead := run.at.Sub(now); ahead > eventEarly {
		return run, fmt.Errorf("the event for %s comes %s ahead of its time; not sent", run.runID, ahead.Round(time.Second))
	}
	return run, nil
}

// fit floors the event's time to the schedule. What fits no scheduled time is work
// beside the schedule, under the event's own id.
func fit(j jobs.Job, e event) (identity, error) {
	if e.at.IsZero() {
		at := timeOf(e.id)
		return identity{runID: jobs.RunIDWithToken(j.ID, at, token(j.ID, e.id)), at: at}, nil
	}
	last := j.ParsedSchedule().Last(e.at)
	if !last.IsZero() && e.at.Sub(last) <= eventLate {
		return identity{runID: jobs.RunID(j.ID, last), at: last, scheduled: true}, nil
	}
	if e.id == "" {
		return identity{}, fmt.Errorf("%s is not a scheduled time of job %q (schedule %q in %s; the last one before it is %s), and the "+
			"event has no id to make other work of; is the schedule at AWS older than the registry?",
			e.at.Format(time.RFC3339), j.ID, j.Schedule, j.Timezone, last.Format(time.RFC3339))
	}
	at := e.at.Truncate(time.Second)
	return identity{runID: jobs.RunIDWithToken(j.ID, at, token(j.ID, e.id)), at: at}, nil
}

// timeOf returns the time in an id that has one (UUIDv7, RFC 9562), else timeless.
func timeOf(id string) time.Time {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 {
		return timeless
	}
	seconds, nanos := u.Time().UnixTime()
	return time.Unix(seconds, nanos).UTC().Truncate(time.Second)
}

// token makes an event's id a part of a run ID. One that the grammar does not
// take, or that is too long, is hashed: equal ids stay equal, others differ.
func token(jobID, id string) string {
	if _, _, _, err := jobs.ParseRunID(jobs.RunIDWithToken(jobID, timeless, id)); err == nil {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}
