package executor

import (
	"context"
	"errors"
	"log/slog"
	"slices"
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
	admit  func(context.Context, batch) bool
	pulse  signal
	logger *slog.Logger
	ahead  aheadWatch

	lasting bool     // this process lives longer than one beat
	living  []string // versions, at the last heartbeat; nil: take up the assignments anew
	// handover is when to take them up again for a job that waits to use new time zones.
	handover time.Time
}

// declare tells the ledger which definitions this process has, and begins to
// plan those that are current.
func (m *membership) declare(ctx context.Context) {
	d := ledger.Declaration{Registry: m.registry.Name(), Version: m.registry.Version(), Host: m.host, Program: m.program,
		Definitions: m.definitions}
	if !m.ledger.declare(ctx, d) {
		m.pulse.send() // a heartbeat of an unknown process declares again
		return
	}
	m.heartbeat(ctx)
}

// definitions yields what this process declares: its jobs and templates, by ID.
func (m *membership) definitions(yield func(ledger.Definition) bool) {
	templates := m.registry.Templates()
	for _, j := range m.registry.All() {
		for len(templates) > 0 && templates[0].ID < j.ID {
			if !templates[0].Disabled && !yield(templateDefinition(templates[0])) {
				return
			}
			templates = templates[1:]
		}
		if !j.Disabled && !yield(definitionOf(j)) {
			return
		}
	}
	for _, t := range templates {
		if !t.Disabled && !yield(templateDefinition(t)) {
			return
		}
	}
}

// definitionOf is a job as it is declared.
func definitionOf(j jobs.Job) ledger.Definition {
	body, hash, _ := j.Definition() // a job from a registry has one
	return ledger.Definition{JobID: j.ID, Hash: hash, Body: body}
}

func templateDefinition(t jobs.Template) ledger.Definition {
	body, hash, _ := t.Definition()
	return ledger.Definition{JobID: t.ID, Hash: hash, Body: body}
}

// definition is a job, or a template, of the registry as it is declared.
func (m *membership) definition(id string) ledger.Definition {
	if t, isTemplate := m.registry.Template(id); isTemplate {
		return templateDefinition(t)
	}
	j, _ := m.registry.Job(id)
	return definitionOf(j)
}

// heartbeat says that this process lives, and takes up the assignments again
// when the set of live processes has changed.
func (m *membership) heartbeat(ctx context.Context) {
	start := m.ledger.now()
	reply, err := m.ledger.heartbeat(ctx)
	if errors.Is(err, ledger.ErrNotFound) {
		m.living = nil
		m.declare(ctx)
		return
	}
	if m.ledger.failed(m.ledger.asked("heartbeat", start, err)) {
		return
	}
	defer func() { m.ahead.note(m.plan.latest(), reply.Now) }()
	m.work.setAlone(m.lasting && reply.Processes == 1)
	m.work.giveBackHeld(reply.Held)
	if m.living != nil && slices.Equal(m.living, reply.LiveVersions) {
		return
	}
	if m.takeUpAssignments(ctx) {
		m.living = reply.LiveVersions
	}
}

// reassign takes up the assignments again at once.
func (m *membership) reassign() {
	m.living = nil
	m.pulse.send()
}
