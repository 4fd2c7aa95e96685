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

// The kinds of notifications.
const (
	Opened    Event = "opened"    // the problem began
	Reminded  Event = "reminded"  // the problem lasts, and nobody has acknowledged it
	Recovered Event = "recovered" // the problem is over
)

// notification is one event for one channel.
type notification struct {
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

// known is what a channel was told: the JSON of ledger.Incident.NotifierState, by channel.
type known struct {
	Open bool      `json:"open"` // it was told of the problem, and not of its end
	At   time.Time `json:"at"`   // of the last notice
}

// flapping reports whether an incident opens and closes again and again.
func flapping(i ledger.Incident) bool { return i.Reopened >= flappingFrom }

// decision is the result of decide: what to send, what to store, and when to decide
// again.
type decision struct {
	Notifications []notification
	State         []byte
	DueAt         time.Time // when to decide again; zero: when the incident changes
}

// decide returns the notifications of an incident that are due now. The result
// depends only on the arguments. A channel gets one notification of the problem,
// further ones each Remind while nobody has acknowledged it, and one of its end.
func decide(i ledger.Incident, channels []jobs.Channel, now time.Time) (decision, error) {
	told := map[string]known{}
	if len(i.NotifierState) > 0 {
		if err := json.Unmarshal(i.NotifierState, &told); err != nil {
			return decision{}, fmt.Errorf("what the channels know of incident %d is damaged: %w", i.ID, err)
		}
	}
	var d decision
	for _, c := range channels {
		if !c.Selects(i.JobID, string(i.Cause)) {
			continue
		}
		event, next := decideChannel(i, c, told[c.Name], now)
		if event != "" {
			d.Notifications = append(d.Notifications, notification{c, event})
			told[c.Name] = known{Open: event != Recovered, At: now}
			_, next = decideChannel(i, c, told[c.Name], now)
		}
		if !next.IsZero() && (d.DueAt.IsZero() || next.Before(d.DueAt)) {
			d.DueAt = next
		}
	}
	var err error
	d.State, err = json.Marshal(told)
	return d, err
}

// decideChannel returns the event for one channel, or "" and when there may be one.
func decideChannel(i ledger.Incident, c jobs.Channel, k known, now time.Time) (event Event, next time.Time) {
	switch {
	case !i.Open() && !k.Open:
		return "", time.Time{}
	case !i.Open():
		over := i.ClosedAt
		if flapping(i) && !i.ClosedByOperator {
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
