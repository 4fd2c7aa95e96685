package executor

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// membership keeps this process among those that work on the ledger, and decides
// with it which jobs this process plans: those whose current definition it has.
// It belongs to the loop's goroutine.
type membership struct {
	ledger   *ledgerClient
	registry *jobs.Registry
	plan     *planner
	// schedules plans those of the templates.
	schedules *schedulePlanner
	work      *workset
	onTime    time.Duration
	// host and program are shown to a person.
	host, program string
	// admit writes the plans that switch jobs to other definitions.
	admit        func(context.Context, batch) bool
	heartbeatDue signal
	logger       *slog.Logger
	ahead        aheadWatch

	longLived    bool        // this process lives longer than one beat
	liveVersions []string    // at the last heartbeat
	stale        atomic.Bool // apply the assignments again, even if these are the same
	// handover is when to take them up again for a job that waits to use new time zones.
	handover time.Time
}

// declare tells the ledger which definitions this process has, and begins to
// plan those that are current.
func (m *membership) declare(ctx context.Context) {
	d := ledger.Declaration{Registry: m.registry.Name(), Version: m.registry.Version(), Host: m.host, Program: m.program,
		Definitions: m.definitions}
	if !m.ledger.declare(ctx, d) {
		m.heartbeatDue.send() // a heartbeat of an unknown process declares again
		return
	}
	m.heartbeat(ctx)
}

// definitions yields what this process declares: its jobs and templates, by ID.
func (m *membership) definitions(yield func(ledger.Definition) bool) {
	for d := range m.registry.Definitions() {
		if !yield(ledger.Definition(d)) {
			return
		}
	}
}

// heartbeat sends the heartbeat of this process, and applies the assignments again when the set of
// live processes has changed.
func (m *membership) heartbeat(ctx context.Context) {
	start := m.ledger.now()
	reply, err := m.ledger.heartbeat(ctx)
	if errors.Is(err, ledger.ErrNotFound) {
		m.stale.Store(true)
		m.declare(ctx)
		return
	}
	if m.ledger.failed(m.ledger.observe("heartbeat", start, err)) {
		return
	}
	defer func() { m.ahead.observe(m.plan.latest(), reply.Now) }()
	m.work.setAlone(m.longLived && reply.Processes == 1)
	m.work.giveBackHeldTargets(reply.HeldTargets)
	if !m.stale.Swap(false) && slices.Equal(m.liveVersions, reply.LiveVersions) {
		return
	}
	m.liveVersions = reply.LiveVersions
	if !m.applyAssignments(ctx) {
		m.stale.Store(true)
	}
}

// reassign has the loop apply the assignments again at once.
func (m *membership) reassign() {
	m.stale.Store(true)
	m.heartbeatDue.send()
}
