package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// Ledger is the part of a ledger.Store that a Notifier uses for incidents.
type Ledger interface {
	ledger.IncidentStore
	Assignments(ctx context.Context, version, after string) ([]ledger.JobAssignment, error)
	Pauses(ctx context.Context, ended bool) ([]ledger.Pause, error)
	ClosePauses(context.Context) (int, error)
	List(context.Context, ledger.Filter) ([]ledger.Run, error)
	Counts(context.Context) (ledger.Counts, error)
}

// Runs is the part of a ledger.Store that a Notifier uses to ping the heartbeats of jobs.
type Runs interface {
	Changes(ctx context.Context, after string) (ledger.Changes, error)
	List(context.Context, ledger.Filter) ([]ledger.Run, error)
	Get(ctx context.Context, runID string) (ledger.Run, []ledger.Attempt, error)
	Enter(context.Context, ledger.Entry) (ledger.Entered, error)
}

// Config configures a Notifier. Registry, Ledger, Logger and Now are required.
type Config struct {
	Registry  *jobs.Registry
	Ledger    Ledger
	Runs      Runs   // nil: jobs' heartbeats are not pinged
	PublicURL string // of the dashboard, for links; "": no links
	// Purge returns when a purge last succeeded, and whether the next is overdue;
	// nil: the purge is not watched.
	Purge func(context.Context) (last time.Time, overdue bool, err error)
	// Planned says that the planner has already run. Otherwise it has a minute before
	// the first check for jobs that are not planned.
	Planned bool
	// Offset is the time that Run waits before its first check. Give processes that start
	// together different offsets, so that they do not check at the same moment.
	Offset time.Duration
	Logger *slog.Logger
	Now    func() time.Time // the clock
}

// Notifier finds problems and writes notifications. Make it with NewNotifier. Any number of
// processes may watch one ledger. A Notifier is not safe for concurrent use.
type Notifier struct {
	Config
	channels []jobs.Channel
	pings    *pings
	observed time.Time // when the jobs and the purge were last looked at
	failed   bool
	written  int // notifications, since NewNotifier
}

// CheckEvery is the interval at which Run calls Check.
const CheckEvery = 5 * time.Second

const (
	observeEvery = time.Minute
	batch        = 100
	// unplannedAfter is how long after a scheduled time a plan has to have passed it:
	// longer than a process may take to be found dead, and another one to take over.
	unplannedAfter = 5 * time.Minute
)

// NewNotifier returns a Notifier. It checks nothing until Run or Check is called.
func NewNotifier(c Config) *Notifier {
	n := &Notifier{Config: c, channels: c.Registry.Channels(), pings: newPings(c.Runs, c.Registry)}
	if !c.Planned {
		n.observed = c.Now()
	}
	return n
}

// Run waits for Offset and then calls Check every CheckEvery, until ctx ends.
func (n *Notifier) Run(ctx context.Context) {
	next := time.NewTimer(n.Offset)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		next.Reset(CheckEvery)
		_, err := n.Check(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !n.failed {
			n.Logger.Warn("failed to look for incidents; trying again", "error", err)
		}
		n.failed = err != nil
	}
}

// Check finds the current problems, writes the notifications that are due, and
// returns how many it wrote.
func (n *Notifier) Check(ctx context.Context) (written int, err error) {
	before := n.written + n.pings.written
	err = n.check(ctx)
	return n.written + n.pings.written - before, err
}

// Send calls Check for as long as it writes notifications and more says that there is time, and
// works after each: what it wrote are runs that are due at once.
func (n *Notifier) Send(ctx context.Context, work func(context.Context) error, more func() bool) error {
	for more() {
		written, err := n.Check(ctx)
		if err != nil || written == 0 {
			return err
		}
		if err := work(ctx); err != nil {
			return err
		}
	}
	return nil
}

// check takes every step, each in a time of its own, also after one has failed: a step
// that keeps failing does not hold back the notifications of incidents.
func (n *Notifier) check(ctx context.Context) error {
	var errs []error
	for _, step := range []func(context.Context) error{
		n.markLate,
		n.closePauses,
		func(ctx context.Context) error { return n.observe(ctx, n.Now()) },
		n.writeDue,
		func(ctx context.Context) error { return n.pings.check(ctx, n.Now()) },
	} {
		errs = append(errs, inTime(ctx, step))
	}
	return errors.Join(errs...)
}

// inTime takes a step in a bounded time, so that a ledger or a store that hangs does not hold up
// the others.
func inTime(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return step(ctx)
}

// markLate has the ledger open the incidents of late runs, in batches. Without an alarm and a
// channel, no run can be late.
func (n *Notifier) markLate(ctx context.Context) error {
	if !hasAlarms(n.Registry) && len(n.channels) == 0 {
		return nil
	}
	for {
		if marked, err := n.Ledger.MarkLate(ctx, batch); err != nil || marked < batch {
			return err
		}
	}
}

// closePauses has the ledger note which pauses have ended by themselves.
func (n *Notifier) closePauses(ctx context.Context) error {
	ended, err := n.Ledger.ClosePauses(ctx)
	if ended > 0 {
		n.Logger.Info("pauses have ended", "count", ended)
	}
	return err
}

// hasAlarms reports whether an enabled job has an alarm.
func hasAlarms(r *jobs.Registry) bool {
	for j := range r.JobsAndTemplates() {
		if !j.Disabled && j.Alarm != (jobs.Alarm{}) {
			return true
		}
	}
	return false
}

// observe looks once a minute at what no run shows: whether each job is planned, and
// the purge succeeds.
func (n *Notifier) observe(ctx context.Context, now time.Time) error {
	if now.Sub(n.observed) < observeEvery {
		return nil
	}
	err := errors.Join(n.observePlans(ctx), n.observePurge(ctx))
	if err == nil {
		n.observed = now
	}
	return err
}

// observePlans opens and closes the incidents of jobs that no process plans. It reads the
// assignments page by page.
func (n *Notifier) observePlans(ctx context.Context) error {
	counts, err := n.Ledger.Counts(ctx) // the ledger's clock decides what is planned
	if err != nil {
		return err
	}
	pauses, err := n.Ledger.Pauses(ctx, true)
	if err != nil {
		return err
	}
	var unplanned []ledger.JobProblem
	for after := ""; ; {
		page, err := n.Ledger.Assignments(ctx, "", after)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return n.Ledger.ReconcileIncidents(ctx, ledger.IncidentUnplanned, unplanned)
		}
		unplanned = append(unplanned, n.unplanned(page, pauses, counts.Now)...)
		after = page[len(page)-1].JobID
	}
}

// observePurge opens and closes the incident of a purge that is overdue.
func (n *Notifier) observePurge(ctx context.Context) error {
	if n.Purge == nil {
		return nil
	}
	last, overdue, err := n.Purge(ctx)
	if err != nil {
		return err
	}
	var observed []ledger.JobProblem
	if overdue {
		text := "it never succeeded"
		if !last.IsZero() {
			text = "it last succeeded at " + last.UTC().Format(time.RFC3339)
		}
		observed = []ledger.JobProblem{{JobID: jobs.PurgeJobID, Error: text}}
	}
	return n.Ledger.ReconcileIncidents(ctx, ledger.IncidentOverdue, observed)
}

// unplanned returns the jobs whose plan has not passed a scheduled time for a while, and
// those that do not run at a scheduled time because the clock was set back.
func (n *Notifier) unplanned(assignments []ledger.JobAssignment, pauses []ledger.Pause, now time.Time) (list []ledger.JobProblem) {
	for _, s := range assignments {
		if s.Hash == "" {
			continue
		}
		j, known := n.Registry.Job(s.JobID)
		if len(s.Body) > 0 {
			if _, err := jobs.ParseTemplate(s.Body); err == nil {
				continue // it has no scheduled times
			}
			current, err := jobs.ParseDefinition(s.Body)
			if err != nil {
				list = append(list, ledger.JobProblem{JobID: s.JobID, Error: err.Error()})
				continue
			}
			j, known = current, true
		}
		if !known || j.ParsedSchedule() == nil {
			continue
		}
		if text := ledger.AheadText(s.Watermark, now); text != "" && !j.ParsedSchedule().Next(now).After(s.Watermark) {
			list = append(list, ledger.JobProblem{JobID: s.JobID, Error: text})
		}
		if next := j.ParsedSchedule().Next(s.Watermark); !next.IsZero() && now.Sub(plannable(j, next, pauses)) > unplannedAfter {
			list = append(list, ledger.JobProblem{JobID: s.JobID, Error: "not planned since the scheduled time " + next.UTC().Format(time.RFC3339)})
		}
	}
	return list
}

// plannable returns when a scheduled time of a job may first be planned: after the pauses that
// keep it back.
func plannable(j jobs.Job, at time.Time, pauses []ledger.Pause) time.Time {
	due := j.DueAt(at)
	for _, p := range pauses {
		if p.Kind == ledger.PauseCatchUp && p.Until.After(due) && p.Covers(j.ID, executor.TraitsOf(j), at) {
			due = p.Until
		}
	}
	return due
}

// NewTestMessage returns a message that says that a channel works. registry is the
// registry's name; publicURL is the dashboard's, or "".
func NewTestMessage(registry, publicURL string, c jobs.Channel, now time.Time) Message {
	return NewMessage(registry, publicURL, Opened, ledger.Incident{
		JobID: c.JobID(), Cause: "test", Error: fmt.Sprintf("this is a test of channel %s; nothing is wrong", c.Name),
		Count: 1, OpenedAt: now, LastAt: now,
	}, now)
}
