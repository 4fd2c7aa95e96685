package main

import (
	"context"
	"slices"

	"github.com/cronce/cronce/ledger"
)

// actJSON is one act of an operator, as the ledger's audit has it.
type actJSON struct {
	ID      int64          `json:"id"`
	At      string         `json:"at"`
	Act     ledger.ActKind `json:"act"`
	JobID   string         `json:"jobId"`
	RunID   string         `json:"runId,omitempty"`
	RerunID string         `json:"rerunId,omitempty"`
	By      string         `json:"by"`
	Why     string         `json:"why"`
	Door    ledger.Door    `json:"door"`
}

func actsJSON(acts []ledger.Audit) []actJSON {
	out := []actJSON{}
	for _, e := range acts {
		out = append(out, actJSON{e.ID, moment(e.At), e.Act, e.JobID, e.RunID, e.RerunID, e.By, e.Why, e.Door})
	}
	return out
}

// actsOnRun is the whole history of a run's acts, oldest first.
func actsOnRun(ctx context.Context, s ledger.Store, runID string) ([]ledger.Audit, error) {
	var all []ledger.Audit
	f := ledger.AuditFilter{RunID: runID, Limit: ledger.MaxAuditPage}
	for {
		page, err := s.Audit(ctx, f)
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

// printActs prints acts as a table; ofJob shows which run each was done to.
func (a *app) printActs(acts []ledger.Audit, ofJob bool) error {
	if len(acts) == 0 {
		return nil
	}
	columns := []string{"ACT", "AT", "BY", "DOOR", "WHY"}
	if ofJob {
		columns = []string{"ACT", "AT", "BY", "DOOR", "RUN", "WHY"}
	}
	t := a.table(columns...)
	for _, e := range acts {
		why := e.Why
		if e.RerunID != "" {
			why += " (" + e.RunID + " rerun as " + e.RerunID + ")"
		}
		cells := []string{string(e.Act), moment(e.At), e.By, string(e.Door), why}
		if ofJob {
			cells = slices.Insert(cells, 4, e.RunID)
		}
		t.Row(cells...)
	}
	return t.Flush()
}
