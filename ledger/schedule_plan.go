package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/clocks"
)

// SchedulePlanning plans a batch of schedules that are due, in one transaction: it writes
// their runs as an Admission does, and when they are due next.
type SchedulePlanning struct {
	Templates []TemplateRevision // whose current definition the process has
	// After is the template that was planned last. The next due template by name is planned first, so
	// that a template with very many schedules does not keep the others waiting.
	After string
	Rules ScheduleRules
	// Mark, if it is set, marks the runs that can start now: RunSpec.Lease. It is called in
	// each transaction, perhaps more than once, and by two at a time.
	Mark     func([]Plan)
	Process  string // as in an Admission
	Token    string
	LeaseFor time.Duration
}

// TemplateRevision is the revision of a template's job, with the hash of its definition.
type TemplateRevision struct {
	Template string
	Revision int64
	Hash     string
}

// PlannedSchedules is the result of a SchedulePlanning. Stale is not used.
type PlannedSchedules struct {
	Admitted
	Plans    []Plan
	Template string // the one that was planned; "": none
	// NextAt is when the next schedule is due, of the templates that may be planned; zero:
	// none is. If it is not after Now, plan again at once.
	NextAt time.Time
	// Moved are the templates that have another revision.
	Moved []string
	// Sweep is the sweep to make next, without Rules and After. Without a Template, there is none.
	Sweep ScheduleSweep
	// Failed has the schedules that the rules could not plan, which are tried again after 15
	// minutes, or when a sweep finds them: their template has an open incident meanwhile.
	Failed []FailedSchedule
}

// FailedSchedule is a schedule that could not be planned, and why.
type FailedSchedule struct {
	JobID string
	Err   error
}

const (
	planAtOnce = 500     // schedules of one transaction, and about as many rows; two run at a time
	planBytes  = 1 << 20 // about how many bytes of calls
	// maxBacklog is the number of runs of a template that may be due for backlogAfter before its
	// schedules wait: runs are claimed first in, first out, so that those of other jobs would
	// come late. dueWindow is how many such runs are counted.
	maxBacklog   = 5000
	backlogAfter = 5 * time.Second
	dueWindow    = 20_000

	planFailedAfter = 15 * time.Minute
	// planDeferredAfter is when a schedule that a pause keeps back is checked again, if no sweep
	// after a change of the pause has found it. A pause may keep back a million.
	planDeferredAfter = 5 * time.Minute
)

// PlanSchedules plans a batch of due schedules. See SchedulePlanning.
func (l *Ledger) PlanSchedules(ctx context.Context, p SchedulePlanning) (PlannedSchedules, error) {
	due, err := read(ctx, l, "find due schedules", func(tx Tx) (dueTemplates, error) { return p.findDue(tx, &l.due) })
	if err != nil {
		return due.PlannedSchedules, err
	}
	for _, template := range due.templates {
		batches, err := l.planBatches(ctx, schedulePlanTx{SchedulePlanning: p, template: template, since: due.since})
		if err != nil {
			return PlannedSchedules{}, err
		}
		for _, m := range batches {
			due.Moved = append(due.Moved, m.moved...)
			if len(m.updates) > 0 {
				due.add(m)
			}
		}
		if due.Template != "" {
			return due.PlannedSchedules, nil
		}
		due.NextAt = time.Time{} // others have locked what is due: find it after the next poll
	}
	return due.PlannedSchedules, nil
}

// planBatches plans a batch of a template, and while the rows of a full one are written,
// another. If one fails, the caller finds the leases of the other by their token.
func (l *Ledger) planBatches(ctx context.Context, p schedulePlanTx) ([]*schedulePlanTx, error) {
	full, ended := make(chan struct{}), make(chan error, 1)
	var first, second *schedulePlanTx
	var err error
	go func() {
		var err error
		first, err = l.planBatch(ctx, p, sync.OnceFunc(func() { close(full) }))
		ended <- err
	}()
	select {
	case err = <-ended:
		return []*schedulePlanTx{first}, err
	case <-full:
	}
	second, err = l.planBatch(ctx, p, func() {})
	err = errors.Join(<-ended, err) // first is not set before
	return []*schedulePlanTx{first, second}, err
}

// planBatch plans a batch in a transaction. It calls full if there may be more.
func (l *Ledger) planBatch(ctx context.Context, p schedulePlanTx, full func()) (m *schedulePlanTx, err error) {
	err = l.rows.Write(ctx, "plan schedules of "+p.template, func(tx Tx) error {
		fresh := p // the transaction may run more than once
		m = &fresh
		m.full, m.admission = full, admissionTx{tx: tx, Admission: Admission{Process: p.Process, Token: p.Token, LeaseFor: p.LeaseFor}}
		return m.run()
	})
	if err == nil {
		err = m.admission.countWritten()
	}
	return m, err
}

// add adds a batch that was planned.
func (d *dueTemplates) add(m *schedulePlanTx) {
	got := &m.admission.got
	d.Template, d.Now = m.template, got.Now
	d.Plans, d.Failed = append(d.Plans, m.admission.Plans...), append(d.Failed, m.failed...)
	d.Leased, d.Deferred = append(d.Leased, got.Leased...), append(d.Deferred, got.Deferred...)
	if d.Skipped == nil {
		d.Skipped = map[Reason]int{}
	}
	for reason, n := range got.Skipped {
		d.Skipped[reason] += n
	}
}

// schedulePlanTx plans schedules of one template in a transaction. Their locks keep other processes
// from planning them; the rows are written as those of an admission.
type schedulePlanTx struct {
	SchedulePlanning
	template  string
	since     time.Time // see dueFloor
	full      func()
	admission admissionTx
	current   []currentPlan
	updates   []ScheduleUpdate
	ended     int
	bytes     int
	moved     []string
	failed    []FailedSchedule
	failing   []*ScheduleRow // of failed
}

// run locks a batch of due schedules, plans each up to the bounds of the batch, and writes. It
// plans none if the template's definition is another by now.
func (m *schedulePlanTx) run() (err error) {
	a := &m.admission
	a.got = Admitted{Skipped: map[Reason]int{}}
	// The job is read after the schedules are locked: what a later definition has swept is
	// not planned by an earlier one. All pauses are read, which are few, as it is not known
	// yet how far back the schedules' watermarks are.
	dueFuture, jobsFuture := a.tx.LockDueSchedules(m.template, m.since, planAtOnce), a.tx.Jobs([]string{m.template})
	pausesFuture := a.tx.Pauses(time.Unix(0, 0))
	rows, err := dueFuture.Get()
	if err != nil || len(rows) == 0 {
		return err
	}
	if len(rows) == planAtOnce {
		m.full()
	}
	jobs, err := jobsFuture.Get()
	if err != nil {
		return err
	}
	if a.pauses, err = pausesFuture.Get(); err != nil {
		return err
	}
	if m.moved = m.SchedulePlanning.moved(jobs); slices.Contains(m.moved, m.template) {
		return nil
	}
	m.moved = nil
	if a.got.Now, err = a.tx.Now(); err != nil {
		return err
	}
	for i := range rows {
		m.plan(&rows[i], jobs[0])
		if m.bytes >= planBytes || len(a.Plans) > 0 && m.rows() >= planAtOnce {
			break
		}
	}
	return m.write()
}

// rows returns the number of rows that the batch has so far.
func (m *schedulePlanTx) rows() (n int) {
	for i := range m.current {
		n += len(m.current[i].plan.Runs)
	}
	return n
}

// plan plans one schedule, up to a pause that catches up and lasts.
func (m *schedulePlanTx) plan(s *ScheduleRow, template JobRow) {
	now := m.admission.got.Now
	p, next, err := m.Rules.Plan(&s.Schedule, now, false)
	if err == nil && (p.Through.After(now) && p.Through.After(s.Watermark) || p.Through.Before(s.Watermark)) {
		err = fmt.Errorf("its plan ends at %s; this is a defect of cronce, please report it", p.Through)
	}
	m.updates = append(m.updates, ScheduleUpdate{s, ScheduleColPosition})
	if err != nil {
		m.failed, m.failing = append(m.failed, FailedSchedule{s.JobID, err}), append(m.failing, s)
		s.NextAt = now.Add(planFailedAfter)
		return
	}
	j, kept := s.jobWithPauseOf(template), m.admission.deferPaused(&p)
	s.Watermark, s.NextAt = kept.Through, nextCheckAt(next, now)
	switch deferred := m.admission.got.Deferred; {
	case kept != &p:
		s.NextAt = clocks.Earlier(deferred[len(deferred)-1].Until, now.Add(planDeferredAfter))
	case s.NextAt.IsZero():
		s.EndedAt = now
		m.ended++
	}
	for i := range kept.Runs {
		m.bytes += len(kept.Runs[i].Call.Body)
	}
	m.current = append(m.current, currentPlan{kept, j})
}

// write writes the rows of the plans, then the schedules, and last what locks the template.
func (m *schedulePlanTx) write() error {
	a := &m.admission
	if m.Mark != nil {
		m.markLeases()
	}
	if err := a.admitSchedules(m.current); err != nil {
		return err
	}
	if err := a.tx.UpdateSchedules(m.updates); err != nil {
		return err
	}
	if err := m.countEnded(); err != nil {
		return err
	}
	return m.openFailedIncident()
}

// countEnded counts the schedules that end. It locks their template as late as possible: other
// batches and changes wait for it.
func (m *schedulePlanTx) countEnded() error {
	if m.ended == 0 {
		return nil
	}
	t, err := m.admission.tx.LockTemplate(m.template).Get()
	if err != nil {
		return err
	}
	t.Schedules -= m.ended
	return m.admission.tx.PutTemplate(t)
}

// markLeases marks the runs of all plans together.
func (m *schedulePlanTx) markLeases() {
	plans := make([]Plan, len(m.current))
	for i := range m.current {
		plans[i] = *m.current[i].plan
	}
	m.Mark(plans)
}
