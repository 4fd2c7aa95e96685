package operate

import "github.com/cronce/cronce/internal/operations"

// printActs prints actions as a table.
func (a *app) printActs(acts []operations.AuditEntry) error {
	if len(acts) == 0 {
		return nil
	}
	t := a.Details("ACTION", "AT", "BY", "VIA", "RUN", "RERUN AS", "WHY").Optional("BY", "AT", "RUN", "VIA", "RERUN AS")
	for _, e := range acts {
		t.Row(string(e.Act), e.At, e.By, string(e.Via), e.RunID, e.RerunID, e.Why)
	}
	return t.Flush()
}
