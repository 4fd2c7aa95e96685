package memory

import "github.com/cronce/cronce/ledger"

// Audits returns the entries of a filter, newest first.
func (t *tx) Audits(f ledger.AuditFilter) ledger.Later[[]ledger.Audit] {
	var page []ledger.Audit
	for i := len(t.l.audit) - 1; i >= 0 && len(page) < f.PageSize(); i-- {
		if a := t.l.audit[i]; (f.JobID == "" || f.JobID == a.JobID) && (f.By == "" || f.By == a.By) && (f.Request == "" || f.Request == a.Request) &&
			(f.RunID == "" || f.RunID == a.RunID || f.RunID == a.RerunID) && (f.Before == 0 || a.ID < f.Before) {
			page = append(page, a)
		}
	}
	return ledger.Known(page, nil)
}
