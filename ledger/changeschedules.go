package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ChangeSchedules creates, changes or deletes schedules. See ChangeSchedules.
func (l *Ledger) ChangeSchedules(ctx context.Context, c ChangeSchedules) ([]ScheduleResult, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	for range 3 {
		results, err := write(ctx, l, "change schedules of "+c.Template, func(tx Tx) ([]ScheduleResult, error) {
			m := scheduleChangeTx{ChangeSchedules: c, tx: tx}
			return m.run()
		})
		if !errors.Is(err, errInsertedMeanwhile) {
			return results, err
		}
	}
	return nil, fmt.Errorf("change schedules of %s: %w", c.Template, errInsertedMeanwhile)
}

// errInsertedMeanwhile is the end of a transaction that is made again: another one made the
// same schedule.
var errInsertedMeanwhile = fmt.Errorf("another process made the schedule at the same time: %w", ErrUnavailable)

// scheduleChangeTx is a ChangeSchedules in its transaction.
type scheduleChangeTx struct {
	ChangeSchedules
	tx       Tx
	now      time.Time
	template TemplateRow
	job      JobRow // of the template, if a schedule is live
	results  []ScheduleResult

	outgoing []currentPlan // of contents that end
	runs     int           // of these
	inserts  []ScheduleRow
	updates  []ScheduleUpdate
	changed  []string // job IDs
}

func (m *scheduleChangeTx) run() ([]ScheduleResult, error) {
	stored, err := m.read()
	if err != nil {
		return nil, err
	}
	m.results = make([]ScheduleResult, len(m.Items))
	live := m.template.Live
	for i := range m.Items {
		m.results[i] = m.change(&m.Items[i], stored[m.Items[i].JobID])
	}
	if len(m.inserts)+len(m.updates) == 0 {
		return m.results, nil
	}
	if err := m.write(); err != nil {
		return nil, err
	}
	if m.template.Live != live {
		if err := m.tx.PutTemplate(m.template); err != nil {
			return nil, err
		}
	}
	if len(m.changed) == 0 {
		return m.results, nil
	}
	return m.results, addAudit(m.tx, m.audit(), nil, m.results)
}

// read locks the schedules, and then, if one may begin or end, the template.
func (m *scheduleChangeTx) read() (stored map[string]*ScheduleRow, err error) {
	ids := make([]string, len(m.Items))
	for i := range m.Items {
		ids[i] = m.Items[i].JobID
	}
	asked := m.tx.LockSchedules(sortedSet(ids))
	if m.now, err = m.tx.Now(); err != nil {
		return nil, err
	}
	rows, err := asked.Get()
	if err != nil {
		return nil, err
	}
	stored = make(map[string]*ScheduleRow, len(rows))
	for i := range rows {
		stored[rows[i].JobID] = &rows[i]
	}
	if slices.ContainsFunc(rows, func(s ScheduleRow) bool { return s.Live() }) {
		jobs, err := m.tx.PeekJobs([]string{m.Template}).Get()
		if err != nil {
			return nil, err
		}
		if len(jobs) > 0 {
			m.job = jobs[0]
		}
	}
	for i := range m.Items {
		if was := stored[m.Items[i].JobID]; was == nil || m.Items[i].Delete || !was.Live() {
			m.template, err = m.tx.LockTemplate(m.Template).Get()
			break
		}
	}
	return stored, err
}

// change decides about one item, and notes what is to be written.
func (m *scheduleChangeTx) change(in *ScheduleChange, was *ScheduleRow) (got ScheduleResult) {
	got.Effect = ScheduleUnchanged
	if was != nil {
		got.Schedule = was.Schedule
	}
	done, err := in.decided(was)
	switch {
	case err != nil:
		got.Err = err
		return got
	case done:
		if was != nil && in.Generation > was.Generation {
			was.Generation = in.Generation
			m.updates = append(m.updates, ScheduleUpdate{was, ScheduleSaid})
			got.Schedule = was.Schedule
		}
		return got
	}
	is, outgoing, err := m.next(in, was)
	if err == nil {
		err = m.count(is, was)
	}
	if err != nil {
		got.Err = err
		return got
	}
	got.Schedule, got.Effect = is.Schedule, effect(was, is)
	if outgoing != nil {
		m.outgoing = append(m.outgoing, *outgoing)
		m.runs += len(outgoing.plan.Runs)
	}
	if was == nil {
		m.inserts = append(m.inserts, *is)
	} else {
		m.updates = append(m.updates, ScheduleUpdate{is, SchedulePosition | ScheduleSaid})
	}
	m.changed = append(m.changed, is.JobID)
	return got
}

func effect(was, is *ScheduleRow) ScheduleEffect {
	switch {
	case !is.DeletedAt.IsZero():
		return ScheduleDeleted
	case was == nil || !was.DeletedAt.IsZero():
		return ScheduleCreated
	}
	return ScheduleChanged
}

// decided reports whether the change is made already, or why it is refused.
func (in *ScheduleChange) decided(was *ScheduleRow) (done bool, err error) {
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

// next returns the schedule as it is with the change, and the plan of the content that ends.
func (m *scheduleChangeTx) next(in *ScheduleChange, was *ScheduleRow) (is *ScheduleRow, outgoing *currentPlan, err error) {
	is = &ScheduleRow{TemplateID: m.template.ID, Schedule: Schedule{JobID: in.JobID}}
	earliest, from := time.Time{}, m.now
	if was != nil {
		*is = *was
		earliest, from = was.Watermark, later(m.now, was.Watermark)
		if was.Live() {
			if outgoing, err = m.end(was, from); err != nil {
				return nil, nil, err
			}
		}
	}
	is.Revision++
	is.Generation, is.ChangedAt, is.ChangedBy = max(is.Generation, in.Generation), m.now, m.By
	is.Watermark, is.NextAt, is.EndedAt = from, time.Time{}, time.Time{}
	if is.CreatedAt.IsZero() || !is.DeletedAt.IsZero() {
		is.CreatedAt = m.now
	}
	if in.Delete {
		is.DeletedAt, is.EndedAt = m.now, m.now
		return is, outgoing, nil
	}
	is.ScheduleContent, is.DeletedAt = in.ScheduleContent, time.Time{}
	if is.Watermark, err = m.Rules.Begin(&is.Schedule, earliest, from); err == nil {
		is.NextAt, err = nextLook(m.Rules, &is.Schedule, m.now)
	}
	if err == nil && is.NextAt.IsZero() {
		err = errors.New("it has no scheduled time from now on")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s: %w", ErrInvalidSchedule, in.JobID, err)
	}
	return is, outgoing, nil
}

// end plans what the schedule's content is to do until a time, at which it ends.
func (m *scheduleChangeTx) end(was *ScheduleRow, from time.Time) (*currentPlan, error) {
	p, err := m.Rules.Plan(&was.Schedule, from, true)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalidSchedule, was.JobID, err)
	case p.Through.Before(from.Truncate(time.Second)), m.runs > 0 && m.runs+len(p.Runs) > maxBacklog:
		return nil, ErrBacklog
	}
	p.Through = from
	return &currentPlan{&p, was.jobUnder(m.job)}, nil
}

// nextLook returns when the planner is to look at a schedule next.
func nextLook(rules ScheduleRules, s *Schedule, now time.Time) (time.Time, error) {
	next, err := rules.Next(s)
	if next.IsZero() || err != nil {
		return time.Time{}, err
	}
	return earlier(next, now.Add(LookAhead)), nil
}

// count counts the live schedules of the template.
func (m *scheduleChangeTx) count(is, was *ScheduleRow) error {
	lived := was != nil && was.Live()
	switch {
	case lived == is.Live():
	case lived:
		m.template.Live--
	case m.Max > 0 && m.template.Live >= m.Max:
		return fmt.Errorf("%w: template %s has %d", ErrQuota, m.Template, m.template.Live)
	default:
		m.template.Live++
	}
	return nil
}

func (m *scheduleChangeTx) write() error {
	if len(m.outgoing) > 0 {
		a := admissionTx{tx: m.tx, got: Admitted{Now: m.now, Skipped: map[Reason]int{}}}
		if err := a.admitKeyed(m.outgoing); err != nil {
			return err
		}
	}
	if len(m.updates) > 0 {
		if err := m.tx.UpdateSchedules(m.updates); err != nil {
			return err
		}
	}
	if len(m.inserts) == 0 {
		return nil
	}
	inserted, err := m.tx.InsertSchedules(m.inserts).Get()
	for _, ok := range inserted {
		if !ok && err == nil {
			err = errInsertedMeanwhile
		}
	}
	return err
}
