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
