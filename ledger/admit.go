package ledger

import (
	"context"
	"time"
)

// Admit writes the plans that are still current, each as a whole or not at all. See
// Admission.
func (l *Ledger) Admit(ctx context.Context, a Admission) (Admitted, error) {
	if err := a.Validate(); err != nil {
		return Admitted{}, err
	}
	return write(ctx, l, "admit", func(tx Tx) (Admitted, error) {
		m := admission{Admission: a, tx: tx, got: Admitted{Skipped: map[Reason]int{}}}
		err := m.run()
		return m.got, err
	})
}

// admission is an Admission in progress.
type admission struct {
	Admission
	tx     Tx
	got    Admitted
	rows   []Row
	moves  []JobChange
	events []Event
	missed []problem
}

func (m *admission) run() error {
	current, err := m.lock()
	if err != nil {
		return err
	}
	m.rows, m.moves = make([]Row, 0, len(current)), make([]JobChange, 0, len(current))
	for _, c := range current {
		if err := m.plan(c.plan, c.job); err != nil {
			return err
		}
	}
	if err := m.insert(); err != nil {
		return err
	}
	if err := m.tx.PutJobs(m.moves); err != nil {
		return err
	}
	if len(m.events) > 0 {
		if err := m.tx.AddEvents(m.events); err != nil {
			return err
		}
	}
	return openIncidents(m.tx, IncidentMissed, m.missed)
}

// currentPlan is a plan that was made from where its job stands.
type currentPlan struct {
	plan *Plan
	job  JobRow
}

// lock locks the jobs and returns the current plans. The positions of the others are
// added to the result.
func (m *admission) lock() (current []currentPlan, err error) {
	ids := make([]string, len(m.Plans))
	for i := range m.Plans {
		ids[i] = m.Plans[i].JobID
	}
	jobs, err := m.tx.Jobs(sortedSet(ids))
	if err != nil {
		return nil, err
	}
	m.got.Now = m.tx.Now()
	byID := make(map[string]JobRow, len(jobs))
	for _, j := range jobs {
		byID[j.JobID] = j
	}
	for i := range m.Plans {
		p := &m.Plans[i]
		j, known := byID[p.JobID]
		if !known || !j.admits(p, m.got.Now) {
			j.JobID = p.JobID
			m.got.Stale = append(m.got.Stale, j.Position)
			continue
		}
		current = append(current, currentPlan{p, j})
		j.Watermark = p.Through.UTC() // of another plan of the job, if there is one
		byID[p.JobID] = j
	}
	return current, nil
}

// admits reports whether a plan was made from where its job stands, and does not
// reach ahead of the clock.
func (j JobRow) admits(p *Plan, now time.Time) bool {
	return j.EndedAt.IsZero() && j.Revision == p.Revision && j.Watermark.Equal(p.After) &&
		!p.Through.Before(p.After) && (!p.Through.After(now) || p.Through.Equal(p.After))
}

// plan adds what a plan writes.
func (m *admission) plan(p *Plan, j JobRow) error {
	for i := range p.Runs {
		in := p.Runs[i]
		if !in.Until.IsZero() {
			own, err := m.tx.Own(p.JobID, in.ScheduledAt, in.Until)
			if err != nil {
				return err
			}
			if in.Count -= own; in.Count <= 0 {
				continue
			}
		}
		r := newRow(in, j, m.got.Now)
		if in.Lease && r.startable(m.got.Now) {
			r.lease(m.Owner, m.Token, m.got.Now, m.LeaseFor)
		}
		m.rows = append(m.rows, r)
	}
	for _, e := range p.Events {
		e.JobID = p.JobID
		m.events = append(m.events, e)
	}
	j.Watermark = p.Through.UTC()
	set := JobWatermark
	if p.Next != nil {
		m.events = append(m.events, j.switchRevision(*p.Next, m.got.Now)...)
		set |= JobRevision
	}
	m.moves = append(m.moves, JobChange{JobRow: j, Set: set})
	return nil
}

// switchRevision ends the job's revision at its watermark, and begins the next if there
// is one.
func (j *JobRow) switchRevision(next Definition, now time.Time) []Event {
	events := []Event{{JobID: j.JobID, At: j.Watermark, Kind: EventRevisionEnded}}
	if next.Hash == "" {
		j.EndedAt, j.Body = now, nil
		return events
	}
	j.Revision++
	j.Hash, j.Body, j.EndedAt = next.Hash, next.Body, time.Time{}
	return append(events, Event{JobID: j.JobID, At: j.Watermark, Kind: EventRevisionBegun})
}

// insert writes the rows. A row that a run with its ID accounts for is left out. So
// is at first one whose slot is taken: it is then skipped or waits, as its overlap
// policy says.
func (m *admission) insert() error {
	if len(m.rows) == 0 {
		return nil
	}
	if err := m.yield(); err != nil {
		return err
	}
	inserted, err := m.tx.Insert(m.rows)
	if err != nil {
		return err
	}
	var behind []Row
	for i := range m.rows {
		switch r := &m.rows[i]; {
		case inserted[i]:
			m.count(r)
		case r.HasSlot:
			behind = append(behind, r.behind(m.got.Now))
		}
	}
	if len(behind) == 0 {
		return nil
	}
	if inserted, err = m.tx.Insert(behind); err != nil {
		return err
	}
	for i := range behind {
		if inserted[i] {
			m.count(&behind[i])
		}
	}
	return nil
}

// yield gives free slots to the runs that wait for them: no new row overtakes them.
func (m *admission) yield() error {
	var jobs []string
	for i := range m.rows {
		if m.rows[i].HasSlot {
			jobs = append(jobs, m.rows[i].JobID)
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	return grant(m.tx, sortedSet(jobs))
}

// count adds a row that was written to the result.
func (m *admission) count(r *Row) {
	switch r.State {
	case Running:
		m.got.Leased = append(m.got.Leased, r.work())
	case Skipped:
		m.got.Skipped[r.Reason]++
	case Missed:
		m.missed = append(m.missed, problem{JobID: r.JobID, RunID: r.ID, Reason: r.Reason, Count: r.Count})
	}
}
