package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// decided is an incident with what was decided about it.
type decided struct {
	ledger.Incident
	decision
	deliveries []*delivery // of each of its notifications
}

// writeDue writes the notifications of the incidents that are due.
func (w *Watch) writeDue(ctx context.Context) (failed error) {
	for more := len(w.channels) > 0; more; {
		due, err := w.Ledger.Incidents(ctx, ledger.IncidentFilter{Due: true, Limit: ledger.MaxIncidentPage})
		if err != nil {
			return err
		}
		now := w.Now()
		var list []*decided
		for _, i := range due {
			d, err := decide(i, w.job(i.JobID), w.channels, now)
			failed = errors.Join(failed, err)
			if err == nil {
				list = append(list, &decided{Incident: i, decision: d})
			}
		}
		w.group(list, now)
		more = false
		for _, t := range list {
			done, err := w.writeOne(ctx, t, now)
			failed = errors.Join(failed, err)
			more = more || done && len(due) == ledger.MaxIncidentPage
		}
	}
	return failed
}

// writeOne reports whether it changed the incident. If another notifier was first, the
// incident is due again at the next check.
func (w *Watch) writeOne(ctx context.Context, t *decided, now time.Time) (bool, error) {
	if len(t.Notifications) == 0 && t.decision.DueAt.Equal(t.Incident.DueAt) && bytes.Equal(t.State, t.NotifierState) {
		return false, nil // this machine's clock is behind the ledger's
	}
	change := ledger.Notification{ID: t.ID, Version: t.Version, DueAt: t.decision.DueAt}
	var mine []*delivery
	for _, l := range t.deliveries {
		if l.from == t {
			e, err := l.entry(now)
			if err != nil {
				return false, err
			}
			change.Runs, mine = append(change.Runs, e), append(mine, l)
			l.runID = e.RunID
		} else if !l.written {
			return false, nil // the notification that names this incident was not written
		}
	}
	var err error
	if change.NotifierState, err = t.sent(); err != nil {
		return false, err
	}
	done, err := w.Ledger.Notify(ctx, change)
	if !done {
		return done, err
	}
	w.written += len(mine)
	for n, l := range mine {
		l.written = true
		w.Logger.Info("notification written", "channel", l.Channel.Name, "event", string(l.Event), "incident", t.ID, "incidents",
			1+len(l.message.Others),
			"job", t.JobID, "cause", string(t.Cause), "run", change.Runs[n].RunID)
	}
	return done, err
}

// sent returns the state with the notifications that are being sent.
func (t *decided) sent() ([]byte, error) {
	if len(t.deliveries) == 0 {
		return t.State, nil
	}
	states, err := ledger.Incident{ID: t.ID, NotifierState: t.State}.ChannelStates()
	if err != nil {
		return nil, err
	}
	for _, l := range t.deliveries {
		s := states[l.Channel.Name]
		s.Sent(l.runID)
		states[l.Channel.Name] = s
	}
	return json.Marshal(states)
}

// delivery is one notification, of one incident or of many of one cause.
type delivery struct {
	notification
	message Message
	from    *decided // the incident that it is written with
	runID   string   // once it is known
	written bool
}

// From groupFrom incidents of one cause on, up to groupMost incidents are in one message
// to a channel.
const (
	groupFrom = 5
	groupMost = 200
)

// group gives each notification its delivery. Many incidents of one cause have one for
// channels that people read: 200 messages would take minutes to arrive. It is written
// with the first of them; a process that is killed then sends the others again.
func (w *Watch) group(list []*decided, now time.Time) {
	type kind struct {
		channel  string
		event    Event
		cause    ledger.IncidentCause
		flapping bool
	}
	count, shared := map[kind]int{}, map[kind]*delivery{}
	kindOf := func(t *decided, n notification) kind {
		return kind{n.Channel.Name, n.Event, t.Cause, flapping(t.Incident)}
	}
	for _, t := range list {
		for _, n := range t.Notifications {
			count[kindOf(t, n)]++
		}
	}
	for _, t := range list {
		for _, n := range t.Notifications {
			k := kindOf(t, n)
			l, m := shared[k], w.message(n.Event, t.Incident, now)
			if l == nil {
				l = &delivery{notification: n, message: m, from: t}
				if n.Channel.Groups() && count[k] >= groupFrom {
					shared[k] = l
				}
			} else {
				if l.message.Others = append(l.message.Others, m); len(l.message.Others) == groupMost-1 {
					delete(shared, k)
				}
			}
			t.deliveries = append(t.deliveries, l)
		}
	}
}

func (w *Watch) message(event Event, i ledger.Incident, now time.Time) Message {
	m := NewMessage(w.Registry.Name(), w.PublicURL, event, i, now)
	m.Owner = w.job(i.JobID).Owner
	return m
}

// job returns a job of the registry; of another, only the ID.
func (w *Watch) job(id string) jobs.Job {
	if j, known := w.Registry.Job(id); known {
		return j
	}
	return jobs.Job{ID: id}
}

// entry is the run that delivers a delivery. Its ID follows from the incident and its
// version: what is written twice has one ID.
func (l *delivery) entry(now time.Time) (ledger.Entry, error) {
	at, i := now.UTC().Truncate(time.Second), l.from.Incident
	id := jobs.RunIDWithToken(l.Channel.JobID(), at, "i"+strconv.FormatInt(i.ID, 10)+"."+strconv.FormatInt(i.Version, 10)+"-"+string(l.Event))
	call, err := NewCall(l.message, l.Channel, id)
	return ledger.Entry{JobID: l.Channel.JobID(), RunSpec: ledger.RunSpec{
		RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByIncident, Overlap: ledger.OverlapAllow, Call: call,
	}}, err
}
