package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/completion"
	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/ledger"
)

// The endpoint for targets is in the document, whatever it answers.
func TestReportsOfTargetsFollowTheDocument(t *testing.T) {
	engines(t, func(s *site) {
		tokens, err := completion.New("https://cronce.example.com", "acme", strings.Repeat("0123", 8))
		s.must(err)
		mux := http.NewServeMux()
		mux.Handle(completion.Pattern, completion.Handler(tokens, s.store, func(_, progress string) string { return progress }, s.config(loopback).Logger))
		server := httptest.NewServer(mux)
		s.Cleanup(server.Close)
		running := s.run(3)
		s.accept(running)
		for _, c := range []struct {
			name, run, body string
			status          int
			code            string
		}{
			{"working", running, `{"state":"working","progress":{"done":3},"detail":"of 9"}`, http.StatusOK, ""},
			{"succeeded", running, `{"state":"succeeded"}`, http.StatusOK, ""},
			{"again", running, `{"state":"succeeded"}`, http.StatusOK, ""},
			{"no state", running, `{}`, http.StatusBadRequest, "completion_invalid"},
			{"no JSON", running, `done`, http.StatusBadRequest, "completion_invalid"},
			{"of a finished run", s.run(1), `{"state":"succeeded"}`, http.StatusConflict, "run_finished"},
			{"of no run", "tick@2001-01-01T00:00:00Z", `{"state":"failed"}`, http.StatusConflict, "run_finished"},
		} {
			_, token := tokens.For(c.run)
			for _, field := range [][]string{{"Authorization", "Bearer " + token}, {"Cronce-Completion-Token", token}} {
				a := s.sendTo(server, http.MethodPost, runPath(c.run)+"/completion", c.body, field...)
				if a.StatusCode != c.status || c.code != "" && a.code(s.TB) != c.code {
					s.Errorf("%s: %d %s", c.name, a.StatusCode, a.body)
				}
			}
			if a := s.sendTo(server, http.MethodPost, runPath(c.run)+"/completion", c.body, "Authorization", "Bearer no"); a.code(s.TB) != "completion_token_invalid" {
				s.Errorf("%s with another token: %d %s", c.name, a.StatusCode, a.body)
			}
		}
		if run, _, err := s.store.Get(s.Context(), running); err != nil || run.State != ledger.Accepted || run.Progress == "" {
			s.Errorf("the run is %+v, %v", run, err)
		}
		s.store.Close()
		_, token := tokens.For(running)
		a := s.sendTo(server, http.MethodPost, runPath(running)+"/completion", `{"state":"succeeded"}`, "Authorization", "Bearer "+token)
		if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
			s.Errorf("without a ledger: %d %s", a.StatusCode, a.body)
		}
	})
}

// accept plans a run of long work that its target has accepted.
func (s *site) accept(id string) {
	s.Helper()
	j, _ := s.reg.Job("tick")
	call := executor.FrozenCall(j, id, s.begin)
	call.Within = time.Hour
	at, err := time.Parse(time.RFC3339, strings.TrimPrefix(id, "tick@"))
	s.must(err)
	got, err := s.store.Enter(s.Context(), ledger.Entry{JobID: "tick", Process: "host-1", Token: uuid.NewString(), LeaseFor: time.Minute, RunSpec: ledger.RunSpec{
		RunID: id, ScheduledAt: at, Count: 1, State: ledger.Planned, Trigger: ledger.BySchedule, Overlap: ledger.OverlapAllow, Call: call, Lease: true,
	}})
	s.must(err)
	_, err = s.store.Record(s.Context(), []ledger.Outcome{{
		Lease: ledger.Lease{RunID: id, Token: got.Work.Token}, State: ledger.Accepted, Wait: time.Hour,
		Attempt: ledger.Attempt{RunID: id, N: 1, StartedAt: got.Now, FinishedAt: got.Now, Answer: ledger.AnswerAccepted, Status: http.StatusAccepted, Process: "host-1"},
	}})
	s.must(err)
}
