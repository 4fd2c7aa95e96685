package ledger

import (
	"context"
	"maps"
	"slices"
)

// Admit writes the plans that are still current, each as a whole or not at all. See
// Admission.
func (l *Ledger) Admit(ctx context.Context, a Admission) (Admitted, error) {
	if err := a.Validate(); err != nil {
		return Admitted{}, err
	}
	var m admissionTx
	err := l.rows.Write(ctx, "admit", func(tx Tx) error {
		m = admissionTx{Admission: a, tx: tx, got: Admitted{Skipped: map[Reason]int{}}}
		return m.run()
	})
	if err == nil {
		err = m.countWritten()
	}
	if err != nil {
		return Admitted{}, err
	}
	return m.got, nil
}

// admissionTx is an Admission in its transaction: read locks the jobs and finds the plans that are
// still current, write makes their rows, and incidents follow. Admit makes one, and the
// transactions of schedules do: see admitSchedules. After the commit, countWritten takes the result
// of the insert.
type admissionTx struct {
	Admission
	tx         Tx
	pauses     pauses
	last       bool // the plans are the last of their schedules' contents
	slots      slots
	existing   map[string]bool        // of the runs of jobs with several that take the slot
	singleRows map[string]Future[int] // of each range row: its scheduled times that have rows of their own
	got        Admitted

	rows            []Row
	missed          bool            // some of them are
	opensNoIncident map[string]bool // missed ones for which no incident is opened
	inserted        Future[[]bool]
	moves           []JobChange
	events          []Event
}

func (m *admissionTx) run() error {
	current, err := m.read()
	if err != nil {
		return err
	}
	m.moves = make([]JobChange, 0, len(current))
	if err := m.write(current); err != nil {
		return err
	}
	if len(m.moves) > 0 {
		if err := m.tx.PutJobs(m.moves); err != nil {
			return err
		}
	}
	return m.openMissedIncidents()
}

// admitSchedules writes the rows of plans of schedules, which are locked. Their positions and
// the pauses are the caller's.
func (m *admissionTx) admitSchedules(current []currentPlan) error {
	for _, c := range current {
		m.Plans = append(m.Plans, *c.plan)
	}
	if err := m.Validate(); err != nil {
		return err
	}
	slotsFuture, existingFuture := m.querySlots()
	m.countSingleRows()
	if err := m.lockAndGrant(slotsFuture, existingFuture); err != nil {
		return err
	}
	if err := m.write(current); err != nil {
		return err
	}
	return m.openMissedIncidents()
}

// write makes the rows and the events of plans, in one insert. What the insert wrote is known after
// the commit, in the same round trip.
func (m *admissionTx) write(current []currentPlan) error {
	m.rows, m.opensNoIncident = make([]Row, 0, len(current)), map[string]bool{}
	for _, c := range current {
		if err := m.addPlan(c.plan, c.job); err != nil {
			return err
		}
	}
	if len(m.rows) > 0 {
		m.inserted = m.tx.Insert(m.rows)
	}
	if len(m.events) > 0 {
		return m.tx.AddEvents(m.events)
	}
	return nil
}

// currentPlan is a plan that was made from where its job stands.
type currentPlan struct {
	plan *Plan
	job  JobRow
}

// read locks the jobs, reads what their plans depend on, and returns the current plans. The
// positions of the others are added to the result.
func (m *admissionTx) read() (current []currentPlan, err error) {
	ids := make([]string, len(m.Plans))
	for i := range m.Plans {
		ids[i] = m.Plans[i].JobID
	}
	jobsFuture, pausesFuture := m.tx.LockJobs(sortedSet(ids)), m.tx.Pauses(m.earliestAfter())
	slotsFuture, existingFuture := m.querySlots()
	m.countSingleRows()
	if m.got.Now, err = m.tx.Now(); err != nil {
		return nil, err
	}
	jobs := take(&err, jobsFuture)
	m.pauses = take(&err, pausesFuture)
	if err != nil {
		return nil, err
	}
	if err := m.lockAndGrant(slotsFuture, existingFuture); err != nil {
		return nil, err
	}
	return m.current(jobs), nil
}

// lockAndGrant locks the pauses that runs are due after, gives the free slots, and notes which runs
// exist.
func (m *admissionTx) lockAndGrant(slotsFuture Future[[]Slot], existingFuture Future[[]Row]) error {
	var err error
	list, found := take(&err, slotsFuture), take(&err, existingFuture)
	if err != nil {
		return err
	}
	if m.pauses, err = m.pauses.lockCatchUps(m.tx, m.hasRunsDueAfter); err != nil {
		return err
	}
	m.slots, m.existing = grant(m.tx, list), make(map[string]bool, len(found))
	for i := range found {
		m.existing[found[i].ID] = true
	}
	return nil
}

// querySlots asks for the slots of the jobs whose plans take them. One row takes the slot or
// is refused as it exists. Of several it has to be known before which of them exist: the
// first that does not exist takes the slot.
func (m *admissionTx) querySlots() (slotsFuture Future[[]Slot], existingFuture Future[[]Row]) {
	takers := make(map[string]string, len(m.Plans)) // by job; "": several
	var several []string
	for i := range m.Plans {
		p := &m.Plans[i]
		for k := range p.Runs {
			in := &p.Runs[k]
			if !in.takesSlot() {
				continue
			}
			switch first, another := takers[p.JobID]; {
			case !another:
				takers[p.JobID] = in.RunID
			case first != "":
				takers[p.JobID] = ""
				several = append(several, first, in.RunID)
			default:
				several = append(several, in.RunID)
			}
		}
	}
	if len(takers) == 0 {
		return slotsFuture, existingFuture
	}
	slotsFuture = m.tx.Slots(slices.Sorted(maps.Keys(takers)))
	if len(several) > 0 {
		existingFuture = m.tx.Runs(Filter{IDs: several})
	}
	return slotsFuture, existingFuture
}

// countSingleRows asks how many scheduled times of each range row have rows of their own.
func (m *admissionTx) countSingleRows() {
	m.singleRows = map[string]Future[int]{}
	for i := range m.Plans {
		p := &m.Plans[i]
		for k := range p.Runs {
			if in := &p.Runs[k]; !in.Until.IsZero() {
				m.singleRows[in.RunID] = m.tx.CountSingles(p.JobID, in.ScheduledAt, in.Until)
			}
		}
	}
}

// current returns the plans that were made from where their jobs stand.
func (m *admissionTx) current(jobs []JobRow) (current []currentPlan) {
	byID := jobsByID(jobs)
	current = make([]currentPlan, 0, len(m.Plans))
	for i := range m.Plans {
		p := &m.Plans[i]
		j := byID[p.JobID]
		switch {
		case j == nil:
			m.got.Stale = append(m.got.Stale, Position{JobID: p.JobID})
		case !j.admits(p, m.got.Now):
			m.got.Stale = append(m.got.Stale, j.Position)
		default:
			p = m.deferPaused(p)
			current = append(current, currentPlan{p, *j})
			j.Watermark = p.Through.UTC() // of another plan of the job, if there is one
		}
	}
	return current
}

// addPlan adds the rows, the events and the watermark of a plan. It leaves out scheduled times that
// have rows of their own: an event may come before the plan.
func (m *admissionTx) addPlan(p *Plan, old JobRow) error {
	for i := range p.Runs {
		in := p.Runs[i]
		singles, err := m.singleRows[in.RunID].Get()
		if err != nil {
			return err
		}
		if in.Count -= singles; !in.Until.IsZero() && in.Count <= 0 || m.existing[in.RunID] {
			continue
		}
		r := newRow(in, old, m.pauses.covering(p.JobID, p.Traits, in.ScheduledAt), m.got.Now)
		if r.State == Missed {
			m.missed, m.opensNoIncident[r.ID] = true, m.covered(p, &in) || !old.EndedAt.IsZero()
		}
		m.slots.applyOverlap(&r, in.Overlap, m.got.Now)
		if in.Lease && r.startable(m.got.Now) && m.pauses.holdOf(in.Call.Target, m.got.Now) == nil {
			r.lease(m.Process, m.Token, m.got.Now, m.LeaseFor)
		}
		m.rows = append(m.rows, r)
	}
	for _, e := range p.Events {
		e.JobID = p.JobID
		m.events = append(m.events, e)
	}
	j := old
	j.Watermark = p.Through.UTC()
	if p.Next != nil {
		m.events = append(m.events, j.switchRevision(*p.Next, m.got.Now)...)
	}
	if move := DiffJobs(old, j); move.Set != 0 {
		m.moves = append(m.moves, move)
	}
	return nil
}

// openMissedIncidents opens the incidents of missed rows that were written.
func (m *admissionTx) openMissedIncidents() error {
	if !m.missed {
		return nil
	}
	inserted, err := m.inserted.Get()
	if err != nil {
		return err
	}
	var missed []problem
	for i := range m.rows {
		if r := &m.rows[i]; r.State == Missed && inserted[i] && !m.opensNoIncident[r.ID] {
			missed = append(missed, problem{JobID: r.JobID, RunID: r.ID, Reason: r.Reason, Count: r.Count})
		}
	}
	return openIncidents(m.tx, IncidentMissed, missed, m.got.Now)
}

// countWritten adds the rows that were written to the result. A row whose ID another one has was
// not written, and is nobody's work here.
func (m *admissionTx) countWritten() error {
	inserted, err := m.inserted.Get()
	if err != nil {
		return err
	}
	for i := range m.rows {
		switch r := &m.rows[i]; {
		case !inserted[i]: // a run with its ID accounts for it
		case r.State == Running:
			if m.got.Leased == nil {
				m.got.Leased = make([]Work, 0, len(m.rows)-i)
			}
			m.got.Leased = append(m.got.Leased, r.work())
		case r.State == Skipped:
			m.got.Skipped[r.Reason]++
		}
	}
	return nil
}
