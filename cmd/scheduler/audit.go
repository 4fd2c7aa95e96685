package main

import (
	"slices"

	"github.com/cronce/cronce/internal/operations"
)

// printActs prints acts as a table; ofJob shows which run each was done to.
func (a *app) printActs(acts []operations.Act, ofJob bool) error {
	if len(acts) == 0 {
		return nil
	}
	columns := []string{"ACT", "AT", "BY", "VIA", "WHY"}
	if ofJob {
		columns = []string{"ACT", "AT", "BY", "VIA", "RUN", "WHY"}
	}
	t := a.details(columns...)
	for _, e := range acts {
		why := e.Why
		if e.RerunID != "" {
			why += " (" + e.RunID + " rerun as " + e.RerunID + ")"
		}
		cells := []string{string(e.Act), e.At, e.By, string(e.Via), why}
		if ofJob {
			cells = slices.Insert(cells, 4, e.RunID)
		}
		t.Row(cells...)
	}
	return t.Flush()
}
