package operations

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/ledger"
)

// A refusal names a way that is open: only dead runs can be redriven, and only
// a scheduled time can be backfilled.
func TestRerunOfAnUnknownOutcomeNamesAWayThatIsOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id    string
		state ledger.State
		want  string
	}{
		{"tick@2026-11-21T07:00:00Z", ledger.Dead, "runs redrive"},
		{"tick@2026-11-21T07:00:00Z", ledger.Canceled, "backfill tick"},
		{"tick@2026-11-21T07:00:00Z~token", ledger.Canceled, "ask the target"},
	} {
		run := ledger.Run{ID: c.id, JobID: "tick", State: c.state, Count: 1, Call: ledger.Call{Method: "POST"}}
		err := mayRerun(run, []ledger.Attempt{{Answer: ledger.AnswerLost}}, false)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--may-double") {
			t.Errorf("%s %s: %v, want %q", c.id, c.state, err, c.want)
		}
	}
}
