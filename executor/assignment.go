package executor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// declare says to the ledger which definitions this process holds, and begins
// to plan those that are current.
func (e *Executor) declare(ctx context.Context) {
	d := ledger.Declaration{Process: e.cfg.Process, Registry: e.cfg.Registry.Name(), Version: e.version, Definitions: e.definitions}
	if e.failed(e.asked("declare", time.Now(), e.cfg.Ledger.Declare(ctx, d))) {
		signal(e.pulse) // a heartbeat of an unknown process declares again
		return
	}
	e.heartbeat(ctx)
}

// definitions yields what this process declares.
func (e *Executor) definitions(yield func(ledger.Definition) bool) {
	for _, j := range e.cfg.Registry.All() {
		if !j.Disabled && !yield(definitionOf(j)) {
			return
		}
	}
}

// definitionOf is a job as it is declared. Its text is made whenever it is
// wanted, which is seldom, and not kept.
func definitionOf(j jobs.Job) ledger.Definition {
	body, hash, _ := j.Definition() // a job from a registry has one
	return ledger.Definition{JobID: j.ID, Hash: hash, Body: body}
}

// declares finds the place of a job that this process declares, and the hash
// of its definition; -1 where it does not.
func (e *Executor) declares(jobID string) (place int, hash string, held bool) {
	place, known := e.cfg.Registry.Index(jobID)
	if !known || e.cfg.Registry.At(place).Disabled {
		return -1, "", false
	}
	return place, e.cfg.Registry.Hash(place), true
}

// heartbeat keeps this process among the living, and looks at the assignments
// again when who lives has changed.
func (e *Executor) heartbeat(ctx context.Context) {
	start := e.cfg.now()
	pulse, err := e.cfg.Ledger.Heartbeat(ctx, e.cfg.Process)
	if errors.Is(err, ledger.ErrNotFound) {
		e.living = nil
		e.declare(ctx)
		return
	}
	if e.failed(e.asked("heartbeat", start, err)) {
		return
	}
	e.clock.set(pulse.Now, start)
	e.queue.setAlone(e.stays && pulse.Processes == 1)
	if e.living == nil || !slices.Equal(e.living, pulse.Living) {
		if e.settle(ctx) {
			e.living = pulse.Living
		}
	}
}

// settle takes up the jobs whose current definition this process holds, lets
// go of the others, and switches those whose definition is no longer the
// winner. It reports whether everything is settled.
func (e *Executor) settle(ctx context.Context) bool {
	for range 10 { // a switch moves the assignments; others may switch beside us
		start := time.Now()
		assignments, err := e.cfg.Ledger.Assignments(ctx, e.version)
		if e.failed(e.asked("assignments", start, err)) {
			return false
		}
		if e.heartbeatExpired(assignments) {
			e.living = nil
			signal(e.pulse) // back among the living first
			return false
		}
		switched, ok := e.takeUpAll(ctx, assignments)
		if !ok {
			return false
		}
		if !switched {
			return true
		}
	}
	return false
}

// takeUpAll takes up the assignments in batches, since a new version may switch
// every job. It reports whether it switched any, and false for ok where the
// ledger did not admit it.
func (e *Executor) takeUpAll(ctx context.Context, assignments []ledger.JobAssignment) (switched, ok bool) {
	for some := range slices.Chunk(assignments, admitLimit) {
		switches := e.takeUp(some)
		if len(switches.plans) == 0 {
			continue
		}
		if !e.admit(ctx, switches) {
			return true, false
		}
		switched = true
	}
	return switched, true
}

// unheard reports whether the ledger counts this process as gone: nobody who
// lives declares a job that it declares itself. That comes of a stall between
// the heartbeat and this look, longer than ledger.ProcessTTL; to act on it would
// be to end jobs that nobody removed, and to lose their scheduled times until somebody
// begins them anew.
func (e *Executor) heartbeatExpired(assignments []ledger.JobAssignment) bool {
	for _, s := range assignments {
		if s.Desired != "" {
			continue
		}
		if _, _, held := e.declares(s.JobID); held {
			return true
		}
	}
	return false
}

func (e *Executor) takeUp(assignments []ledger.JobAssignment) (switches batch) {
	for _, s := range assignments {
		place, mine, held := e.declares(s.JobID)
		switch {
		case held && s.Hash == mine:
			e.plan.put(place, s.Position)
		case held:
			e.plan.drop(place)
		}
		if s.Hash == s.Desired {
			continue
		}
		if s.Desired == "" || held && s.Desired == mine {
			if plan, ok := e.switchOf(s); ok {
				switches.add(place, plan)
			}
			continue
		}
		if held {
			e.cfg.Logger.Warn("another revision of the job is current; not planned by this process", "job", s.JobID)
		}
	}
	return switches
}

// switchOf plans a job's outgoing definition up to now and its next one, which
// this process holds or nobody does, from there. A gap too long for one plan is
// planned first, without the switch.
func (e *Executor) switchOf(s ledger.JobAssignment) (ledger.Plan, bool) {
	now := e.clock.now()
	plan := ledger.Plan{JobID: s.JobID, Revision: s.Revision, After: s.Watermark, Through: now}
	if now.Before(s.Watermark) {
		plan.Through = s.Watermark
	}
	if s.Hash != "" {
		old, err := jobs.ParseDefinition(s.Body)
		if err != nil {
			e.cfg.Logger.Error("definition in the ledger cannot be read; left to a process that can read it", "job", s.JobID, "error", err)
			return plan, false
		}
		whole := planJob(old, s.Position, now, e.cfg.OnTime)
		if whole.Through.Before(now.Truncate(time.Second)) {
			return whole, true
		}
		plan.Runs, plan.Events = whole.Runs, whole.Events
	}
	next := ledger.Definition{JobID: s.JobID}
	if s.Desired != "" {
		j, _ := e.cfg.Registry.Job(s.JobID)
		next = definitionOf(j)
	}
	plan.Next = &next
	e.cfg.Logger.Info("job switched to its current definition", "job", s.JobID, "removed", s.Desired == "")
	return plan, true
}
