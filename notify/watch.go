package notify

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Ledger is the part of a ledger.Store that a Watch uses.
type Ledger interface {
	Assignments(ctx context.Context, version string) ([]ledger.JobAssignment, error)
	Incidents(context.Context, ledger.IncidentFilter) ([]ledger.Incident, error)
	MarkLate(ctx context.Context, limit int) (int, error)
	Observe(context.Context, ledger.IncidentCause, []ledger.Trouble) error
	Tell(context.Context, ledger.Telling) (bool, error)
}

// Runs is the part of a ledger.Store that heartbeats of jobs need.
type Runs interface {
	Changes(ctx context.Context, after string) (ledger.Changes, error)
	List(context.Context, ledger.Filter) ([]ledger.Run, error)
	Get(ctx context.Context, runID string) (ledger.Run, []ledger.Attempt, error)
	Enter(context.Context, ledger.Entry) (ledger.Entered, error)
}

// Config configures a Watch. Registry, Ledger, Logger and Now are required.
type Config struct {
	Registry  *jobs.Registry
	Ledger    Ledger
	Runs      Runs   // nil: no pings of jobs' heartbeats
	PublicURL string // of the dashboard, for links; "": none
	// Purge returns when a purge last succeeded, and whether the next is overdue;
	// nil: the purge is not watched.
	Purge func(context.Context) (last time.Time, overdue bool, err error)
	// Planned: the planner has already run. Otherwise it has a minute before the
	// first check for jobs that are not planned.
	Planned bool
	Logger  *slog.Logger
	Now     func() time.Time
}

// Watch finds problems and writes notifications. Any number may share a ledger.
type Watch struct {
	Config
	channels []jobs.Channel
	pings    *pings
	observed time.Time // when the jobs and the purge were last looked at
	failed   bool
	told     int // notifications, since NewWatch
}

const (
	lookEvery    = 5 * time.Second
	observeEvery = time.Minute
	batch        = 100
	// unplannedAfter is how long after a scheduled time a plan has to have passed it:
	// longer than a process may take to be found dead, and another one to take over.
	unplannedAfter = 5 * time.Minute
)

// NewWatch returns a Watch. It checks nothing until Run or Check is called.
func NewWatch(c Config) *Watch {
	w := &Watch{Config: c, channels: c.Registry.Channels(), pings: newPings(c.Runs, c.Registry)}
	if !c.Planned {
		w.observed = c.Now()
	}
	return w
}

// Run calls Check every few seconds until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		_, err := w.Check(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !w.failed {
			w.Logger.Warn("failed to look for incidents; trying again", "error", err)
		}
		w.failed = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Check finds the current problems, writes the notifications that are due, and
// returns how many it wrote.
func (w *Watch) Check(ctx context.Context) (written int, err error) {
	before := w.told + w.pings.written
	err = w.check(ctx)
	return w.told + w.pings.written - before, err
}

func (w *Watch) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if w.Registry.Alarms() {
		for n := batch; n == batch; {
			var err error
			if n, err = w.Ledger.MarkLate(ctx, batch); err != nil {
				return err
			}
		}
	}
	if now := w.Now(); now.Sub(w.observed) >= observeEvery {
		if err := w.observe(ctx, now); err != nil {
			return err
		}
		w.observed = now
	}
	if err := w.pings.look(ctx, w.Now()); err != nil {
		return err
	}
	if len(w.channels) == 0 {
		return nil
	}
	return w.tell(ctx)
}

// observe looks at what no run shows: whether each job is planned, and the purge
// succeeds.
func (w *Watch) observe(ctx context.Context, now time.Time) error {
	assignments, err := w.Ledger.Assignments(ctx, "")
	if err != nil {
		return err
	}
	if err := w.Ledger.Observe(ctx, ledger.CauseUnplanned, w.unplanned(assignments, now)); err != nil {
		return err
	}
	if w.Purge == nil {
		return nil
	}
	last, overdue, err := w.Purge(ctx)
	if err != nil {
		return err
	}
	var troubles []ledger.Trouble
	if overdue {
		text := "it never succeeded"
		if !last.IsZero() {
			text = "it last succeeded at " + last.UTC().Format(time.RFC3339)
		}
		troubles = []ledger.Trouble{{JobID: jobs.PurgeJobID, Error: text}}
	}
	return w.Ledger.Observe(ctx, ledger.CauseOverdue, troubles)
}

// unplanned are the jobs whose plan has not passed a scheduled time for a while.
func (w *Watch) unplanned(assignments []ledger.JobAssignment, now time.Time) (list []ledger.Trouble) {
	for _, s := range assignments {
		if s.Hash == "" {
			continue
		}
		j, known := w.Registry.Job(s.JobID)
		if len(s.Body) > 0 {
			current, err := jobs.ParseDefinition(s.Body)
			if err != nil {
				list = append(list, ledger.Trouble{JobID: s.JobID, Error: err.Error()})
				continue
			}
			j, known = current, true
		}
		if !known || j.Parsed() == nil {
			continue
		}
		if next := j.Parsed().Next(s.Watermark); !next.IsZero() && now.Sub(j.DueAt(next)) > unplannedAfter {
			list = append(list, ledger.Trouble{JobID: s.JobID, Error: "not planned since the scheduled time " + next.UTC().Format(time.RFC3339)})
		}
	}
	return list
}

// tell writes the notifications of the incidents that are due.
func (w *Watch) tell(ctx context.Context) error {
	for more := true; more; {
		due, err := w.Ledger.Incidents(ctx, ledger.IncidentFilter{Due: true, Limit: batch})
		if err != nil {
			return err
		}
		more = false
		for _, i := range due {
			done, err := w.tellOne(ctx, i)
			if err != nil {
				return err
			}
			more = more || done && len(due) == batch
		}
	}
	return nil
}

// tellOne reports whether it changed the incident. If another notifier was first, the
// incident is looked at again the next time.
func (w *Watch) tellOne(ctx context.Context, i ledger.Incident) (bool, error) {
	now := w.Now()
	d, err := Decide(i, w.channels, now)
	if err != nil {
		return false, err
	}
	if len(d.Notices) == 0 && d.DueAt.Equal(i.DueAt) && bytes.Equal(d.Told, i.Told) {
		return false, nil // this machine's clock is behind the ledger's
	}
	t := ledger.Telling{ID: i.ID, Version: i.Version, Told: d.Told, DueAt: d.DueAt}
	for _, n := range d.Notices {
		e, err := w.entry(n, i, now)
		if err != nil {
			return false, err
		}
		t.Runs = append(t.Runs, e)
	}
	done, err := w.Ledger.Tell(ctx, t)
	if done {
		w.told += len(t.Runs)
		for n, e := range t.Runs {
			w.Logger.Info("notification written", "channel", d.Notices[n].Channel.Name, "event", string(d.Notices[n].Event),
				"incident", i.ID, "job", i.JobID, "cause", string(i.Cause), "run", e.RunID)
		}
	}
	return done, err
}

// entry is the run that delivers a notice. Its ID follows from the incident and its
// version: what is told twice has one ID.
func (w *Watch) entry(n Notice, i ledger.Incident, now time.Time) (ledger.Entry, error) {
	at := now.UTC().Truncate(time.Second)
	id := jobs.RunIDWithToken(n.Channel.JobID(), at, "i"+strconv.FormatInt(i.ID, 10)+"."+strconv.FormatInt(i.Version, 10)+"-"+string(n.Event))
	m := NewMessage(w.Registry.Name(), w.PublicURL, n.Event, i, now)
	if j, known := w.Registry.Job(i.JobID); known {
		m.Owner = j.Owner
	}
	call, err := CallOf(m, n.Channel, id)
	return ledger.Entry{JobID: n.Channel.JobID(), RunSpec: ledger.RunSpec{
		RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.ByIncident, Overlap: ledger.OverlapAllow, Call: call,
	}}, err
}

// Test returns a message that says that a channel works.
func Test(registry, publicURL string, c jobs.Channel, now time.Time) Message {
	return NewMessage(registry, publicURL, Opened, ledger.Incident{
		JobID: c.JobID(), Cause: "test", Error: fmt.Sprintf("this is a test of channel %s; nothing is wrong", c.Name),
		Count: 1, OpenedAt: now, LastAt: now,
	}, now)
}
