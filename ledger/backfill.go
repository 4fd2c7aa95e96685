package ledger

import (
	"context"
	"time"
)

// BackfillRequest asks for scheduled times of a job that did not run to be run. A pause of
// the job does not stop it.
//
// A scheduled time whose row is missed, superseded, skipped or canceled becomes planned
// (backfill), due now, whatever the revision of its row. It waits for the slot, oldest first,
// whatever RunSpec.Overlap says, or, with a Pace, for a place beside the slot. A scheduled time
// that has any other row is left as it is. One without a row, unless NeverPlanned is set, or at or
// before PurgedThrough, is refused. So is one whose run was rerun, as its work may have been done.
//
// A canceled run that was leased before keeps its call and attempt numbers, and SendBefore
// moves as with a redrive. It is refused if KeySafeUntil has passed. Any other run takes the call
// given here. Failures and AcceptedAt are cleared.
//
// A scheduled time in a range row gets a row of its own, and the range's Count falls by
// one. The range row is deleted with its last scheduled time; its ID, ScheduledAt and
// Until never change. Where a scheduled time has a row of its own, that row accounts for
// it, not the range that it lies in. A time in a range row of an earlier revision is
// refused, as another definition planned it and it may never have been a scheduled time.
type BackfillRequest struct {
	JobID string
	// Runs are the job's scheduled times in the wanted span, each once, oldest first,
	// with their calls. They come from the schedule of the job's current revision, or
	// of an ended job its last.
	Runs []RunSpec
	Pace Pace
	// NeverPlanned takes scheduled times without a row too, up to the watermark: those from
	// before the job, or its schedule, existed.
	NeverPlanned bool
	Actor
	DryRun bool
}

// Backfilled counts a BackfillRequest's scheduled times by result.
type Backfilled struct {
	Planned   int
	Unchanged int // ran, or is about to
	Refused   int // never planned, purged, rerun, or in a range row of an earlier revision
}

// Backfill makes scheduled times that did not run planned. See BackfillRequest.
func (l *Ledger) Backfill(ctx context.Context, b BackfillRequest) (Backfilled, error) {
	if err := b.Validate(); err != nil {
		return Backfilled{}, err
	}
	return write(ctx, l, "backfill "+b.JobID, func(tx Tx) (Backfilled, error) {
		m := backfillTx{BackfillRequest: b, tx: tx, singles: map[string]*Row{}, takenOut: map[string]int{}}
		err := m.run()
		return m.got, err
	})
}

// backfillTx is a BackfillRequest in its transaction. The job's lock keeps the planner and other
// backfills away, so that each scheduled time is decided once. Scheduled times that a range row
// counts are taken out of it and get rows of their own.
type backfillTx struct {
	BackfillRequest
	tx      Tx
	now     time.Time
	job     JobRow
	singles map[string]*Row // the rows of single scheduled times, by ID
	ranges  []Row
	got     Backfilled

	inserts  []Row
	changes  []RowChange
	takenOut map[string]int // how many scheduled times are taken out of a range row
	planned  []Row
}

// run decides about each scheduled time, and then writes all of them together; a dry run writes
// nothing.
func (m *backfillTx) run() error {
	known, err := m.read()
	if err != nil {
		return err
	}
	if !known {
		return ErrNotFound
	}
	for _, in := range m.Runs {
		m.decide(in)
	}
	if m.DryRun {
		return nil
	}
	if m.got.Planned > 0 {
		if err := m.write(); err != nil {
			return err
		}
	}
	return addAudit(m.tx, Audit{Action: ActionBackfill, JobID: m.JobID, Actor: m.Actor}, m.planned, m.got)
}

// read locks and reads the job, the rows of single scheduled times, and the range rows around them.
// It reports whether the ledger knows the job.
func (m *backfillTx) read() (known bool, err error) {
	ids := make([]string, len(m.Runs))
	var first, last time.Time
	for i, in := range m.Runs {
		ids[i] = in.RunID
		if i == 0 || in.ScheduledAt.Before(first) {
			first = in.ScheduledAt
		}
		if in.ScheduledAt.After(last) {
			last = in.ScheduledAt
		}
	}
	jobsFuture := m.tx.LockJobs([]string{m.JobID})
	ownFuture, rangesFuture := m.tx.LockRuns(ids), m.tx.LockRanges(m.JobID, first, last)
	if m.now, err = m.tx.Now(); err != nil {
		return false, err
	}
	found, err := jobsFuture.Get()
	if err != nil || len(found) == 0 {
		return false, err
	}
	m.job = found[0]
	rows, err := ownFuture.Get()
	if err != nil {
		return false, err
	}
	for i := range rows {
		m.singles[rows[i].ID] = &rows[i]
	}
	m.ranges, err = rangesFuture.Get()
	return true, err
}

// decide decides what becomes of one scheduled time. It refuses one at or before what was purged,
// one that belongs to an earlier revision, one that the plan has not come to, and a run that was
// rerun or whose key is no longer safe.
func (m *backfillTx) decide(in RunSpec) {
	r, single := m.singles[in.RunID]
	rangeRow, otherRevision := m.covering(in.ScheduledAt)
	unplanned := !single && rangeRow == nil
	switch {
	case !in.ScheduledAt.After(m.job.PurgedThrough),
		unplanned && (otherRevision || !m.NeverPlanned || in.ScheduledAt.After(m.job.Watermark)):
		m.got.Refused++
		return
	case single && !r.State.backfillable():
		m.got.Unchanged++
		return
	case single && (r.Fan.Purged || r.RerunID != "" || r.State == Canceled && r.KeyUnsafe(m.now)):
		m.got.Refused++
		return
	}
	m.got.Planned++
	m.planned = append(m.planned, Row{Run: Run{ID: in.RunID, JobID: m.JobID}})
	if single {
		m.replan(r, in)
		return
	}
	if rangeRow != nil {
		m.takenOut[rangeRow.ID]++
	}
	m.addRow(in)
}

// backfillable reports whether a run in this state did not run, and can be made planned.
func (s State) backfillable() bool { return s.Finished() && CanMove(s, Planned) }

// covering returns the range row that a scheduled time can be taken out of, or nil, and
// whether it is in one of an earlier revision: that belongs to another definition, and no time
// is taken out of it.
func (m *backfillTx) covering(at time.Time) (rangeRow *Row, otherRevision bool) {
	for i := range m.ranges {
		r := &m.ranges[i]
		if at.Before(r.ScheduledAt) || at.After(r.Until) {
			continue
		}
		if r.Revision == m.job.Revision {
			return r, false
		}
		otherRevision = true
	}
	return nil, otherRevision
}

// replan makes a row planned again. A run that was leased before may have been sent, so
// it keeps its call: the target has bound the key to it.
func (m *backfillTx) replan(r *Row, in RunSpec) {
	old := *r
	r.revive(Planned, m.now)
	m.plan(r)
	r.Fan.beginPass(Canceled)
	c := DiffRows(&old, r)
	if r.StartedAt.IsZero() {
		r.Call = in.Call
		c.Set |= ColCall
	}
	m.changes = append(m.changes, c)
}

// plan makes a row due and waiting for its job's slot, or a place.
func (m *backfillTx) plan(r *Row) {
	r.moveTo(Planned, "", m.now)
	r.Trigger, r.TakesSlot, r.Pace, r.Waiting, r.HasSlot = ByBackfill, true, m.Pace, true, false
	r.By, r.Why = m.By, m.Why
}

// addRow gives a scheduled time a row of its own.
func (m *backfillTx) addRow(in RunSpec) {
	r := Row{Run: Run{
		ID: in.RunID, JobID: m.JobID, ScheduledAt: in.ScheduledAt.UTC(), Count: 1, Revision: m.job.Revision,
		Call: in.Call, PlannedAt: m.now,
	}}
	m.plan(&r)
	m.inserts = append(m.inserts, r)
}

// write writes what was decided. A range row keeps its bounds and counts less; it is
// deleted with its last scheduled time.
func (m *backfillTx) write() error {
	var empty []string
	for i := range m.ranges {
		r := &m.ranges[i]
		old, n := *r, m.takenOut[r.ID]
		if r.Count -= n; n > 0 && r.Count <= 0 {
			empty = append(empty, r.ID)
		} else if n > 0 {
			m.changes = append(m.changes, DiffRows(&old, r))
		}
	}
	if err := update(m.tx, m.changes); err != nil {
		return err
	}
	if len(m.inserts) > 0 {
		m.tx.Insert(m.inserts)
	}
	if len(empty) > 0 {
		if err := m.tx.Delete(empty); err != nil {
			return err
		}
	}
	return grantFree(m.tx, []WaitingJob{{JobID: m.JobID, FreeSlot: true, FreePlace: true}}) // with those that wait now
}
