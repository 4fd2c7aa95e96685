package memory

import (
	"slices"
	"strings"

	"github.com/cronce/cronce/ledger"
)

func (t *tx) Audits(f ledger.AuditFilter) ledger.Future[[]ledger.Audit] {
	var page []ledger.Audit
	place := map[string]int{} // in the page, of the series on a job
	for _, a := range slices.Backward(t.l.audit) {
		if !auditSelects(f, a) {
			continue
		}
		series := strings.Join([]string{a.Series, a.By, a.JobID}, "\n")
		at, known := place[series]
		switch a.Kept = nil; {
		case f.RunID != "" || a.Series == "":
			page = append(page, a)
		case known:
			page[at].Count += a.Count
		default:
			place[series] = len(page)
			page = append(page, a)
		}
	}
	page = slices.DeleteFunc(page, func(a ledger.Audit) bool {
		return f.Before != 0 && a.ID >= f.Before || a.At.Before(f.Since) || !f.Until.IsZero() && !a.At.Before(f.Until)
	})
	return ledger.ResolvedFuture(page[:min(len(page), f.PageSize())], nil)
}

func auditSelects(f ledger.AuditFilter, a ledger.Audit) bool {
	if f.RunID != "" && f.RunID != a.RunID && f.RunID != a.RerunID || f.RunID == "" && a.Count == 0 {
		return false
	}
	return ofJobs(f.JobID, f.JobIDs, f.WithSchedules, a.JobID) && (f.By == "" || f.By == a.By)
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
	return ledger.ResolvedFuture(slices.Compact(slices.Sorted(slices.Values(redriven))), nil)
}
