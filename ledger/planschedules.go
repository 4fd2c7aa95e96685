package ledger

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"
)

// SchedulePlanning plans a batch of schedules that are due, in one transaction: it writes
// their runs as an Admission does, and when they are due next.
type SchedulePlanning struct {
	Templates []TemplateRevision // whose current definition the process has
	Rules     ScheduleRules
	// Mark, if it is set, marks the runs that can start now: RunSpec.Lease. It is called in
	// the transaction, perhaps more than once.
	Mark     func([]Plan)
	Owner    string // as in an Admission
	Token    string
	LeaseFor time.Duration
}

// TemplateRevision is the revision of a template's job.
type TemplateRevision struct {
	Template string
	Revision int64
}

// PlannedSchedules is the result of a SchedulePlanning. Stale is not used.
type PlannedSchedules struct {
	Admitted
	Plans []Plan
	// NextAt is when the next schedule is due, of the templates that may be planned; zero:
	// none is. If it is not after Now, plan again at once.
	NextAt time.Time
	// Moved are the templates that have another revision.
	Moved []string
	// Failed has the schedules that the rules could not plan, which are tried again after a
	// minute.
	Failed []FailedSchedule
}

// FailedSchedule is a schedule that could not be planned.
type FailedSchedule struct {
	JobID string
	Err   error
}

const (
	planAtOnce = 500     // schedules, and about as many rows
	planBytes  = 1 << 20 // about how many bytes of calls
	// maxBacklog is how many runs of a template may be due for backlogAfter before its
	// schedules wait: runs are claimed first in, first out, so that those of other jobs would
	// come late. dueWindow is how many such runs are looked at.
	maxBacklog   = 5000
	backlogAfter = 5 * time.Second
	dueWindow    = 20_000

	planFailedAfter = time.Minute
	// planHeldAfter is when a schedule that a pause keeps back is looked at again: an operator
	// may have ended the pause. A pause may keep back a million.
	planHeldAfter = 5 * time.Minute
)

// PlanSchedules plans a batch of due schedules. See SchedulePlanning.
func (l *Ledger) PlanSchedules(ctx context.Context, p SchedulePlanning) (PlannedSchedules, error) {
	due, err := read(ctx, l, "look for due schedules", p.look)
	if err != nil || due.template == "" {
		return due.PlannedSchedules, err
	}
	var m *schedulePlanTx
	err = l.rows.Write(ctx, "plan schedules of "+due.template, func(tx Tx) error {
		m = &schedulePlanTx{SchedulePlanning: p, template: due.template, admission: admissionTx{tx: tx, Admission: Admission{Owner: p.Owner, Token: p.Token, LeaseFor: p.LeaseFor}}}
		return m.run()
	})
	if err == nil {
		err = m.admission.count()
	}
	if err != nil {
		return PlannedSchedules{}, err
	}
	due.Admitted, due.Plans, due.Failed = m.admission.got, m.admission.Plans, m.failed
	due.Moved = append(due.Moved, m.moved...)
	if len(m.updates) == 0 {
		due.NextAt = time.Time{} // others have locked what is due: look again after the next poll
	}
	return due.PlannedSchedules, nil
}

// dueTemplate is the template to plan next; "": none is.
type dueTemplate struct {
	PlannedSchedules
	template string
}

// look finds the template whose schedules are due longest, of those that have no backlog.
func (p SchedulePlanning) look(tx Tx) (got dueTemplate, err error) {
	names := make([]string, len(p.Templates))
	for i, t := range p.Templates {
		names[i] = t.Template
	}
	asked, jobs, paused := tx.FirstDue(names), tx.PeekJobs(names), tx.Pauses(time.Time{})
	if got.Now, err = tx.Now(); err != nil {
		return got, err
	}
	first, err := asked.Get()
	if err != nil {
		return got, err
	}
	list, err := jobs.Get()
	if err != nil {
		return got, err
	}
	got.Moved = p.moved(list)
	names = slices.DeleteFunc(names, func(n string) bool { return first[n].IsZero() || slices.Contains(got.Moved, n) })
	if len(names) == 0 {
		return got, nil
	}
	sort.Slice(names, func(i, k int) bool { return first[names[i]].Before(first[names[k]]) })
	if got.NextAt = first[names[0]]; got.NextAt.After(got.Now) {
		return got, nil
	}
	backlog, due, err := backlogs(tx, got.Now, paused)
	i := slices.IndexFunc(names, func(n string) bool { return backlog[n] < maxBacklog })
	if i < 0 || err != nil || due >= dueWindow {
		got.NextAt = time.Time{} // look again after the next poll
		return got, err
	}
	if got.NextAt = first[names[i]]; !got.NextAt.After(got.Now) {
		got.template = names[i]
	}
	return got, nil
}

// backlogs returns how many runs of each template are due for a while, and how many are to
// be claimed before others: not those of held targets, which wait without being in the way.
func backlogs(tx Tx, now time.Time, paused Later[[]Pause]) (byTemplate map[string]int, due int, err error) {
	list, err := paused.Get()
	if err != nil {
		return nil, 0, err
	}
	by, held := now.Add(-backlogAfter), pauses(list).held(now)
	all := tx.CountDue(by, dueWindow, nil)
	others := all
	if len(held) > 0 {
		others = tx.CountDue(by, dueWindow, held)
	}
	if byTemplate, err = all.Get(); err != nil {
		return nil, 0, err
	}
	rest, err := others.Get()
	for t, n := range rest {
		byTemplate[t] = max(byTemplate[t], n)
		due += n
	}
	return byTemplate, due, err
}

// moved returns the templates that have another revision, or have ended.
func (p SchedulePlanning) moved(jobs []JobRow) (moved []string) {
	for _, t := range p.Templates {
		if !slices.ContainsFunc(jobs, func(j JobRow) bool {
			return j.JobID == t.Template && j.Revision == t.Revision && j.EndedAt.IsZero()
		}) {
			moved = append(moved, t.Template)
		}
	}
	return moved
}

// schedulePlanTx plans schedules of one template in a transaction.
type schedulePlanTx struct {
	SchedulePlanning
	template  string
	admission admissionTx
	current   []currentPlan
	updates   []ScheduleUpdate
	ended     int
	bytes     int
	moved     []string
	failed    []FailedSchedule
}

func (m *schedulePlanTx) run() (err error) {
	a := &m.admission
	a.got = Admitted{Skipped: map[Reason]int{}}
	// The job is read after the schedules are locked: what a later definition has swept is
	// not planned by an earlier one.
	rows, err := a.tx.DueSchedules(m.template, planAtOnce).Get()
	if err != nil || len(rows) == 0 {
		return err
	}
	first := slices.MinFunc(rows, func(x, y ScheduleRow) int { return x.Watermark.Compare(y.Watermark) }).Watermark
	asked, paused := a.tx.PeekJobs([]string{m.template}), a.tx.Pauses(first)
	jobs, err := asked.Get()
	if err != nil {
		return err
	}
	if a.pauses, err = paused.Get(); err != nil {
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

func (m *schedulePlanTx) rows() (n int) {
	for i := range m.current {
		n += len(m.current[i].plan.Runs)
	}
	return n
}

// plan plans one schedule, up to a pause that catches up and lasts.
func (m *schedulePlanTx) plan(s *ScheduleRow, template JobRow) {
	now := m.admission.got.Now
	p, err := m.Rules.Plan(&s.Schedule, now, false)
	if err == nil && (p.Through.After(now) && p.Through.After(s.Watermark) || p.Through.Before(s.Watermark)) {
		err = fmt.Errorf("its plan ends at %s; this is a defect of cronce, please report it", p.Through)
	}
	j, kept := s.jobUnder(template), &p
	if err == nil {
		kept = m.admission.keepBack(&p)
		s.Watermark = kept.Through
		s.NextAt, err = nextLook(m.Rules, &s.Schedule, now)
	}
	if err != nil {
		m.failed = append(m.failed, FailedSchedule{s.JobID, err})
		s.Watermark, s.NextAt = j.Watermark, now.Add(planFailedAfter)
		m.updates = append(m.updates, ScheduleUpdate{s, SchedulePosition})
		return
	}
	switch held := m.admission.got.Held; {
	case kept != &p:
		s.NextAt = earlier(held[len(held)-1].Until, now.Add(planHeldAfter))
	case s.NextAt.IsZero():
		s.EndedAt = now
		m.ended++
	}
	for i := range kept.Runs {
		m.bytes += len(kept.Runs[i].Call.Body)
	}
	m.current = append(m.current, currentPlan{kept, j})
	m.updates = append(m.updates, ScheduleUpdate{s, SchedulePosition})
}

func (m *schedulePlanTx) write() error {
	a := &m.admission
	if m.ended > 0 {
		t, err := a.tx.LockTemplate(m.template).Get()
		if err != nil {
			return err
		}
		t.Live -= m.ended
		if err := a.tx.PutTemplate(t); err != nil {
			return err
		}
	}
	if m.Mark != nil {
		m.mark()
	}
	if err := a.admitKeyed(m.current); err != nil {
		return err
	}
	return a.tx.UpdateSchedules(m.updates)
}

// mark marks the runs of all plans together.
func (m *schedulePlanTx) mark() {
	plans := make([]Plan, len(m.current))
	for i := range m.current {
		plans[i] = *m.current[i].plan
	}
	m.Mark(plans)
}
