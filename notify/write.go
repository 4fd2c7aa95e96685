package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
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
func (n *Notifier) writeDue(ctx context.Context) (failed error) {
	for more := len(n.channels) > 0; more; {
		due, err := n.Ledger.Incidents(ctx, ledger.IncidentFilter{Due: true, Limit: ledger.MaxIncidentPage})
		if err != nil {
			return err
		}
		now := n.Now()
		undelivered, err := n.undelivered(ctx, due)
		if err != nil {
			return err
		}
		var list []*decided
		for _, i := range due {
			d, err := decide(i, n.job(i.JobID), n.channels, undelivered, now)
			failed = errors.Join(failed, err)
			if err == nil {
				list = append(list, &decided{Incident: i, decision: d})
			}
		}
		n.group(list, now)
		more = false
		for _, inc := range list {
			done, err := n.writeOne(ctx, inc, now)
			failed = errors.Join(failed, err)
			more = more || done && len(due) == ledger.MaxIncidentPage
		}
	}
	return failed
}

// undelivered returns the last notifications of incidents, of each channel, that have not ended.
func (n *Notifier) undelivered(ctx context.Context, list []ledger.Incident) (map[string]bool, error) {
	var ids []string
	for _, i := range list {
		states, err := i.ChannelStates()
		if err != nil {
			continue // decide reports it
		}
		for _, s := range states {
			if id := s.LastRun(); id != "" {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	ids = slices.Compact(ids) // one may be about many incidents
	runs, err := n.Ledger.List(ctx, ledger.Filter{IDs: ids, States: ledger.Unfinished, Limit: len(ids)})
	undelivered := map[string]bool{}
	for _, r := range runs {
		undelivered[r.ID] = true
	}
	return undelivered, err
}

// writeOne reports whether it changed the incident. If another notifier was first, the
// incident is due again at the next check.
func (n *Notifier) writeOne(ctx context.Context, inc *decided, now time.Time) (bool, error) {
	if len(inc.Notifications) == 0 && inc.decision.DueAt.Equal(inc.Incident.DueAt) && bytes.Equal(inc.State, inc.NotifierState) {
		return false, nil // this machine's clock is behind the ledger's
	}
	change := ledger.Notification{ID: inc.ID, Version: inc.Version, DueAt: inc.decision.DueAt}
	var mine []*delivery
	for _, d := range inc.deliveries {
		if d.from == inc {
			e, err := d.entry(now)
			if err != nil {
				return false, err
			}
			change.Runs = append(change.Runs, e)
			mine = append(mine, d)
			d.runID = e.RunID
		} else if !d.written {
			return false, nil // the notification that names this incident was not written
		}
	}
	var err error
	if change.NotifierState, err = inc.sent(); err != nil {
		return false, err
	}
	done, err := n.Ledger.Notify(ctx, change)
	if !done {
		return done, err
	}
	n.written += len(mine)
	for i, d := range mine {
		d.written = true
		n.Logger.Info("notification written", "channel", d.Channel.Name, "event", string(d.Event), "incident", inc.ID, "incidents",
			1+len(d.message.Others),
			"job", inc.JobID, "cause", string(inc.Cause), "run", change.Runs[i].RunID)
	}
	return done, err
}

// sent returns the state with the notifications that are being sent.
func (inc *decided) sent() ([]byte, error) {
	if len(inc.deliveries) == 0 {
		return inc.State, nil
	}
	states, err := ledger.Incident{ID: inc.ID, NotifierState: inc.State}.ChannelStates()
	if err != nil {
		return nil, err
	}
	for _, d := range inc.deliveries {
		s := states[d.Channel.Name]
		s.Sent(d.runID)
		states[d.Channel.Name] = s
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

// If groupFrom or more incidents of one cause are due, a message to a channel has up to groupMost
// of them.
const (
	groupFrom = 5
	groupMost = 200
)

// group gives each notification its delivery. Many incidents of one cause have one for
// channels that people read: 200 messages would take minutes to arrive. It is written
// with the first of them; a process that is killed then sends the others again.
func (n *Notifier) group(list []*decided, now time.Time) {
	type kind struct {
		channel  string
		event    Event
		cause    ledger.IncidentCause
		flapping bool
	}
	count, shared := map[kind]int{}, map[kind]*delivery{}
	kindOf := func(inc *decided, one notification) kind {
		return kind{one.Channel.Name, one.Event, inc.Cause, flapping(inc.Incident)}
	}
	for _, inc := range list {
		for _, one := range inc.Notifications {
			count[kindOf(inc, one)]++
		}
	}
	for _, inc := range list {
		for _, one := range inc.Notifications {
			k := kindOf(inc, one)
			d, m := shared[k], n.message(one.Event, inc.Incident, now)
			if d == nil {
				d = &delivery{notification: one, message: m, from: inc}
				if one.Channel.Groups() && count[k] >= groupFrom {
					shared[k] = d
				}
			} else {
				d.message.Others = append(d.message.Others, m)
				if len(d.message.Others) == groupMost-1 {
					delete(shared, k)
				}
			}
			inc.deliveries = append(inc.deliveries, d)
		}
	}
}

// message returns the message of an event of an incident, with the owner of its job.
func (n *Notifier) message(event Event, i ledger.Incident, now time.Time) Message {
	m := NewMessage(n.Registry.Name(), n.PublicURL, event, i, now)
	m.Owner = n.job(i.JobID).Owner
	return m
}

// job returns a job of the registry; of another, only the ID.
func (n *Notifier) job(id string) jobs.Job {
	if j, known := n.Registry.Job(id); known {
		return j
	}
	return jobs.Job{ID: id}
}

// entry returns the run that delivers a delivery. Its ID follows from the incident and its
// version: what is written twice has one ID.
func (d *delivery) entry(now time.Time) (ledger.Entry, error) {
	at, i := now.UTC().Truncate(time.Second), d.from.Incident
	id := jobs.RunIDWithToken(d.Channel.JobID(), at, "i"+strconv.FormatInt(i.ID, 10)+"."+strconv.FormatInt(i.Version, 10)+"-"+string(d.Event))
	call, err := NewCall(d.message, d.Channel, id)
	return ledger.Entry{JobID: d.Channel.JobID(), RunSpec: ledger.RunSpec{
		RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByIncident, Overlap: ledger.OverlapAllow, Call: call,
	}}, err
}
