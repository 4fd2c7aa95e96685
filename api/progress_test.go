package api_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/internal/access"
	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// The progress that a target tells is for operators, wherever its run is shown.
func TestProgressIsHiddenFromViewers(t *testing.T) {
	path, tokens := accessFile(t, "")
	control, err := access.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := onFile(t, control)
	var before operations.Changes
	s.get("/v1/changes", "Authorization", "Bearer "+tokens["viewer"]).into(t, &before)
	id := s.accepted("row 3: Jane Doe")
	for role, shown := range map[string]bool{"viewer": false, "operator": true, "admin": true} {
		for _, path := range []string{
			"/v1/runs", runPath(id), "/v1/jobs", "/v1/jobs/tock", "/v1/why?job=tock&at=" + url.QueryEscape(strings.TrimPrefix(id, "tock@")),
			"/v1/changes?after=" + before.Position, "/v1/export/runs", "/v1/export/runs?format=ndjson",
		} {
			a := s.get(path, "Authorization", "Bearer "+tokens[role])
			if !strings.Contains(string(a.body), id) || strings.Contains(string(a.body), "Jane Doe") != shown {
				t.Errorf("%s sees the progress on %s: %v, want %v\n%s", role, path, !shown, shown, a.body)
			}
		}
	}
}

// accepted makes a run of tock whose target works on it, and has told its progress.
func (s *site) accepted(progress string) string {
	s.Helper()
	j, _ := s.reg.Job("tock")
	at := s.begin.Truncate(time.Hour)
	id := jobs.RunID(j.ID, at)
	got, err := s.store.Enter(s.Context(), ledger.Entry{JobID: j.ID, Process: "host-1", Token: uuid.NewString(), LeaseFor: time.Minute, RunSpec: ledger.RunSpec{
		RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule, Overlap: ledger.OverlapAllow, Call: executor.FrozenCall(j, id, at), Lease: true,
	}})
	s.must(err)
	_, err = s.store.Record(s.Context(), []ledger.Outcome{{
		Lease: ledger.Lease{RunID: id, Token: got.Work.Token}, State: ledger.Accepted, Wait: time.Minute, Progress: progress,
		Attempt: ledger.Attempt{RunID: id, N: 1, StartedAt: got.Now, FinishedAt: got.Now, Answer: ledger.AnswerAccepted, Status: 202, Process: "host-1"},
	}})
	s.must(err)
	return id
}
