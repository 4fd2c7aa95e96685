package cleanup

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

const (
	watchEvery  = time.Minute
	remindEvery = time.Hour
)

// PurgeMonitor checks in the ledger that the nightly purge succeeds, whichever process runs
// it. Make it with NewPurgeMonitor.
type PurgeMonitor struct {
	job jobs.Job
	PurgeMonitorConfig

	started  time.Time
	reminded time.Time
	detail   atomic.Pointer[string] // what is wrong; nil: nothing
}

// PurgeMonitorConfig configures a PurgeMonitor. All fields are required.
type PurgeMonitorConfig struct {
	Registry *jobs.Registry
	Runs     interface {
		List(context.Context, ledger.Filter) ([]ledger.Run, error)
	}
	// Observed is called by every Check that the ledger has answered, with the time of
	// the last successful purge, zero for never, and whether the next one is overdue.
	Observed func(last time.Time, overdue bool)
	Logger   *slog.Logger
	Now      func() time.Time
}

// NewPurgeMonitor returns a PurgeMonitor. It checks nothing until Run or Check is called.
func NewPurgeMonitor(c PurgeMonitorConfig) *PurgeMonitor {
	j, _ := c.Registry.Job(jobs.PurgeJobID) // every registry has it
	return &PurgeMonitor{job: j, PurgeMonitorConfig: c, started: c.Now()}
}

// Run calls Check every minute until ctx ends.
func (m *PurgeMonitor) Run(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		m.Check(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Check asks the ledger once, and logs an overdue purge once an hour. It does not
// report a ledger that does not answer.
func (m *PurgeMonitor) Check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	last, since, err := m.lastSuccessSince(ctx)
	if err != nil {
		return
	}
	now := m.Now()
	overdue := isOverdue(m.job, since, now)
	m.Observed(last, overdue)
	if !overdue {
		m.detail.Store(nil)
		m.reminded = time.Time{}
		return
	}
	text := fmt.Sprintf("the nightly purge has not succeeded since %s; see \"cronce runs list --job %s\"",
		since.UTC().Format(time.RFC3339), m.job.ID)
	m.detail.Store(&text)
	if now.Sub(m.reminded) >= remindEvery {
		m.reminded = now
		m.Logger.Error("nightly purge overdue",
			"job", m.job.ID, "since", since.UTC().Format(time.RFC3339), "hint", "cronce runs list --job "+m.job.ID)
	}
}

// State asks the ledger once and returns when a purge last succeeded, zero for
// never, and whether the next one is overdue. It logs nothing.
func (m *PurgeMonitor) State(ctx context.Context) (last time.Time, overdue bool, err error) {
	last, since, err := m.lastSuccessSince(ctx)
	return last, err == nil && isOverdue(m.job, since, m.Now()), err
}

// lastSuccessSince returns the last success, and since when one is expected.
func (m *PurgeMonitor) lastSuccessSince(ctx context.Context) (last, since time.Time, err error) {
	last, err = m.lastSuccess(ctx)
	if since = last; err == nil && since.IsZero() {
		since = m.firstSeen(ctx)
	}
	return last, since, err
}

// lastSuccess returns when the purge last succeeded; zero: never, as far as the ledger remembers.
func (m *PurgeMonitor) lastSuccess(ctx context.Context) (time.Time, error) {
	runs, err := m.Runs.List(ctx, ledger.Filter{JobID: m.job.ID, States: []ledger.State{ledger.Succeeded}, Limit: 1})
	if err != nil || len(runs) == 0 {
		return time.Time{}, err
	}
	return runs[0].FinishedAt, nil
}

// firstSeen returns when the job's oldest run was due, as far as the ledger
// remembers, else the start of this process.
func (m *PurgeMonitor) firstSeen(ctx context.Context) time.Time {
	runs, err := m.Runs.List(ctx, ledger.Filter{JobID: m.job.ID, Limit: 100})
	if err != nil || len(runs) == 0 {
		return m.started
	}
	return runs[len(runs)-1].ScheduledAt
}

// Warning returns a description of an overdue purge; "" when there is none. It is
// safe for concurrent use.
func (m *PurgeMonitor) Warning() string {
	if text := m.detail.Load(); text != nil {
		return *text
	}
	return ""
}
