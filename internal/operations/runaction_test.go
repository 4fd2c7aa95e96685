package operations_test

import (
	"context"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// dead is a ledger with dead runs. It notes the actions that it is asked for.
type dead struct {
	ledger.Store
	runs    []ledger.Run
	actions []ledger.Action
}

func (d *dead) Redrive(_ context.Context, a ledger.Action) (ledger.ActionResult, error) {
	var got ledger.ActionResult
	if len(d.actions) == 0 {
		got.LeftOut = map[ledger.RejectionCause]int{ledger.RejectedRerun: 7}
	}
	d.actions = append(d.actions, a)
	n := min(max(len(a.IDs), a.Limit), len(d.runs))
	got.Changed, d.runs = d.runs[:n], d.runs[n:]
	if len(a.IDs) == 0 {
		got.Remaining = len(d.runs)
	}
	return got, nil
}

// A transaction of very many runs would hold up the planner.
func TestAnActionOfManyRunsIsDoneInParts(t *testing.T) {
	const n = 2*operations.MaxPart + 5
	ids, runs := make([]string, n), make([]ledger.Run, n)
	for i := range n {
		at := time.Date(2026, 11, 21, 3, 0, i, 0, time.UTC)
		ids[i] = "a@" + at.Format(time.RFC3339)
		runs[i] = ledger.Run{ID: ids[i], ScheduledAt: at, State: ledger.Dead}
	}
	for name, ask := range map[string]operations.ActionRequest{
		"by a filter": {Reason: ledger.ReasonExhausted},
		"by IDs":      {RunIDs: ids},
	} {
		ask.By, ask.Why = "ann", "it is up again"
		d := &dead{runs: runs}
		s := operations.New(operations.Config{Ledger: d})
		got, err := operations.ActOnAll(t.Context(), ask, func(ctx context.Context, part operations.ActionRequest) (v operations.RunActionResult, err error) {
			err = s.DoAction(ctx, "redrive", "", part, &v)
			return v, err
		})
		if err != nil || len(got.Changed) != n || got.Counts.Changed != n || got.Remaining != 0 || got.Counts.LeftOut[ledger.RejectedRerun] != 7 {
			t.Errorf("%s: %d changed, %+v counted, %d remain, %v", name, len(got.Changed), got.Counts, got.Remaining, err)
		}
		if len(d.actions) != 3 {
			t.Fatalf("%s: %d parts", name, len(d.actions))
		}
		for i, a := range d.actions {
			if n := len(a.IDs); n > operations.MaxPart || n == 0 && a.Limit != operations.MaxPart {
				t.Errorf("%s: part %d takes %d runs, or %d", name, i, n, a.Limit)
			}
			if a.Request.Series == "" || a.Request.Series != d.actions[0].Request.Series {
				t.Errorf("%s: part %d is of the series %q", name, i, a.Request.Series)
			}
		}
	}
}

func (d *dead) Audit(_ context.Context, f ledger.AuditFilter) ([]ledger.Audit, error) {
	return []ledger.Audit{{RunID: f.RunID}}, nil
}

// An operator pastes what a log, a target or a colleague says.
func TestActionsTakeARunIDInEachForm(t *testing.T) {
	at := time.Date(2026, 11, 21, 1, 30, 0, 0, time.UTC)
	id := jobs.RunID("berlin", at)
	for _, text := range []string{id, "berlin@2026-11-21T02:30", "berlin@2026-11-21T02:30:00+01:00", `"` + jobs.KeyUUID7.Of(id) + `"`} {
		var acted ledger.Action
		d := &dead{Store: crowd{runs: []ledger.Run{{ID: id, ScheduledAt: at}}}, runs: make([]ledger.Run, 1)}
		s := operations.New(operations.Config{Ledger: d, Registry: func() (*jobs.Registry, error) { return berlin(t), nil }})
		_, err := s.ActOnRuns(t.Context(), operations.Redrive, operations.Selection{},
			ledger.Action{Filter: ledger.Filter{IDs: []string{text}}, Actor: ledger.Actor{By: "ann", Why: "it is up again"}})
		if err == nil && len(d.actions) == 1 {
			acted = d.actions[0]
		}
		if len(acted.IDs) != 1 || acted.IDs[0] != id {
			t.Errorf("%s: %v, %v; want %s", text, acted.IDs, err, id)
		}
	}
}

func TestTheAuditTakesARunIDWithAnyOffset(t *testing.T) {
	s := operations.New(operations.Config{Ledger: &dead{}, Registry: func() (*jobs.Registry, error) { return berlin(t), nil }})
	got, err := s.Audit(t.Context(), operations.Selection{}, ledger.AuditFilter{RunID: "a@2026-11-21T04:00:00+01:00"})
	if err != nil || len(got) != 1 || got[0].RunID != "a@2026-11-21T03:00:00Z" {
		t.Errorf("%+v, %v", got, err)
	}
}
