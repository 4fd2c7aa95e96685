package memory

import (
	"cmp"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// OpenIncidents returns the open incidents of a cause and of jobs, by ID.
func (t *tx) OpenIncidents(cause ledger.IncidentCause, jobIDs []string) ledger.Later[[]ledger.Incident] {
	return t.incidents(func(i *ledger.Incident) bool {
		return i.Open() && (cause == "" || i.Cause == cause) && (len(jobIDs) == 0 || slices.Contains(jobIDs, i.JobID))
	})
}

// LockIncidents returns incidents, by ID.
func (t *tx) LockIncidents(ids []int64) ledger.Later[[]ledger.Incident] {
	return t.incidents(func(i *ledger.Incident) bool { return slices.Contains(ids, i.ID) })
}

// LastIncidents returns the last incident of a cause of each of the jobs, by ID.
func (t *tx) LastIncidents(cause ledger.IncidentCause, jobIDs []string) ledger.Later[[]ledger.Incident] {
	last := map[string]int64{}
	for _, i := range t.l.incidents {
		if i.Cause == cause {
			last[i.JobID] = i.ID
		}
	}
	return t.incidents(func(i *ledger.Incident) bool { return last[i.JobID] == i.ID && slices.Contains(jobIDs, i.JobID) })
}

// PendingIncidents returns the incidents that have a DueAt, by ID.
func (t *tx) PendingIncidents() ledger.Later[[]ledger.Incident] {
	return t.incidents(func(i *ledger.Incident) bool { return !i.DueAt.IsZero() })
}

func (t *tx) incidents(of func(*ledger.Incident) bool) ledger.Later[[]ledger.Incident] {
	var found []ledger.Incident
	for _, i := range t.l.incidents {
		if of(i) {
			found = append(found, *i)
		}
	}
	return ledger.Known(found, nil)
}

// PutIncidents writes incidents, and opens or adds to those without an ID.
func (t *tx) PutIncidents(list []ledger.Incident) error {
	for _, i := range list {
		i.NotifierState = slices.Clone(i.NotifierState)
		at := t.incident(i)
		if at == nil {
			n, last := len(t.l.incidents), t.l.lastIncident
			t.undo = append(t.undo, func() { t.l.incidents, t.l.lastIncident = t.l.incidents[:n], last })
			t.l.lastIncident++
			i.ID = t.l.lastIncident
			t.l.incidents = append(t.l.incidents, &i)
			continue
		}
		before := *at
		t.undo = append(t.undo, func() { *at = before })
		if i.ID == 0 {
			at.Add(i)
		} else {
			*at = i
		}
	}
	return nil
}

// incident returns the incident that is to be written: that of the ID, or the job's open
// one of the cause. It returns nil if there is none.
func (t *tx) incident(i ledger.Incident) *ledger.Incident {
	if i.ID != 0 {
		n, found := slices.BinarySearchFunc(t.l.incidents, i.ID, func(i *ledger.Incident, id int64) int { return cmp.Compare(i.ID, id) })
		if !found {
			return nil
		}
		return t.l.incidents[n]
	}
	for _, other := range t.l.incidents {
		if other.Open() && other.JobID == i.JobID && other.Cause == i.Cause {
			return other
		}
	}
	return nil
}
