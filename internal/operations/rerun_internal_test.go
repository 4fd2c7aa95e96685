package operations

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/idempotency"
	"github.com/cronce/cronce/jobs"
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
		{"tick@2026-11-21T07:00:00Z~token", ledger.Canceled, "check at the target"},
	} {
		run := ledger.Run{ID: c.id, JobID: "tick", State: c.state, Count: 1, Call: ledger.CallSpec{Method: "POST"}}
		err := mayRerun(run, []ledger.Attempt{{Answer: ledger.AnswerLost}}, false)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--may-double") {
			t.Errorf("%s %s: %v, want %q", c.id, c.state, err, c.want)
		}
	}
}

// A rerun of a parent fetches its list again: the members that have succeeded would be called
// under new keys.
func TestRerunOfAParentThatDidNotSucceedMustBeAllowedToDouble(t *testing.T) {
	t.Parallel()
	run := ledger.Run{
		ID: "bill@2026-11-21T07:00:00Z", JobID: "bill", State: ledger.Dead, Reason: ledger.ReasonMembers, Count: 1,
		Call: ledger.CallSpec{Method: "POST", Each: &ledger.Each{}}, Fan: ledger.Fan{Members: 3, Released: 3, Done: true},
	}
	attempts := []ledger.Attempt{{N: 1, Answer: ledger.AnswerFresh, Status: 200}}
	if err := mayRerun(run, attempts, false); err == nil || !strings.Contains(err.Error(), "runs redrive") || !strings.Contains(err.Error(), "--may-double") {
		t.Errorf("dead: %v", err)
	}
	if err := mayRerun(run, attempts, true); err != nil {
		t.Errorf("with may-double: %v", err)
	}
	run.Fan = ledger.Fan{}
	if err := mayRerun(run, []ledger.Attempt{{N: 1, Answer: ledger.AnswerRefused, Status: 403}}, false); err != nil {
		t.Errorf("without a list: %v", err)
	}
}

// The target may keep keys for less time than when the run was planned.
func TestARerunIsSentNoLongerThanItsJobAllowsNow(t *testing.T) {
	t.Parallel()
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC"},
		jobs.Job{ID: "tick", Schedule: "* * * * *", Target: "svc", Path: "/t"},
		jobs.Template{Job: jobs.Job{ID: "bill", Target: "svc", Path: "/b/{{key}}"}, Max: 1})
	if err != nil {
		t.Fatal(err)
	}
	now, _ := reg.Job("tick")
	for _, c := range []struct {
		jobID         string
		horizon, want time.Duration
	}{
		{"tick", 300 * time.Hour, now.Retry.Horizon}, {"tick", time.Minute, time.Minute},
		{"bill:c1", 300 * time.Hour, now.Retry.Horizon}, {"gone", 300 * time.Hour, 300 * time.Hour},
	} {
		call := ledger.CallSpec{Horizon: c.horizon, KeySafeFor: c.horizon + time.Hour}
		capKeyTimes(&call, reg, c.jobID)
		if call.Horizon != c.want || call.KeySafeFor > max(c.horizon+time.Hour, now.KeySafeFor()) ||
			c.jobID != "gone" && call.KeySafeFor > now.KeySafeFor() {
			t.Errorf("%s, %s: %s and %s, want %s", c.jobID, c.horizon, call.Horizon, call.KeySafeFor, c.want)
		}
	}
}

func TestAttemptsOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	accepted, refused := ledger.Attempt{Answer: ledger.AnswerAccepted, Status: 202}, ledger.Attempt{Answer: ledger.AnswerRefused, Status: 422}
	for _, c := range []struct {
		attempts []ledger.Attempt
		want     bool
	}{
		{nil, false},
		{[]ledger.Attempt{refused}, false},
		{[]ledger.Attempt{{Answer: ledger.AnswerFailed, Status: 500}}, false},
		{[]ledger.Attempt{{Answer: ledger.AnswerLost}, refused}, true},
		{[]ledger.Attempt{accepted, accepted}, true},
		{[]ledger.Attempt{accepted, refused}, false}, // the work has ended
		{[]ledger.Attempt{{Answer: ledger.AnswerFailed, Status: 504}}, true},
		{[]ledger.Attempt{{Answer: ledger.AnswerFailed, Status: 502}, refused}, true},
		{[]ledger.Attempt{{Answer: ledger.AnswerRefused, Status: 409, Code: idempotency.CodeOutcomeUnknown}}, true},
		{[]ledger.Attempt{{Answer: ledger.AnswerFailed, Status: 500, Code: idempotency.CodeTxEnded}}, true},
		{[]ledger.Attempt{{Answer: ledger.AnswerThrottled, Status: 503, Code: idempotency.CodeUnavailable}}, true},
	} {
		if got := unknownOutcome(c.attempts); got != c.want {
			t.Errorf("%+v: %t", c.attempts, got)
		}
	}
}
