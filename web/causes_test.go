package web_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/ledger"
)

// Two jobs that die of one target's answer are one line, with one redrive and one
// acknowledgement for all their runs.
func TestTheOutageOfATargetIsOneLine(t *testing.T) {
	s := newSite(t)
	s.board.Actions = true
	for _, id := range []string{"hourly", "paris"} {
		w := s.admit(id, s.spec(id, 0))[0]
		_, err := s.Record(t.Context(), []ledger.Outcome{{
			Lease: ledger.Lease{RunID: w.RunID, Token: w.Token}, State: ledger.Dead, Reason: ledger.ReasonExhausted,
			Attempt: ledger.Attempt{RunID: w.RunID, N: w.Attempt, StartedAt: s.clock(), FinishedAt: s.clock(), Answer: ledger.AnswerFailed, Status: 503},
		}})
		must(t, err)
	}
	got := s.get("/").body
	for _, want := range []string{"Target env:SVC_URL: 2 jobs", "2 dead runs", "(503)", "/actions/ack?reason=exhausted&amp;state=dead&amp;target=env%3ASVC_URL"} {
		if !strings.Contains(got, want) {
			t.Errorf("the overview does not have %q:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "/actions/ack?"); n != 1 {
		t.Errorf("%d links to acknowledge, want 1", n)
	}
}
