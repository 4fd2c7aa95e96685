package executor

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// applyAssignments begins to plan the jobs whose current definition this process
// has, stops planning the others, and switches the jobs whose current definition
// is no longer the desired one. It reports whether nothing is left to switch.
func (m *membership) applyAssignments(ctx context.Context) bool {
	m.handover = time.Time{}
	var done switched
	defer done.log(m.logger)
	for after, pages := "", 0; ; pages++ {
		last, ok := m.applyPage(ctx, after, &done)
		if !ok || last == "" {
			if pages > 1 { // what each job's definition took is not needed again soon
				debug.FreeOSMemory()
			}
			return ok
		}
		after = last
	}
}

// applyPage applies the assignments of the first jobs after an ID, and returns the last
// of them; "" where there are none. It reports whether nothing is left to switch.
func (m *membership) applyPage(ctx context.Context, after string, done *switched) (last string, ok bool) {
	for range 10 { // a switch moves the assignments; other processes may switch at the same time
		page, ok := m.ledger.assignments(ctx, m.registry.Version(), after)
		if !ok || len(page) == 0 {
			return "", ok
		}
		if m.heartbeatExpired(page) {
			m.reassign() // its heartbeat first
			return "", false
		}
		switches := m.apply(page)
		if len(switches.plans) == 0 {
			return page[len(page)-1].JobID, true
		}
		if !m.admit(ctx, switches) {
			return "", false
		}
		done.add(switches.plans)
	}
	return "", false
}

// switched are the jobs that the ledger has switched to their current definitions. A reload
// can switch all of them, so one line tells of all.
type switched struct{ jobs, removed []string }

// listedJobs bounds the job IDs in one log line.
const listedJobs = 20

// add notes the jobs that plans have switched.
func (s *switched) add(plans []ledger.Plan) {
	for _, p := range plans {
		switch {
		case p.Next == nil:
		case p.Next.Hash == "":
			s.removed = append(s.removed, p.JobID)
		default:
			s.jobs = append(s.jobs, p.JobID)
		}
	}
}

// log writes one line for the jobs that were switched, and one for those that were removed.
func (s *switched) log(logger *slog.Logger) {
	if n := len(s.jobs); n > 0 {
		logger.Info("jobs switched to their current definitions", "count", n, "jobs", s.jobs[:min(n, listedJobs)])
	}
	if n := len(s.removed); n > 0 {
		logger.Info("jobs removed", "count", n, "jobs", s.removed[:min(n, listedJobs)])
	}
}

// heartbeatExpired reports whether the ledger considers this process dead: no live
// process declares a job that this one declares. The cause is a stall between the
// heartbeat and this read that is longer than ledger.ProcessTTL. Acting on it would
// end jobs that were not removed, and lose their scheduled times until a process
// starts them again.
func (m *membership) heartbeatExpired(assignments []ledger.JobAssignment) bool {
	for _, s := range assignments {
		if s.Desired != "" {
			continue
		}
		if _, _, declared := m.declares(s.JobID); declared {
			return true
		}
	}
	return false
}

// declares returns the index in the registry of a job that this process declares, and the hash of
// its definition; -1 where it does not, and for a template.
func (m *membership) declares(jobID string) (index int, hash string, declared bool) {
	index, known := m.registry.Index(jobID)
	if t, isTemplate := m.registry.Template(jobID); isTemplate && !t.Disabled {
		_, hash, err := t.Definition()
		return -1, hash, err == nil
	}
	if !known || m.registry.At(index).Disabled {
		return -1, "", false
	}
	return index, m.registry.Hash(index), true
}

// apply hands the planner the jobs that are this process's and returns the plans
// that switch jobs to their desired definitions.
func (m *membership) apply(assignments []ledger.JobAssignment) (switches batch) {
	for _, s := range assignments {
		index, hash, declared := m.declares(s.JobID)
		switch {
		case declared && index < 0:
			m.schedules.applyTemplate(s.JobID, s.Revision, hash, s.Hash == hash)
		case declared && s.Hash == hash:
			m.plan.update(index, s.Position)
		case declared:
			m.plan.drop(index)
		}
		if s.Hash != s.Desired && (s.Desired == "" || declared && s.Desired == hash) {
			if plan, ok := m.planSwitch(s); ok {
				switches.add(index, plan)
			}
		}
	}
	return switches
}

// planSwitch plans a job's outgoing definition up to now and its next one, which
// this process has or no process has, from there. A run that its spread delays is
// planned at once: its scheduled time belongs to the outgoing definition. A gap too long
// for one plan is planned first, without the switch. So is what is due while the
// outgoing definition keeps the job for a while, because it has another release of the
// time zones.
func (m *membership) planSwitch(s ledger.JobAssignment) (ledger.Plan, bool) {
	now := m.ledger.clock.now().Truncate(time.Microsecond) // as a ledger keeps it
	plan := ledger.Plan{JobID: s.JobID, Revision: s.Revision, After: s.Watermark, Through: now}
	if now.Before(s.Watermark) {
		plan.Through = s.Watermark
	}
	if _, err := jobs.ParseTemplate(s.Body); s.Hash != "" && err != nil { // a template has no scheduled times
		old, err := jobs.ParseDefinition(s.Body)
		if err != nil {
			m.logger.Error("definition in the ledger cannot be read; left to a process that can read it", "job", s.JobID, "error", err)
			return plan, false
		}
		full := planJob(old, s.Position, now, now, m.onTime)
		if full.Through.Before(now.Truncate(time.Second)) {
			return full, true
		}
		if m.keepsOutgoing(old, now) {
			partial := planJob(old, s.Position, now, old.DueBy(now), m.onTime)
			return partial, len(partial.Runs) > 0
		}
		plan.Traits, plan.Runs, plan.Events = full.Traits, full.Runs, full.Events
	}
	next := ledger.Definition{JobID: s.JobID}
	if s.Desired != "" {
		d, _ := m.registry.Definition(s.JobID)
		next = ledger.Definition(d)
	}
	plan.Next = &next
	return plan, true
}

// keepsOutgoing reports whether a job keeps its outgoing definition for now: a scheduled time
// has passed in only one of two releases of the time zones. A switch would lose it, or
// repeat it. The assignments are applied again when the outgoing definition is due,
// and when the time of the switch has come.
func (m *membership) keepsOutgoing(old jobs.Job, now time.Time) bool {
	index, _, declared := m.declares(old.ID)
	if !declared || index < 0 {
		return false
	}
	at := old.ParsedSchedule().Handover(m.registry.At(index).ParsedSchedule(), now)
	if !at.After(now) {
		return false
	}
	m.logger.Info("new time zones used later, so that no scheduled time is lost or repeated", "job", old.ID, "at", at)
	if next := old.DueAt(old.ParsedSchedule().Next(old.DueBy(now))); next.After(now) && next.Before(at) {
		at = next
	}
	if m.handover.IsZero() || at.Before(m.handover) {
		m.handover = at
	}
	return true
}

// handoverDue applies the assignments again when the time of a switch has come.
func (m *membership) handoverDue() {
	if !m.handover.IsZero() && !m.ledger.clock.now().Before(m.handover) {
		m.handover = time.Time{}
		m.reassign()
	}
}
