package ledger

import (
	"cmp"
	"slices"
	"time"
)

// deferPaused returns the part of a plan before the first scheduled time that a pause keeps
// back, which is the whole plan but for a pause that catches up and lasts. The last plan
// of a revision is whole: what it plans in the pause is due at the pause's end.
func (m *admissionTx) deferPaused(p *Plan) *Plan {
	if len(m.pauses) == 0 || p.Next != nil {
		return p
	}
	for i := range p.Runs {
		in := &p.Runs[i]
		pause := m.pauses.covering(p.JobID, p.Traits, in.last())
		if pause == nil || pause.Kind != PauseCatchUp || !m.got.Now.Before(pause.Until) {
			continue
		}
		part := *p
		part.truncate(in.ScheduledAt, i)
		m.got.Deferred = append(m.got.Deferred, DeferredPlan{Position{p.JobID, p.Revision, part.Through}, pause.Until})
		return &part
	}
	return p
}

// hasRunsDueAfter reports whether the last plan of a revision, or of a schedule's content, has runs that
// are due at the pause's end.
func (m *admissionTx) hasRunsDueAfter(pause Pause) bool {
	return slices.ContainsFunc(m.Plans, func(p Plan) bool {
		return (m.last || p.Next != nil) && slices.ContainsFunc(p.Runs,
			func(in RunSpec) bool { return pause.Covers(p.JobID, p.Traits, in.ScheduledAt) })
	})
}

// last returns the last scheduled time of the run, or of the range.
func (in *RunSpec) last() time.Time {
	if in.Until.IsZero() {
		return in.ScheduledAt
	}
	return in.Until
}

// truncate leaves the first runs of the plan, which are scheduled before a time.
func (p *Plan) truncate(at time.Time, runs int) {
	if p.Through = at.Add(-time.Second); p.Through.Before(p.After) {
		p.Through = p.After
	}
	p.Runs = p.Runs[:runs]
	var events []Event
	for _, e := range p.Events {
		if !e.At.After(p.Through) {
			events = append(events, e)
		}
	}
	p.Events = events
}

// covered reports whether a scheduled time is in a pause; of a range, its first and its
// last. What did not run then is not a problem.
func (m *admissionTx) covered(p *Plan, in *RunSpec) bool {
	return m.pauses.covering(p.JobID, p.Traits, in.ScheduledAt) != nil && m.pauses.covering(p.JobID, p.Traits, in.last()) != nil
}

// earliestAfter returns the time that the first plan begins after: an earlier pause does not
// matter.
func (m *admissionTx) earliestAfter() (first time.Time) {
	for i := range m.Plans {
		if after := m.Plans[i].After; first.IsZero() || after.Before(first) {
			first = after
		}
	}
	return first
}

// pauses has the pauses that a transaction has read.
type pauses []Pause

// covering returns the pause that a scheduled time of a job is in, or nil. A pause that skips goes
// before a pause that catches up; among several of a kind, the last to end.
func (list pauses) covering(jobID string, t Traits, at time.Time) (found *Pause) {
	for i := range list {
		p := &list[i]
		if !p.Covers(jobID, t, at) {
			continue
		}
		if found == nil || cmp.Or(cmp.Compare(string(p.Kind), string(found.Kind)), p.Until.Compare(found.Until)) > 0 {
			found = p // "skip" is after "catch-up"
		}
	}
	return found
}

// holdOf returns the hold of a target that ends last, or nil if the target is not held.
func (list pauses) holdOf(target string, now time.Time) (found *Pause) {
	for i := range list {
		if p := &list[i]; p.Holds(target, now) && (found == nil || p.Until.After(found.Until)) {
			found = p
		}
	}
	return found
}

// heldTargets returns the targets that are held at a time, each once, in order.
func (list pauses) heldTargets(now time.Time) (targets []string) {
	for _, p := range list {
		if p.Holds(p.Target, now) {
			targets = append(targets, p.Target)
		}
	}
	return sortedSet(targets)
}
