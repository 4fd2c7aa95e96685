package operations_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// dead is a ledger with dead runs. It notes the actions that it is asked for.
type dead struct {
	ledger.Store
	runs []ledger.Run
	acts []ledger.Action
}

func (d *dead) Redrive(_ context.Context, a ledger.Action) (ledger.ActionResult, error) {
	d.acts = append(d.acts, a)
	got := ledger.ActionResult{LeftOut: map[ledger.RejectionCause]int{ledger.RejectedRerun: 7}}
	for _, r := range d.runs {
		after := a.After == nil || r.ScheduledAt.After(a.After.ScheduledAt)
		if after && (len(a.IDs) == 0 || slices.Contains(a.IDs, r.ID)) && (a.Limit == 0 || len(got.Changed) < a.Limit) {
			got.Changed = append(got.Changed, r)
		}
	}
	return got, nil
}

// A transaction of very many runs would hold up the planner.
func TestAnActionOfManyRunsIsDoneInParts(t *testing.T) {
	const n = 2*operations.MaxPart + 5
	d := &dead{}
	ids := make([]string, n)
	for i := range n {
		at := time.Date(2026, 11, 21, 3, 0, i, 0, time.UTC)
		ids[i] = "a@" + at.Format(time.RFC3339)
		d.runs = append(d.runs, ledger.Run{ID: ids[i], ScheduledAt: at, State: ledger.Dead})
	}
	for name, filter := range map[string]ledger.Filter{
		"by a filter": {Reason: ledger.ReasonExhausted},
		"by IDs":      {IDs: ids},
	} {
		d.acts = nil
		got, err := operations.New(operations.Config{Ledger: d}).Act(t.Context(), operations.Redrive,
			ledger.Action{Filter: filter, Actor: ledger.Actor{By: "ann", Why: "it is up again"}})
		if err != nil || len(got.Changed) != n || got.Counts.Changed != n {
			t.Errorf("%s: %d changed, %d counted, %v", name, len(got.Changed), got.Counts.Changed, err)
		}
		if len(filter.IDs) == 0 && got.Counts.LeftOut[ledger.RejectedRerun] != 7 {
			t.Errorf("%s: %v were left out", name, got.Counts.LeftOut)
		}
		if len(d.acts) != 3 {
			t.Fatalf("%s: %d parts", name, len(d.acts))
		}
		first := d.acts[0].Request
		for i, a := range d.acts {
			if max(a.Limit, len(a.IDs)) > operations.MaxPart {
				t.Errorf("%s: part %d takes %d runs", name, i, max(a.Limit, len(a.IDs)))
			}
			if i > 0 && (a.Continues != first || a.Request != ledger.PartRequestName(first, fmt.Sprint(i))) {
				t.Errorf("%s: part %d is %q and continues %q, want %q", name, i, a.Request, a.Continues, first)
			}
		}
		if first == "" {
			t.Errorf("%s: the first part has no name, so the others cannot continue it", name)
		}
	}
}

func (d *dead) Audit(_ context.Context, f ledger.AuditFilter) ([]ledger.Audit, error) {
	return []ledger.Audit{{RunID: f.RunID}}, nil
}

func TestTheAuditTakesARunIDWithAnyOffset(t *testing.T) {
	got, err := operations.New(operations.Config{Ledger: &dead{}}).Audit(t.Context(), ledger.AuditFilter{RunID: "a@2026-11-21T04:00:00+01:00"})
	if err != nil || len(got) != 1 || got[0].RunID != "a@2026-11-21T03:00:00Z" {
		t.Errorf("%+v, %v", got, err)
	}
}
