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
	d := ledger.Declaration{Process: e.cfg.Process, Registry: e.cfg.Registry.Name(), Version: e.version}
	for _, j := range e.jobs {
		d.Definitions = append(d.Definitions, j.definition)
	}
	slices.SortFunc(d.Definitions, func(a, b ledger.Definition) int {
		if a.JobID < b.JobID {
			return -1
		}
		return 1
	})
	if e.failed(e.asked("declare", time.Now(), e.cfg.Ledger.Declare(ctx, d))) {
		signal(e.pulse) // a heartbeat of an unknown process declares again
		return
	}
	e.heartbeat(ctx)
}

// heartbeat keeps this process among the living, and looks at the standings
// again when who lives has changed.
func (e *Executor) heartbeat(ctx context.Context) {
	start := time.Now()
	pulse, err := e.cfg.Ledger.Beat(ctx, e.cfg.Process)
	if errors.Is(err, ledger.ErrNotFound) {
		e.living = nil
		e.declare(ctx)
		return
	}
	if e.failed(e.asked("heartbeat", start, err)) {
		return
	}
	e.clock.set(pulse.Now)
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
	for range 10 { // a switch moves the standings; others may switch beside us
		start := time.Now()
		standings, err := e.cfg.Ledger.Standings(ctx, e.version)
		if e.failed(e.asked("standings", start, err)) {
			return false
		}
		if e.unheard(standings) {
			e.living = nil
			signal(e.pulse) // back among the living first
			return false
		}
		switches := e.takeUp(standings)
		if len(switches) == 0 {
			return true
		}
		if !e.admit(ctx, switches) {
			return false
		}
	}
	return false
}

// unheard reports whether the ledger counts this process as gone: nobody who
// lives declares a job that it declares itself. That comes of a stall between
// the heartbeat and this look, longer than ledger.ProcessTTL; to act on it would
// be to end jobs that nobody removed, and to lose their instants until somebody
// begins them anew.
func (e *Executor) unheard(standings []ledger.Standing) bool {
	for _, s := range standings {
		if _, held := e.jobs[s.JobID]; held && s.Winner == "" {
			return true
		}
	}
	return false
}

func (e *Executor) takeUp(standings []ledger.Standing) (switches []ledger.Plan) {
	for _, s := range standings {
		mine, held := e.jobs[s.JobID]
		switch {
		case held && s.Hash == mine.definition.Hash:
			e.plan.put(mine.job, s.Position)
		default:
			e.plan.drop(s.JobID)
		}
		if s.Hash == s.Winner {
			continue
		}
		if s.Winner == "" || held && s.Winner == mine.definition.Hash {
			if plan, ok := e.switchOf(s, mine.definition); ok {
				switches = append(switches, plan)
			}
			continue
		}
		if held {
			e.cfg.Logger.Warn("another definition of this job is current; this process does not plan it", "job", s.JobID)
		}
	}
	return switches
}

// switchOf plans a job's outgoing definition up to now and its next one from
// there. A gap too long for one plan is planned first, without the switch.
func (e *Executor) switchOf(s ledger.Standing, next ledger.Definition) (ledger.Plan, bool) {
	now := e.clock.now()
	plan := ledger.Plan{JobID: s.JobID, Epoch: s.Epoch, After: s.Watermark, Through: now}
	if now.Before(s.Watermark) {
		plan.Through = s.Watermark
	}
	if s.Hash != "" {
		old, err := jobs.ParseDefinition(s.Body)
		if err != nil {
			e.cfg.Logger.Error("the ledger's definition of this job cannot be read; it stays as it is until a process that understands it ends it", "job", s.JobID, "error", err)
			return plan, false
		}
		whole := planJob(old, s.Position, now, e.cfg.OnTime)
		if whole.Through.Before(now.Truncate(time.Second)) {
			return whole, true
		}
		plan.Instants, plan.Events = whole.Instants, whole.Events
	}
	if s.Winner == "" {
		next = ledger.Definition{JobID: s.JobID}
	}
	plan.Next = &next
	e.cfg.Logger.Info("switching the job to its current definition", "job", s.JobID, "removed", s.Winner == "")
	return plan, true
}
