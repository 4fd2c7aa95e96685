package ledger

import (
	"slices"
	"time"

	"github.com/cronce/cronce/internal/clocks"
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

// truncate leaves the first runs of the plan, which are scheduled before a time, and the events up
// to it. The rest is planned again from there, after the pause.
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

// duePage is the number of runs that moveDue changes at once.
const duePage = 500

// lockCatchUps locks the pauses that catch up, before one of them is changed, or a new one is
// made: of two changes at once, the second one finds the runs due as the first one made them. It has
// the schedules swept that the existing pause kept back.
func (c PauseChange) lockCatchUps(tx Tx, list pauses, now time.Time) error {
	kind := c.Kind
	for i := range list {
		if list[i].ID == c.ID {
			kind = list[i].Kind
		}
	}
	if kind != PauseCatchUp {
		return nil
	}
	if c.ID != 0 {
		if err := sweepAll(tx, now); err != nil {
			return err
		}
	}
	_, err := list.lockCatchUps(tx, func(Pause) bool { return true })
	return err
}

// moveDue makes the runs that wait for the end of a pause that catches up due when no pause covers
// them any more, after a change of old to p.
func moveDue(tx Tx, old, p Pause) error {
	list, err := tx.Pauses(time.Time{}).Get()
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(pauses(list), func(o Pause) bool { return o.ID == p.ID })
	f := Filter{States: []State{Planned}, Since: clocks.Earlier(old.From, p.From), Until: clocks.Later(old.Until, p.Until), Limit: duePage}
	for {
		page, err := tx.Runs(f).Get()
		if err != nil || len(page) == 0 {
			return err
		}
		var ids []string
		for i := range page {
			if r := &page[i]; !others.newDueTime(r, old, p).Equal(r.DueAt()) {
				ids = append(ids, r.ID)
			}
		}
		var rows []Row
		if len(ids) > 0 {
			if rows, err = tx.LockRuns(ids).Get(); err != nil {
				return err
			}
		}
		var changes []RowChange
		for i := range rows {
			if r := &rows[i]; r.State == Planned { // it was not leased meanwhile
				before := *r
				r.SetDueAt(others.newDueTime(r, old, p))
				changes = append(changes, DiffRows(&before, r))
			}
		}
		if err := update(tx, changes); err != nil || len(page) < duePage {
			return err
		}
		last := page[len(page)-1]
		f.After = &Cursor{last.ScheduledAt, last.ID}
	}
}

// newDueTime returns when a planned run is due after a change of old to p, beside the
// other pauses. Rows lack the owners and labels of their jobs: a pause that ends after the run is
// due does not cover it, and the others are taken to cover it. By an owner or a label, p makes a
// run due later only if the run waits for its end: the run may be another owner's.
func (list pauses) newDueTime(r *Row, old, p Pause) time.Time {
	due, waits := r.ScheduledAt, old.mayCover(r) && old.Until.Equal(r.DueAt())
	for _, o := range list {
		if o.mayCover(r) && !o.Until.After(r.DueAt()) {
			due, waits = clocks.Later(due, o.Until), waits || o.Until.Equal(r.DueAt())
		}
	}
	if !waits {
		return r.DueAt()
	}
	certain := p.Owner == "" && len(p.Labels) == 0 || old.mayCover(r) && old.Until.Equal(r.DueAt())
	if p.mayCover(r) && (certain || !p.Until.After(r.DueAt())) && (!old.mayCover(r) || !old.Until.After(r.DueAt())) {
		due = clocks.Later(due, p.Until)
	}
	return due
}

// delays reports whether a run waits for the end of one of the pauses.
func (list pauses) delays(r *Row) bool {
	return r.State == Planned && slices.ContainsFunc(list, func(p Pause) bool { return p.mayCover(r) && p.Until.Equal(r.DueAt()) })
}

// followClock writes the pauses as they are after the clock was set back. Only those that change
// are locked.
func (list pauses) followClock(tx Tx, now time.Time) error {
	for _, p := range list {
		if moved := p.followClock(now); moved.From.Equal(p.From) && moved.EndedAt.Equal(p.EndedAt) {
			continue
		}
		locked, err := tx.LockPause(p.ID).Get()
		if err != nil || len(locked) == 0 {
			return err
		}
		if _, err := tx.PutPause(locked[0].followClock(now)).Get(); err != nil {
			return err
		}
	}
	return nil
}

// followClock returns the pause as it is after the clock was set back: one that began when it
// was made lasts, and one whose time was over lasts until that comes.
func (p Pause) followClock(now time.Time) Pause {
	if p.EndedAt.Equal(p.Until) && p.Until.After(now) { // no operator ended it: see apply
		p.EndedAt = time.Time{}
	}
	if p.EndedAt.IsZero() && p.From.After(now) && p.From.Equal(p.CreatedAt.Truncate(time.Second)) {
		p.From = now.Truncate(time.Second)
	}
	return p
}

// lockCatchUps locks the pauses that catch up and cover what is written, before any run is locked,
// and returns all as they are then: what is written due at the end of one moves with it. See
// moveDue.
func (list pauses) lockCatchUps(tx Tx, covers func(Pause) bool) (pauses, error) {
	for i := range list {
		if list[i].Kind != PauseCatchUp || !covers(list[i]) {
			continue
		}
		locked, err := tx.LockPause(list[i].ID).Get()
		if err != nil {
			return nil, err
		}
		for _, p := range locked {
			list[i] = p
		}
	}
	return list, nil
}

// mayCover reports whether the pause keeps back the run, if the job has its owner and labels.
func (p Pause) mayCover(r *Row) bool {
	p.Owner, p.Labels = "", nil
	return p.Kind == PauseCatchUp && p.Covers(r.JobID, Traits{Target: r.Call.Target}, r.ScheduledAt)
}
