package operations_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/operations"
	"github.com/cronce/cronce/ledger"
)

// The outage of a target is one cause, however many jobs it hit; another answer is another.
func TestDeadRunsOfOneTargetAreOneCause(t *testing.T) {
	now := time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
	var groups []ledger.RunGroup
	for i := range 40 {
		at, job := now.Add(-time.Duration(i)*time.Minute), fmt.Sprintf("job-%02d", i)
		row := ledger.Row{Run: ledger.Run{
			ID: job + "@x", JobID: job, Count: 1, State: ledger.Dead, Reason: ledger.ReasonExhausted, Status: 503, ScheduledAt: at,
			Call: ledger.CallSpec{Target: "payments"}, FinishedAt: at, KeySafeUntil: now.Add(time.Hour - time.Duration(i)*10*time.Minute),
		}}
		groups = append(groups, ledger.GroupOf(&row))
	}
	other := groups[0]
	other.Newest.ID, other.Status = "job-00@y", 400
	causes := operations.CausesOf(append(groups, other))
	if len(causes) != 2 {
		t.Fatalf("%d causes, want 2", len(causes))
	}
	c := causes[0]
	if c.Target != "payments" || c.Status != 503 || c.Runs != 40 || len(c.Jobs) != 10 || c.Others != 30 || c.RunID != "job-00@x" || c.Group.KeyUnsafe(now) || !c.Shared() ||
		c.Since != "2026-11-27T07:21:00.000Z" {
		t.Errorf("cause %+v", c)
	}
	if c := causes[1]; c.Runs != 1 || c.Shared() {
		t.Errorf("cause %+v", c)
	}
}

// A parent whose list is frozen sends nothing of its own: it can be redriven when its key is
// forgotten.
func TestParentsCanBeSentAfterTheirKey(t *testing.T) {
	now := time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
	for members, want := range map[int]bool{0: false, 3: true} {
		r := ledger.Row{Run: ledger.Run{ID: "a@x", JobID: "a", State: ledger.Dead, Reason: ledger.ReasonMembers, KeySafeUntil: now, Fan: ledger.Fan{Members: members}}}
		if g := ledger.GroupOf(&r); g.KeyUnsafe(now) == want {
			t.Errorf("%d members: sendable %t, want %t", members, !want, want)
		}
	}
}
