package remote_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/api/apitest"
	"github.com/cronce/cronce/api/remote"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// unused are the operations that no command asks through a server: one run is acted
// on as a list of one, and the rest is for other programs.
var unused = []string{
	"ackRun", "cancelRun", "getDocument", "getTrend", "listAudit", "listKeys", "listNext", "listProcesses", "listTargets", "redriveRun",
}

// Every request of the client is one that the document describes, and an operation
// that it has no method for is left out on purpose.
func TestTheClientAsksWhatTheDocumentDescribes(t *testing.T) {
	contract, err := apitest.Read()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	left := map[string]bool{}
	for _, o := range contract.Operations {
		left[o.ID] = true
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = contract.CheckRequest(r, body)
		}
		if err != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		if o, err := contract.Operation(r); err == nil {
			mu.Lock()
			delete(left, o.ID)
			mu.Unlock()
		}
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	s, err := remote.New(remote.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	askAll(t, s)
	if names := slices.Sorted(maps.Keys(left)); !slices.Equal(names, unused) {
		t.Errorf("the client has no request for %q, want %q", names, unused)
	}
}

func askAll(t *testing.T, s *remote.Client) {
	t.Helper()
	ctx, who, at := t.Context(), ledger.Actor{By: "ann", Why: "a test"}, time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	const run = "tick@2026-11-21T03:00:00Z"
	dead := ledger.Filter{States: []ledger.State{ledger.Dead}, Reason: ledger.ReasonExhausted, Since: at, Until: at.Add(time.Hour)}
	sel := operations.Selection{Job: "tick", Owner: "ann", Labels: []string{"a=b", "c"}, Target: "svc"}
	errs := map[string]error{}
	_, errs["status"] = s.Status(ctx)
	_, errs["jobs"] = s.Jobs(ctx, sel)
	_, errs["job"] = s.Job(ctx, "tick")
	_, errs["revisions"] = s.Revisions(ctx, "tick", "2026-11-20", "beef")
	_, errs["runs"] = s.Runs(ctx, sel, ledger.Filter{States: []ledger.State{ledger.Dead, ledger.Missed}, Since: at, Until: at.Add(time.Hour), Unacknowledged: true, Limit: 10})
	_, errs["run"] = s.Run(ctx, run)
	_, errs["members"] = s.Members(ctx, operations.MemberQuery{Parent: run, States: []ledger.State{operations.NotSucceeded}, Key: "acme*", Limit: 10})
	_, errs["why"] = s.Why(ctx, "tick", "2026-11-21T03:00", "acme")
	do := func(action, id string, ask operations.ActionRequest) {
		var answer any
		ask.By, ask.Why = who.By, who.Why
		errs[fmt.Sprintf("%s of %q: %+v", action, id, ask)] = s.DoAction(ctx, action, id, ask, &answer)
	}
	do("pause", "tick", operations.ActionRequest{})
	do("resume", "tick", operations.ActionRequest{})
	do("trigger", "tick", operations.ActionRequest{})
	do("rerun", run, operations.ActionRequest{NewKey: true})
	do("backfill", "tick", operations.ActionRequest{From: at, To: at.Add(time.Hour), DryRun: true})
	for _, what := range []string{"redrive", "cancel", "ack"} {
		do(what, "", operations.ActionRequest{Selection: sel, State: dead.States, Reason: dead.Reason, Since: dead.Since, Until: dead.Until})
		do(what, "", operations.ActionRequest{RunIDs: []string{run}})
	}
	_, errs["incidents"] = s.Incidents(ctx, sel, ledger.IncidentFilter{Open: true, Limit: 10})
	_, errs["incident"] = s.Incident(ctx, 7)
	do(operations.AckIncident, "7", operations.ActionRequest{Close: true})
	_, errs["pauses"] = s.Pauses(ctx, true)
	do(operations.AddPause, "", operations.ActionRequest{Kind: ledger.PauseCatchUp, Selection: sel, From: at, Until: at.Add(time.Hour), DryRun: true})
	do(operations.ChangePause, "7", operations.ActionRequest{From: at, Until: at.Add(time.Hour)})
	do(operations.EndPause, "7", operations.ActionRequest{})
	for _, what := range operations.Exports {
		errs["export of "+what] = s.Export(ctx, operations.Export{
			What: what, Format: operations.NDJSON, Selection: sel, Runs: dead, Members: operations.MemberQuery{Parent: run, Key: "acme"}, Incidents: ledger.IncidentFilter{Open: true},
			Audit: ledger.AuditFilter{RunID: run, By: "ann", Since: at, Until: at.Add(time.Hour)},
		}, io.Discard)
	}
	_, errs["templates"] = s.Templates(ctx)
	_, errs["schedules"] = s.ListSchedules(ctx, "report", "a", 10)
	_, errs["schedule"] = s.Schedule(ctx, "report", "acme")
	_, errs["a changed schedule"] = s.ChangeSchedules(ctx, "report", []operations.ScheduleChange{{Key: "acme", Schedule: "@daily", Until: operations.ScheduleEnd{Time: at}, IfRevision: 3}}, who)
	_, errs["a deleted schedule"] = s.ChangeSchedules(ctx, "report", []operations.ScheduleChange{{Key: "acme", Delete: true, Generation: 4}}, who)
	if _, err := s.ChangeSchedules(ctx, "report", make([]operations.ScheduleChange, 2), who); err == nil {
		t.Error("an answer with too few lines was taken")
	}
	_, errs["changes"] = s.Changes(ctx, sel, "7")
	for what, err := range errs {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
