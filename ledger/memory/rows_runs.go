package memory

import (
	"fmt"
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
