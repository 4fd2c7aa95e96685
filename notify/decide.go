package notify

import (
	"encoding/json"
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
	// flappingFrom is the number of times that an incident is opened again until it is flapping.
	flappingFrom = 2
	// flappingFor is the time for which a flapping incident has to be closed until its end is
	// sent.
	flappingFor = ledger.ReopenWithin
	// maxOrderWait bounds the time until it is checked again whether an earlier notification has
	// ended.
	maxOrderWait = time.Minute
)

// openings returns how often an incident has opened, up to the opening since which it is
// flapping: later ones are not sent.
func openings(i ledger.Incident) int { return min(i.Reopened, flappingFrom) + 1 }

// flapping reports whether an incident opens and closes again and again.
func flapping(i ledger.Incident) bool { return i.Reopened >= flappingFrom }

// decision is the result of decide: what to send, what to store, and when to decide
// again.
type decision struct {
	Notifications []notification
	State         []byte
	DueAt         time.Time // when to decide again; zero: when the incident changes
}

// decide returns the notifications of an incident of a job that are due now. The result
// depends only on the arguments. A channel gets one notification when the incident has
// opened, also if it has closed by now, and one of its end. It is reminded each Remind
// while nobody has acknowledged the incident, and when it opens again before its end was
// sent. It gets none before the last one about the incident has ended: a receiver that
// learns of a problem after its end shows it for ever. undelivered has the IDs of the runs that
// have not ended.
func decide(i ledger.Incident, j jobs.Job, channels []jobs.Channel, undelivered map[string]bool, now time.Time) (decision, error) {
	states, err := i.ChannelStates()
	if err != nil {
		return decision{}, err
	}
	var d decision
	for _, c := range channels {
		if !c.Selects(j, string(i.Cause)) {
			continue
		}
		event, next := decideChannel(i, c, states[c.Name], now)
		if event != "" && undelivered[states[c.Name].LastRun()] {
			waited := now.Sub(states[c.Name].At)
			event, next = "", now.Add(min(max(waited, CheckEvery), maxOrderWait))
		}
		if event != "" {
			d.Notifications = append(d.Notifications, notification{c, event})
			states[c.Name] = ledger.ChannelState{Open: event != Recovered, At: now, Openings: openings(i), Runs: states[c.Name].Runs}
			if event, next = decideChannel(i, c, states[c.Name], now); event != "" {
				next = now.Add(CheckEvery) // once this one is delivered
			}
		}
		if !next.IsZero() && (d.DueAt.IsZero() || next.Before(d.DueAt)) {
			d.DueAt = next
		}
	}
	d.State, err = json.Marshal(states)
	return d, err
}

// decideChannel returns the event for one channel, or "" and when there may be one.
func decideChannel(i ledger.Incident, c jobs.Channel, k ledger.ChannelState, now time.Time) (event Event, next time.Time) {
	news := k.Openings < openings(i) && isNews(i, c, now)
	switch {
	case news && !k.Open:
		return Opened, time.Time{}
	case !k.Open:
		return "", time.Time{}
	case news && (i.Open() || flapping(i)): // it closed and opened since
		return Reminded, time.Time{}
	case !i.Open():
		over := i.ClosedAt
		if flapping(i) && !i.ClosedByOperator {
			over = over.Add(flappingFor)
		}
		if now.Before(over) {
			return "", over
		}
		return Recovered, time.Time{}
	case c.Remind == 0 || !isNews(i, c, now):
		return "", time.Time{}
	}
	if next = k.At.Add(c.Remind); now.Before(next) {
		return "", next
	}
	return Reminded, time.Time{}
}

// isNews reports whether a channel is to be notified that the incident opened. An incident that
// closed before a notification was written is news for as long as it can be opened again.
func isNews(i ledger.Incident, c jobs.Channel, now time.Time) bool {
	if !i.TakesProblem(now) {
		return false
	}
	return i.AckedAt.IsZero() && i.Count >= c.After
}
