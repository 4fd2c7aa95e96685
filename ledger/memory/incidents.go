package memory

import (
	"slices"
	"time"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) OpenIncidents(cause ledger.IncidentCause, jobIDs []string) ledger.Future[[]ledger.Incident] {
	return t.incidents(func(i ledger.Incident) bool {
		return i.Open() && (cause == "" || i.Cause == cause) && (len(jobIDs) == 0 || slices.Contains(jobIDs, i.JobID))
	})
}

func (t *tx) LockIncidents(ids []int64) ledger.Future[[]ledger.Incident] {
	return t.incidents(func(i ledger.Incident) bool { return slices.Contains(ids, i.ID) })
}

func (t *tx) LockLastIncidents(cause ledger.IncidentCause, jobIDs []string) ledger.Future[[]ledger.Incident] {
	last := map[string]int64{}
	for _, i := range t.l.incidents {
		if i.Cause == cause {
			last[i.JobID] = max(last[i.JobID], i.ID)
		}
	}
	return t.incidents(func(i ledger.Incident) bool { return last[i.JobID] == i.ID && slices.Contains(jobIDs, i.JobID) })
}

func (t *tx) LockPendingIncidents() ledger.Future[[]ledger.Incident] {
	return t.incidents(func(i ledger.Incident) bool { return !i.DueAt.IsZero() })
}

func (t *tx) incidents(of func(ledger.Incident) bool) ledger.Future[[]ledger.Incident] {
	return ledger.ResolvedFuture(filteredValues(t.l.incidents, of), nil)
}

func (t *tx) PutIncidents(list []ledger.Incident) error {
	for _, i := range list {
		i.NotifierState, i.DueAt = slices.Clone(i.NotifierState), i.DueAt.Truncate(time.Microsecond) // which the notifier chose
		if i.ID == 0 {
			if open, _ := t.OpenIncidents(i.Cause, []string{i.JobID}).Get(); len(open) > 0 {
				open[0].Add(i)
				i = open[0]
			} else {
				setValue(t, &t.l.lastIncident, t.l.lastIncident+1)
				i.ID = t.l.lastIncident
			}
		}
		putEntry(t, t.l.incidents, i.ID, i)
	}
	return nil
}
