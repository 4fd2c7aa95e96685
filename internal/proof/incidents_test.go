package proof_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

var ops = jobs.Channel{Name: "ops", Type: jobs.ChannelSlack, After: 1, Remind: 5 * time.Minute}

// notified is the row of a notification on the channel ops.
func notified(n int, what string) ledger.Run {
	id := jobs.RunIDWithToken(ops.JobID(), minute(n), what)
	return ledger.Run{
		ID: id, JobID: ops.JobID(), ScheduledAt: minute(n), Count: 1, State: ledger.Canceled, Trigger: ledger.ByIncident, PlannedAt: minute(n), FinishedAt: minute(n),
	}
}

// incident is evidence of a problem at the fourth minute that was told and ended.
func incident(t *testing.T) proof.Evidence {
	e := good(t)
	e.Problems = map[proof.Problems]int{{JobID: "a", Cause: ledger.IncidentDead}: 2}
	e.Incidents = []ledger.Incident{{
		ID: 7, JobID: "a", Cause: ledger.IncidentDead, Count: 2, OpenedAt: minute(4), LastAt: minute(5), ClosedAt: minute(12), ClosedBy: "x",
	}}
	e.Channels, e.Watched = []jobs.Channel{ops}, minute(30)
	e.Rows = append(e.Rows, notified(4, "i7.1-opened"), notified(9, "i7.3-reminded"), notified(12, "i7.5-recovered"))
	return e
}

func TestIncidentRules(t *testing.T) {
	drop := func(n int) func(*proof.Evidence) {
		return func(e *proof.Evidence) { e.Rows = slices.Delete(e.Rows, len(e.Rows)-n, len(e.Rows)) }
	}
	for i, c := range []struct {
		rule  proof.Rule // "": none
		spoil func(*proof.Evidence)
	}{
		{"", func(*proof.Evidence) {}},
		{proof.Unopened, func(e *proof.Evidence) { e.Incidents[0].Count = 1 }},
		{proof.Baseless, func(e *proof.Evidence) { e.Incidents[0].Count = 3 }},
		{proof.Baseless, func(e *proof.Evidence) { e.Rows = append(e.Rows, notified(5, "i8.1-opened")) }},
		{proof.Baseless, func(e *proof.Evidence) { e.Channels[0].On = []string{"missed"} }},
		{proof.Untold, drop(1)},
		{proof.Untold, func(e *proof.Evidence) { drop(2)(e); e.Incidents[0].ClosedAt = time.Time{} }},
		{proof.Untold, func(e *proof.Evidence) { drop(3)(e); e.Incidents[0].ClosedAt = time.Time{} }},
		{"", func(e *proof.Evidence) { drop(3)(e) }}, // it ended before it was told
		{"", func(e *proof.Evidence) { drop(1)(e); e.Incidents[0].Reopened = 2 }},
		{"", func(e *proof.Evidence) {
			drop(2)(e)
			e.Incidents[0].ClosedAt, e.Incidents[0].AckedAt = time.Time{}, minute(6)
		}},
		{proof.Misled, func(e *proof.Evidence) { e.Rows = append(e.Rows, notified(5, "i7.2-opened")) }},
		{proof.Misled, func(e *proof.Evidence) { e.Rows = append(e.Rows, notified(12, "i7.6-recovered")) }},
		{proof.Misled, func(e *proof.Evidence) { e.Rows = append(e.Rows, notified(8, "i7.2-reminded")) }},
		{proof.Misled, func(e *proof.Evidence) { e.Rows[len(e.Rows)-2].FinishedAt = minute(13) }},
		{proof.Misled, func(e *proof.Evidence) { e.Rows[len(e.Rows)-2].State = ledger.Planned }},
		{proof.Echoed, func(e *proof.Evidence) {
			e.Incidents[0].JobID = ops.JobID()
			e.Problems = map[proof.Problems]int{{JobID: ops.JobID(), Cause: ledger.IncidentDead}: 2}
		}},
	} {
		t.Run(fmt.Sprint(i, " ", c.rule), func(t *testing.T) {
			e := incident(t)
			c.spoil(&e)
			found, _ := proof.Check(e)
			if (len(found) > 0) != (c.rule != "") || slices.ContainsFunc(found, func(v proof.Violation) bool { return v.Rule != c.rule }) {
				t.Errorf("found %v", found)
			}
		})
	}
}
