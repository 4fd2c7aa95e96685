package notify

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Event is the kind of a notification.
type Event string

const (
	Opened    Event = "opened"    // the problem began
	Reminded  Event = "reminded"  // it lasts, and nobody has acknowledged it
	Recovered Event = "recovered" // it is over
)

// Notice is one event for one channel.
type Notice struct {
	Channel jobs.Channel
	Event   Event
}

const (
	// flappingFrom is how often an incident is opened again until it is flapping.
	flappingFrom = 2
	// flappingFor is how long a flapping incident has to be closed until its end is
	// told.
	flappingFor = ledger.ReopenWithin
)

// known is what a channel was told: the JSON of ledger.Incident.Told, by channel.
type known struct {
	Open bool      `json:"open"` // it was told of the problem, and not of its end
	At   time.Time `json:"at"`   // of the last notice
}

// Flapping reports whether an incident opens and closes again and again.
func Flapping(i ledger.Incident) bool { return i.Reopened >= flappingFrom }

// Decision is the result of Decide: what to send, what to store, and when to decide
// again.
type Decision struct {
	Notices []Notice
	Told    []byte
	DueAt   time.Time // when to decide again; zero: when the incident changes
}

// Decide returns the notifications of an incident that are due now. The result
// depends only on the arguments. A channel gets one notification of the problem,
// further ones each Remind while nobody has acknowledged it, and one of its end.
func Decide(i ledger.Incident, channels []jobs.Channel, now time.Time) (Decision, error) {
	told := map[string]known{}
	if len(i.Told) > 0 {
		if err := json.Unmarshal(i.Told, &told); err != nil {
			return Decision{}, fmt.Errorf("what the channels know of incident %d is damaged: %w", i.ID, err)
		}
	}
	var d Decision
	for _, c := range channels {
		if !c.Takes(i.JobID, string(i.Cause)) {
			continue
		}
		event, next := decide(i, c, told[c.Name], now)
		if event != "" {
			d.Notices = append(d.Notices, Notice{c, event})
			told[c.Name] = known{Open: event != Recovered, At: now}
			_, next = decide(i, c, told[c.Name], now)
		}
		if !next.IsZero() && (d.DueAt.IsZero() || next.Before(d.DueAt)) {
			d.DueAt = next
		}
	}
	var err error
	d.Told, err = json.Marshal(told)
	return d, err
}

// decide is the event for one channel, "" for none, and else when there may be one.
func decide(i ledger.Incident, c jobs.Channel, k known, now time.Time) (event Event, next time.Time) {
	switch {
	case !i.Open() && !k.Open:
		return "", time.Time{}
	case !i.Open():
		over := i.ClosedAt
		if Flapping(i) && !i.Settled {
			over = over.Add(flappingFor)
		}
		if now.Before(over) {
			return "", over
		}
		return Recovered, time.Time{}
	case !i.AckedAt.IsZero() || i.Count < c.After:
		return "", time.Time{}
	case !k.Open:
		return Opened, time.Time{}
	case c.Remind == 0:
		return "", time.Time{}
	}
	if next = k.At.Add(c.Remind); now.Before(next) {
		return "", next
	}
	return Reminded, time.Time{}
}
