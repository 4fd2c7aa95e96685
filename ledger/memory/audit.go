package memory

import (
	"context"

	"github.com/cronce/cronce/ledger"
)

// Audit returns a page of the audit, newest first. See ledger.AuditFilter.
func (l *Ledger) Audit(ctx context.Context, f ledger.AuditFilter) ([]ledger.Audit, error) {
	if _, err := l.begin(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	var page []ledger.Audit
	for i := len(l.audit) - 1; i >= 0 && len(page) < f.PageSize(); i-- {
		if a := l.audit[i]; (f.JobID == "" || f.JobID == a.JobID) && (f.By == "" || f.By == a.By) && (f.Request == "" || f.Request == a.Request) &&
			(f.RunID == "" || f.RunID == a.RunID || f.RunID == a.RerunID) && (f.Before == 0 || a.ID < f.Before) {
			page = append(page, a)
		}
	}
	return page, nil
}
