package operations

import (
	"context"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// AuditEntry is one action of an operator, as the audit has it.
type AuditEntry struct {
	ID      int64             `json:"id"`
	At      string            `json:"at"`
	Action  ledger.ActionKind `json:"action"`
	JobID   string            `json:"jobId"`
	RunID   string            `json:"runId,omitempty"`
	RerunID string            `json:"rerunId,omitempty"`
	About   string            `json:"about,omitempty"` // what else it is on: a pause, or many keys, in words
	// Count is the number of runs or jobs that it changed, in all requests of its series. It is 0 if another entry counts this run.
	Count int        `json:"count"`
	By    string     `json:"by"`
	Why   string     `json:"why"`
	Via   ledger.Via `json:"via"`
}

// Audit lists a page of the actions of operators, newest first. A job is unknown if
// neither the audit nor anything else knows it: a removed job's actions stay readable.
func (s *Service) Audit(ctx context.Context, sel Selection, f ledger.AuditFilter) ([]AuditEntry, error) {
	var err error
	if f.RunID, err = s.FindRun(ctx, f.RunID); err != nil {
		return nil, err
	}
	runs := ledger.Filter{}
	if err = s.Narrow(ctx, sel, &runs); err != nil {
		return nil, err
	}
	f.JobID, f.JobIDs, f.WithSchedules = runs.JobID, runs.JobIDs, runs.WithSchedules
	entries, err := s.ledger.Audit(ctx, f)
	if err == nil && len(entries) == 0 && f.JobID != "" {
		var others []ledger.Audit
		if others, err = s.ledger.Audit(ctx, ledger.AuditFilter{JobID: f.JobID, Limit: 1}); err == nil && len(others) == 0 {
			err = s.KnownJob(ctx, f.JobID)
		}
	}
	return auditEntriesOf(entries), err
}

func auditEntriesOf(list []ledger.Audit) []AuditEntry {
	out := make([]AuditEntry, len(list))
	for i, e := range list {
		out[i] = auditEntryOf(e)
	}
	return out
}

// auditOfRun returns all actions on a run, oldest first.
func (s *Service) auditOfRun(ctx context.Context, runID string) ([]AuditEntry, error) {
	all := []AuditEntry{}
	f := ledger.AuditFilter{RunID: runID, Limit: ledger.MaxAuditPage}
	for {
		page, err := s.Audit(ctx, Selection{}, f)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < f.Limit {
			slices.Reverse(all)
			return all, nil
		}
		f.Before = page[len(page)-1].ID
	}
}

func auditEntryOf(e ledger.Audit) AuditEntry {
	return AuditEntry{e.ID, actualTime(e.At), e.Action, e.JobID, e.RunID, e.RerunID, e.About, e.Count, e.By, e.Why, e.Via}
}
