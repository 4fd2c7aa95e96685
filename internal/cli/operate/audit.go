package operate

import (
	"cmp"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/internal/plural"
)

// printAudit prints actions as a table.
func (a *app) printAudit(entries []operations.AuditEntry) error {
	if len(entries) == 0 {
		return nil
	}
	t := a.Details("ACTION", "AT", "BY", "VIA", "RUN", "RERUN AS", "WHY").Optional("BY", "AT", "RUN", "VIA", "RERUN AS")
	for _, e := range entries {
		run := cmp.Or(e.RunID, e.About)
		if e.Count > 1 {
			run = plural.Of(e.Count, e.Action.Changes())
		}
		t.Row(string(e.Action), e.At, e.By, string(e.Via), run, e.RerunID, e.Why)
	}
	return t.Flush()
}
