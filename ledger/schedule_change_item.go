package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/clocks"
)

// change decides about one item, and notes what is to be written. A change that was made before has
// no effect, and may still raise the generation.
func (m *scheduleChangeTx) change(r *scheduleRequest, in *ScheduleChange, old *ScheduleRow) (got ScheduleResult) {
	got.Effect = ScheduleUnchanged
	if old != nil {
		got.Schedule = old.Schedule
	}
	done, err := in.check(old)
	switch {
	case err != nil:
		got.Err = err
		return got
	case done:
		if old != nil && in.Generation > old.Generation {
			old.Generation = in.Generation
			m.updates = append(m.updates, ScheduleUpdate{old, ScheduleColContent})
			got.Schedule = old.Schedule
		}
		return got
	}
	updated, outgoing, err := m.nextContent(r, in, old)
	if err == nil {
		err = m.countQuota(r, updated, old)
	}
	if err != nil {
		got.Err = err
		return got
	}
	got.Schedule, got.Effect = updated.Schedule, effectOf(old, updated)
	if outgoing != nil {
		m.outgoing = append(m.outgoing, *outgoing)
		m.runs += len(outgoing.plan.Runs)
	}
	if old == nil {
		m.inserts = append(m.inserts, *updated)
	} else {
		m.updates = append(m.updates, ScheduleUpdate{updated, ScheduleColPosition | ScheduleColContent})
	}
	r.changed = append(r.changed, updated.JobID)
	return got
}

// effectOf returns what a change did to a schedule.
func effectOf(old, updated *ScheduleRow) ScheduleEffect {
	switch {
	case !updated.DeletedAt.IsZero():
		return ScheduleDeleted
	case old == nil || !old.DeletedAt.IsZero():
		return ScheduleCreated
	}
	return ScheduleChanged
}

// check reports whether the change is made already, or why it is refused. The generation goes
// first: what comes late must not undo what is newer.
func (in *ScheduleChange) check(old *ScheduleRow) (done bool, err error) {
	exists := old != nil && old.DeletedAt.IsZero()
	same := exists && !in.Delete && old.equal(&in.ScheduleContent) || old != nil && !exists && in.Delete
	switch {
	case old != nil && in.Generation != 0 && in.Generation < old.Generation:
		return false, ErrGeneration
	case same:
		return true, nil
	case old != nil && in.Generation != 0 && in.Generation == old.Generation:
		return false, ErrGeneration
	case in.IfRevision == MustNotExist && exists, in.IfRevision > 0 && (!exists || old.Revision != in.IfRevision):
		return false, ErrOtherRevision
	case in.Delete && old == nil && in.Generation == 0: // with one, a tombstone refuses what comes late
		return false, ErrNotFound
	}
	return false, nil
}

// nextContent returns the schedule as it is with the change, and the plan of the content that ends.
// The new content holds from where that plan ends, so that no scheduled time is in both or in
// neither.
func (m *scheduleChangeTx) nextContent(
	r *scheduleRequest, in *ScheduleChange, old *ScheduleRow,
) (updated *ScheduleRow, outgoing *currentPlan, err error) {
	updated = &ScheduleRow{TemplateID: m.template.ID, Schedule: Schedule{JobID: in.JobID}}
	earliest, from := time.Time{}, m.now
	if old != nil {
		*updated = *old
		earliest, from = old.Watermark, clocks.Later(m.now, old.Watermark)
		if old.InQuota() {
			if outgoing, err = m.planOutgoing(r, old, from); err != nil {
				return nil, nil, err
			}
			if in.Delete {
				outgoing.job.EndedAt = m.now
			}
		}
	}
	updated.Revision++
	updated.Generation, updated.ChangedAt, updated.ChangedBy = max(updated.Generation, in.Generation), m.now, r.By
	updated.Watermark, updated.NextAt, updated.EndedAt = from, time.Time{}, time.Time{}
	if updated.CreatedAt.IsZero() || !updated.DeletedAt.IsZero() {
		updated.CreatedAt = m.now
	}
	if in.Delete {
		updated.DeletedAt, updated.EndedAt = m.now, m.now
		return updated, outgoing, nil
	}
	updated.ScheduleContent, updated.DeletedAt = in.ScheduleContent, time.Time{}
	if updated.Watermark, err = r.Rules.Begin(&updated.Schedule, earliest, from); err == nil {
		updated.NextAt, err = nextCheck(r.Rules, &updated.Schedule, m.now)
	}
	if err == nil && updated.NextAt.IsZero() {
		err = errors.New("all its scheduled times have passed; set a schedule that has one to come")
	}
	if err == nil && outgoing != nil && updated.Watermark.Before(from) {
		err = outgoing.plan.exclude(updated.Watermark.Add(time.Second), r.Rules, &old.Schedule)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s: %w", ErrInvalidSchedule, in.JobID, err)
	}
	return updated, outgoing, nil
}

// exclude takes a scheduled time out of the last plan of a schedule's content if that could not
// run it: the next content does.
func (p *Plan) exclude(at time.Time, rules ScheduleRules, s *Schedule) error {
	if !slices.ContainsFunc(p.Runs, func(in RunSpec) bool { return in.Reason == ReasonNotPlannable || in.Reason == ReasonPaused }) {
		return nil
	}
	before, _, err := rules.Plan(s, at.Add(-time.Second), true)
	if err != nil {
		return err
	}
	later := *s
	later.Watermark = at
	after, _, err := rules.Plan(&later, p.Through, true)
	p.Runs = slices.Concat(before.Runs, after.Runs)
	return err
}

// planOutgoing plans what the schedule's content is to do until a time, at which it ends. It
// returns ErrBacklog if that is more than one plan, or one transaction, can hold.
func (m *scheduleChangeTx) planOutgoing(r *scheduleRequest, old *ScheduleRow, from time.Time) (*currentPlan, error) {
	p, _, err := r.Rules.Plan(&old.Schedule, from, true)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalidSchedule, old.JobID, err)
	case p.Through.Before(from.Truncate(time.Second)): // also alone
		return nil, ErrBacklog
	case m.runs > 0 && m.runs+len(p.Runs) > maxBacklog:
		m.overLimit = true
		return nil, ErrBacklog
	}
	p.Through = from
	return &currentPlan{&p, old.jobWithPauseOf(m.job)}, nil
}

// nextCheck returns when the planner is to check a schedule next.
func nextCheck(rules ScheduleRules, s *Schedule, now time.Time) (time.Time, error) {
	next, err := rules.Next(s)
	if err != nil {
		return time.Time{}, err
	}
	return nextCheckAt(next, now), nil
}

// nextCheckAt returns when to check a schedule that is due next at a time; zero: it is not. It is
// not before now: see dueFloor.
func nextCheckAt(next, now time.Time) time.Time {
	if next.IsZero() {
		return next
	}
	return clocks.Later(now, clocks.Earlier(next, now.Add(RecheckInterval)))
}

// countQuota counts the schedules in the template's quota, and returns ErrQuota for one too many.
func (m *scheduleChangeTx) countQuota(r *scheduleRequest, updated, old *ScheduleRow) error {
	wasInQuota := old != nil && old.InQuota()
	switch {
	case wasInQuota == updated.InQuota():
	case wasInQuota:
		m.template.Schedules--
	case r.Max > 0 && m.template.Schedules >= r.Max:
		return fmt.Errorf("%w: template %s has %d", ErrQuota, r.Template, m.template.Schedules)
	default:
		m.template.Schedules++
	}
	return nil
}

// about describes the changed keys in few bytes, with a hash by which a list of keys can be
// compared.
func (r *scheduleRequest) about() string {
	ids := sortedSet(r.changed)
	hash := sha256.New()
	for i, id := range ids {
		_, ids[i], _ = strings.Cut(id, ":")
		fmt.Fprintln(hash, ids[i])
	}
	return fmt.Sprintf("keys %s to %s, SHA-256 of the sorted lines %x", ids[0], ids[len(ids)-1], hash.Sum(nil))
}

// audit returns one entry: that of a schedule, or of the template for several.
func (r *scheduleRequest) audit() Audit {
	a := Audit{Action: ActionPutSchedule, JobID: r.changed[0], Count: len(r.changed), Actor: r.Actor}
	deleted := 0
	for i := range r.results {
		if r.results[i].Effect == ScheduleDeleted {
			deleted++
		}
	}
	if deleted == len(r.changed) {
		a.Action = ActionDeleteSchedule
	}
	if len(r.changed) > 1 {
		a.JobID, a.About = r.Template, r.about()
		if deleted > 0 && deleted < len(r.changed) {
			a.About += fmt.Sprintf("; deleted: %d", deleted)
		}
	}
	return a
}
