package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// tx is one transaction, which has the whole ledger locked.
type tx struct {
	l    *Ledger
	now  time.Time
	undo []func() // takes back each write
}

// Now returns the store's clock.
func (t *tx) Now() time.Time { return t.now }

// Jobs returns the jobs that exist, by ID.
func (t *tx) Jobs(ids []string) (list []ledger.JobRow, err error) {
	for _, id := range distinct(ids) {
		if j := t.l.jobs[id]; j != nil && j.stored {
			row := j.JobRow
			row.Body = nil
			list = append(list, row)
		}
	}
	return list, nil
}

// PutJobs writes fields of jobs, or new rows.
func (t *tx) PutJobs(changes []ledger.JobChange) error {
	for _, c := range changes {
		j := t.l.job(c.JobID)
		before, stored := j.JobRow, j.stored
		t.undo = append(t.undo, func() { j.JobRow, j.stored = before, stored })
		if !j.stored {
			j.JobRow, j.stored = c.JobRow, true
			continue
		}
		if c.Set&ledger.JobWatermark != 0 {
			j.Watermark = c.Watermark
		}
		if c.Set&ledger.JobRevision != 0 {
			j.Revision, j.Hash, j.Body, j.EndedAt = c.Revision, c.Hash, c.Body, c.EndedAt
		}
		if c.Set&ledger.JobPause != 0 {
			j.PausedAt, j.PausedBy, j.PausedWhy = c.PausedAt, c.PausedBy, c.PausedWhy
		}
	}
	return nil
}

// Insert writes new rows, and reports which it wrote.
func (t *tx) Insert(list []ledger.Row) ([]bool, error) {
	inserted := make([]bool, len(list))
	for i, row := range list {
		j := t.l.job(row.JobID)
		if t.l.runs[row.ID] != nil || row.HasSlot && j.slot != nil {
			continue
		}
		r := &record{Row: row, job: j}
		t.l.touch(r)
		t.l.keep(r)
		t.undo = append(t.undo, func() { t.l.forget(r) })
		inserted[i] = true
	}
	return inserted, nil
}

// Update writes the changes, each if its row is as the change expects it.
func (t *tx) Update(changes []ledger.Change) ([]bool, error) {
	updated := make([]bool, len(changes))
	for i := range changes {
		c := &changes[i]
		r := t.l.runs[c.Row.ID]
		if r == nil || r.State != c.From || c.LeasedAs != "" && r.Token != c.LeasedAs {
			continue
		}
		if holder := r.job.slot; c.Set&ledger.ColSlot != 0 && c.Row.HasSlot && holder != nil && holder != r {
			return nil, fmt.Errorf("run %s cannot have its job's slot, which %s has", r.ID, holder.ID)
		}
		t.update(r, c)
		updated[i] = true
	}
	return updated, nil
}

func (t *tx) update(r *record, c *ledger.Change) {
	before := *r
	t.undo = append(t.undo, func() {
		t.l.indexes.remove(r)
		*r = before
		t.l.indexes.add(r)
	})
	t.l.indexes.remove(r)
	c.Apply(&r.Row)
	t.l.indexes.add(r)
	if c.Attempt != nil {
		a := *c.Attempt
		a.RunID = r.ID
		r.attempts = append(r.attempts, a)
	}
	if !c.Unlisted {
		t.l.touch(r)
	}
}

// Delete deletes rows.
func (t *tx) Delete(ids []string) error {
	for _, id := range ids {
		if r := t.l.runs[id]; r != nil {
			t.l.forget(r)
			t.undo = append(t.undo, func() { t.l.keep(r) })
		}
	}
	return nil
}

// AddEvents adds events.
func (t *tx) AddEvents(list []ledger.Event) error {
	for _, e := range list {
		j := t.l.job(e.JobID)
		n := len(j.events)
		t.undo = append(t.undo, func() { j.events = j.events[:n] })
		j.events = append(j.events, e)
	}
	return nil
}

// AddAudit adds actions to the audit.
func (t *tx) AddAudit(list []ledger.Audit) error {
	n, last := len(t.l.audit), t.l.lastAudit
	t.undo = append(t.undo, func() { t.l.audit, t.l.lastAudit = t.l.audit[:n], last })
	for _, a := range list {
		t.l.lastAudit++
		a.ID, a.At = t.l.lastAudit, t.now
		t.l.audit = append(t.l.audit, a)
	}
	return nil
}

// Redriven returns the runs that a redrive under a request, or a part of it, has made
// due again.
func (t *tx) Redriven(runIDs []string, by, request string) ([]string, error) {
	asked, redriven := map[string]bool{}, map[string]bool{}
	for _, id := range runIDs {
		asked[id] = true
	}
	for _, a := range t.l.audit {
		part := a.Request == request || strings.HasPrefix(a.Request, ledger.PartRequestName(request, ""))
		if part && a.Action == ledger.ActionRedrive && a.By == by && asked[a.RunID] {
			redriven[a.RunID] = true
		}
	}
	return slices.Sorted(maps.Keys(redriven)), nil
}

// FindIncidents returns incidents, by ID.
func (t *tx) FindIncidents(q ledger.IncidentQuery) (found []ledger.Incident, err error) {
	type key struct {
		job   string
		cause ledger.IncidentCause
	}
	seen := map[key]bool{}
	for _, i := range slices.Backward(t.l.incidents) {
		if q.Open && !i.Open() || q.ID != 0 && i.ID != q.ID || q.Cause != "" && i.Cause != q.Cause || len(q.Jobs) > 0 && !slices.Contains(q.Jobs, i.JobID) {
			continue
		}
		if k := (key{i.JobID, i.Cause}); !seen[k] {
			seen[k] = true
			found = append(found, *i)
		}
	}
	slices.Reverse(found)
	return found, nil
}

// PutIncidents writes incidents, and reports which it wrote.
func (t *tx) PutIncidents(list []ledger.Incident) ([]bool, error) {
	written := make([]bool, len(list))
	for k, i := range list {
		i.NotifierState = slices.Clone(i.NotifierState)
		if i.ID == 0 {
			written[k] = t.openIncident(i)
			continue
		}
		n, found := slices.BinarySearchFunc(t.l.incidents, i.ID, func(i *ledger.Incident, id int64) int { return cmp.Compare(i.ID, id) })
		if found {
			at, before := t.l.incidents[n], *t.l.incidents[n]
			t.undo = append(t.undo, func() { *at = before })
			*at = i
		}
		written[k] = found
	}
	return written, nil
}

// openIncident adds an incident, unless its job has an open one of its cause.
func (t *tx) openIncident(i ledger.Incident) bool {
	for _, other := range t.l.incidents {
		if other.Open() && other.JobID == i.JobID && other.Cause == i.Cause {
			return false
		}
	}
	n, last := len(t.l.incidents), t.l.lastIncident
	t.undo = append(t.undo, func() { t.l.incidents, t.l.lastIncident = t.l.incidents[:n], last })
	t.l.lastIncident++
	i.ID = t.l.lastIncident
	t.l.incidents = append(t.l.incidents, &i)
	return true
}

// distinct returns the texts in order, each once.
func distinct(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
