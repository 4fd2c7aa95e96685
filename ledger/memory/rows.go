package memory

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

// tx is one transaction, which has the whole ledger locked. Its methods do what ledger.Tx says.
type tx struct {
	l    *Ledger
	now  time.Time
	undo []func() // takes back each write
	// failed is the error of a write whose result may not be asked for.
	failed error
}

func (t *tx) Now() (time.Time, error) { return t.now, nil }

// LockJobs leaves out the bodies, as the databases do, which read them for a few rules only.
func (t *tx) LockJobs(ids []string) ledger.Future[[]ledger.JobRow] {
	return ledger.ResolvedFuture(withoutJobBodies(valuesOf(t.l.jobs, ids)), nil)
}

func withoutJobBodies(jobs []ledger.JobRow) []ledger.JobRow {
	for i := range jobs {
		jobs[i].Body = nil
	}
	return jobs
}

func (t *tx) PutJobs(changes []ledger.JobChange) error {
	for _, c := range changes {
		j, known := t.l.jobs[c.JobID]
		if !known { // a new row has all fields, whatever is set
			j, c.Set = c.JobRow, 0
		}
		if c.Set&ledger.JobColWatermark != 0 {
			j.Watermark = c.Watermark
		}
		if c.Set&ledger.JobColRevision != 0 {
			j.Revision, j.Hash, j.Body, j.EndedAt = c.Revision, c.Hash, c.Body, c.EndedAt
		}
		if c.Set&ledger.JobColPurge != 0 {
			j.PurgedThrough = c.PurgedThrough
		}
		if c.Set&ledger.JobColPause != 0 {
			j.PausedAt, j.PausedBy, j.PausedWhy = c.PausedAt, c.PausedBy, c.PausedWhy
		}
		putEntry(t, t.l.jobs, c.JobID, j)
	}
	return nil
}

func (t *tx) Insert(list []ledger.Row) ledger.Future[[]bool] {
	inserted := make([]bool, len(list))
	for i, row := range list {
		if t.l.runs[row.ID] != nil {
			continue
		}
		r := &record{Row: row, changed: t.l.change + 1}
		if !t.hasRoom(r, row.HasSlot) {
			break
		}
		t.l.change++
		t.l.addRecord(r)
		t.undo = append(t.undo, func() { t.l.removeRecord(r) })
		inserted[i] = true
	}
	return ledger.ResolvedFuture(inserted, t.failed)
}

// hasRoom fails the transaction if a run is to get a slot that another run has, as the unique index
// of a database does. A rule that takes no result learns it when the transaction ends.
func (t *tx) hasRoom(r *record, hasSlot bool) bool {
	if holder := t.l.slots[r.JobID]; hasSlot && r.Pace == 0 && holder != nil && holder != r {
		t.failed = fmt.Errorf("run %s cannot have its job's slot, which %s has", r.ID, holder.ID)
		return false
	}
	return true
}

func (t *tx) Update(changes []ledger.RowChange) error {
	return ledger.CheckAllWritten(changes, t.UpdateFenced(changes))
}

func (t *tx) UpdateFenced(changes []ledger.RowChange) ledger.Future[[]bool] {
	updated := make([]bool, len(changes))
	for i := range changes {
		c := &changes[i]
		r := t.l.runs[c.Row.ID]
		if r == nil || r.State != c.From || c.LeasedAs != "" && r.Token != c.LeasedAs {
			continue
		}
		if !t.hasRoom(r, c.Set&ledger.ColSlot != 0 && c.Row.HasSlot) {
			break
		}
		t.update(r, c)
		updated[i] = true
	}
	return ledger.ResolvedFuture(updated, t.failed)
}

func (t *tx) update(r *record, c *ledger.RowChange) {
	before := *r
	t.undo = append(t.undo, func() { // r stays the same record, which the indexes point to
		t.l.removeRecord(r)
		*r = before
		t.l.addRecord(r)
	})
	t.l.removeRecord(r)
	c.Apply(&r.Row)
	t.l.addRecord(r)
	if c.Attempt != nil {
		a := *c.Attempt
		a.StartedAt, a.FinishedAt = a.StartedAt.Truncate(time.Microsecond), a.FinishedAt.Truncate(time.Microsecond)
		a.RunID = r.ID
		r.attempts = append(r.attempts, a)
	}
	if !c.Unlisted { // a change that is taken back leaves a gap in the positions, which nobody notices
		t.l.change++
		r.changed = t.l.change
	}
}

func (t *tx) Delete(ids []string) error {
	for _, id := range ids {
		if r := t.l.runs[id]; r != nil {
			t.l.removeRecord(r)
			t.undo = append(t.undo, func() { t.l.addRecord(r) })
		}
	}
	return nil
}

func (t *tx) AddEvents(list []ledger.Event) error {
	setValue(t, &t.l.events, append(t.l.events, list...))
	return nil
}

func (t *tx) AddAudit(list []ledger.Audit) error {
	for _, a := range list {
		if k := a.Kept; k != nil {
			if kept, _ := t.FindRequest(k.Principal, k.Key).Get(); len(kept) > 0 {
				return ledger.ErrRepeated
			}
		}
		setValue(t, &t.l.lastAudit, t.l.lastAudit+1)
		a.ID, a.At, a.Request = t.l.lastAudit, t.now, nil
		setValue(t, &t.l.audit, append(t.l.audit, a))
	}
	return nil
}

func (t *tx) FindRequest(principal, key string) ledger.Future[[]ledger.KeptRequest] {
	for _, a := range t.l.audit {
		if k := a.Kept; k != nil && k.Principal == principal && k.Key == key {
			return ledger.ResolvedFuture([]ledger.KeptRequest{*k}, nil)
		}
	}
	return ledger.Future[[]ledger.KeptRequest]{}
}

// SeriesEnd finds the last run of the series that the ledger still has: a purge may have deleted
// those of later entries.
func (t *tx) SeriesEnd(by, series string) ledger.Future[[]ledger.Cursor] {
	for _, a := range slices.Backward(t.l.audit) {
		if r := t.l.runs[a.RunID]; r != nil && a.By == by && a.Series == series {
			return ledger.ResolvedFuture([]ledger.Cursor{{ScheduledAt: r.ScheduledAt, ID: r.ID}}, nil)
		}
	}
	return ledger.Future[[]ledger.Cursor]{}
}

func (t *tx) Redriven(runIDs []string, by, series string) ledger.Future[[]string] {
	var redriven []string
	for _, a := range t.l.audit {
		if a.Action == ledger.ActionRedrive && a.By == by && a.Series == series && slices.Contains(runIDs, a.RunID) {
			redriven = append(redriven, a.RunID)
		}
	}
	return ledger.ResolvedFuture(distinct(redriven), nil)
}

// distinct returns the texts in order, each once.
func distinct(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
