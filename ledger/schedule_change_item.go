package ledger

// What becomes of one change of a schedule, in the transaction of ChangeSchedules.

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/clocks"
)

// change decides about one item, and notes what is to be written.
func (m *scheduleChangeTx) change(r *scheduleRequest, in *ScheduleChange, was *ScheduleRow) (got ScheduleResult) {
	got.Effect = ScheduleUnchanged
	if was != nil {
		got.Schedule = was.Schedule
	}
	done, err := in.check(was)
	switch {
	case err != nil:
		got.Err = err
		return got
	case done:
		if was != nil && in.Generation > was.Generation {
			was.Generation = in.Generation
			m.updates = append(m.updates, ScheduleUpdate{was, ScheduleColContent})
			got.Schedule = was.Schedule
		}
		return got
	}
	is, outgoing, err := m.nextContent(r, in, was)
	if err == nil {
		err = m.countQuota(r, is, was)
	}
	if err != nil {
		got.Err = err
		return got
	}
	got.Schedule, got.Effect = is.Schedule, effectOf(was, is)
	if outgoing != nil {
		m.outgoing = append(m.outgoing, *outgoing)
		m.runs += len(outgoing.plan.Runs)
	}
	if was == nil {
		m.inserts = append(m.inserts, *is)
	} else {
		m.updates = append(m.updates, ScheduleUpdate{is, ScheduleColPosition | ScheduleColContent})
	}
	r.changed = append(r.changed, is.JobID)
	return got
}

func effectOf(was, is *ScheduleRow) ScheduleEffect {
	switch {
	case !is.DeletedAt.IsZero():
		return ScheduleDeleted
	case was == nil || !was.DeletedAt.IsZero():
		return ScheduleCreated
	}
	return ScheduleChanged
}

// check reports whether the change is made already, or why it is refused.
func (in *ScheduleChange) check(was *ScheduleRow) (done bool, err error) {
	exists := was != nil && was.DeletedAt.IsZero()
	same := exists && !in.Delete && was.equal(&in.ScheduleContent) || was != nil && !exists && in.Delete
	switch {
	case was != nil && in.Generation != 0 && in.Generation < was.Generation:
		return false, ErrGeneration
	case same:
		return true, nil
	case was != nil && in.Generation != 0 && in.Generation == was.Generation:
		return false, ErrGeneration
	case in.IfRevision == MustNotExist && exists, in.IfRevision > 0 && (!exists || was.Revision != in.IfRevision):
		return false, ErrOtherRevision
	case in.Delete && was == nil && in.Generation == 0: // with one, a tombstone refuses what comes late
		return false, ErrNotFound
	}
	return false, nil
}

// nextContent returns the schedule as it is with the change, and the plan of the content that ends.
func (m *scheduleChangeTx) nextContent(
	r *scheduleRequest, in *ScheduleChange, was *ScheduleRow,
) (is *ScheduleRow, outgoing *currentPlan, err error) {
	is = &ScheduleRow{TemplateID: m.template.ID, Schedule: Schedule{JobID: in.JobID}}
	earliest, from := time.Time{}, m.now
	if was != nil {
		*is = *was
		earliest, from = was.Watermark, clocks.Later(m.now, was.Watermark)
		if was.InQuota() {
			if outgoing, err = m.planOutgoing(r, was, from); err != nil {
				return nil, nil, err
			}
			if in.Delete {
				outgoing.job.EndedAt = m.now
			}
		}
	}
	is.Revision++
	is.Generation, is.ChangedAt, is.ChangedBy = max(is.Generation, in.Generation), m.now, r.By
	is.Watermark, is.NextAt, is.EndedAt = from, time.Time{}, time.Time{}
	if is.CreatedAt.IsZero() || !is.DeletedAt.IsZero() {
		is.CreatedAt = m.now
	}
	if in.Delete {
		is.DeletedAt, is.EndedAt = m.now, m.now
		return is, outgoing, nil
	}
	is.ScheduleContent, is.DeletedAt = in.ScheduleContent, time.Time{}
	if is.Watermark, err = r.Rules.Begin(&is.Schedule, earliest, from); err == nil {
		is.NextAt, err = nextCheck(r.Rules, &is.Schedule, m.now)
	}
	if err == nil && is.NextAt.IsZero() {
		err = errors.New("all its scheduled times have passed; set a schedule that has one to come")
	}
	if err == nil && outgoing != nil && is.Watermark.Before(from) {
		err = outgoing.plan.exclude(is.Watermark.Add(time.Second), r.Rules, &was.Schedule)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s: %w", ErrInvalidSchedule, in.JobID, err)
	}
	return is, outgoing, nil
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
	rest := *s
	rest.Watermark = at
	after, _, err := rules.Plan(&rest, p.Through, true)
	p.Runs = slices.Concat(before.Runs, after.Runs)
	return err
}

// planOutgoing plans what the schedule's content is to do until a time, at which it ends.
func (m *scheduleChangeTx) planOutgoing(r *scheduleRequest, was *ScheduleRow, from time.Time) (*currentPlan, error) {
	p, _, err := r.Rules.Plan(&was.Schedule, from, true)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalidSchedule, was.JobID, err)
	case p.Through.Before(from.Truncate(time.Second)): // also alone
		return nil, ErrBacklog
	case m.runs > 0 && m.runs+len(p.Runs) > maxBacklog:
		m.overLimit = true
		return nil, ErrBacklog
	}
	p.Through = from
	return &currentPlan{&p, was.jobWithPauseOf(m.job)}, nil
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

// countQuota counts the schedules in the template's quota.
func (m *scheduleChangeTx) countQuota(r *scheduleRequest, is, was *ScheduleRow) error {
	wasInQuota := was != nil && was.InQuota()
	switch {
	case wasInQuota == is.InQuota():
	case wasInQuota:
		m.template.Schedules--
	case r.Max > 0 && m.template.Schedules >= r.Max:
		return fmt.Errorf("%w: template %s has %d", ErrQuota, r.Template, m.template.Schedules)
	default:
		m.template.Schedules++
	}
	return nil
}
