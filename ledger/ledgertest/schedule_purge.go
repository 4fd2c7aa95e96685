package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var schedulePurgeCases = []testCase{
	{"tombstones and ended schedules are kept as long as the history", func(t *fixture) {
		t.template()
		t.change(upsert("gone", "1m"), upsert("once", at(t.time().Add(time.Minute))), upsert("stays", "1m"))
		t.advance(2 * time.Minute)
		t.planAll()
		t.putSchedule(ledger.ScheduleChange{JobID: "t:gone", Delete: true}, ledger.ScheduleDeleted)
		purge := ledger.HistoryPurge{Retention: time.Hour, AuditRetention: time.Hour}
		got, err := t.PurgeHistory(t.ctx, purge)
		t.must(err)
		if got.Schedules != 0 {
			t.Errorf("too early: %+v", got)
		}
		t.advance(2 * time.Hour)
		t.declare("planner", "v1", "t")
		got, err = t.PurgeHistory(t.ctx, purge)
		t.must(err)
		if got.Schedules != 2 {
			t.Errorf("%+v", got)
		}
		t.wantSchedules(ledger.ScheduleFilter{Template: "t"}, "stays")
		t.inQuota(1)
	}},
	{"runs and schedules of a template with a retention of its own are kept for that, all others as before", func(t *fixture) {
		t.template()
		t.change(upsert("a", "1h"), upsert("gone", "1h"))
		other := t.newDeadRuns(2)
		t.wantChanged(t.Ack(t.ctx, actionOn(other.id(0), other.id(1))))(other.id(0), other.id(1))
		t.advance(2 * time.Hour)
		t.planAll()
		for _, w := range t.claim("p", 10).Work {
			t.record(succeeded(w))
		}
		t.putSchedule(ledger.ScheduleChange{JobID: "t:gone", Delete: true}, ledger.ScheduleDeleted)
		ran := len(t.all("t:a")) + len(t.all("t:gone"))
		purge := func(retention, own time.Duration) (runs, schedules int) {
			t.Helper()
			of := []ledger.TemplateRetention{{Template: "none", Retention: time.Hour}, {Template: "t", Retention: own}}
			p := ledger.Purge{Retention: retention, DeadRetention: retention, Templates: of, Batch: 1}
			dry := p
			dry.DryRun = true
			counted := t.purge(dry).Runs
			for more := true; more; {
				got := t.purge(p)
				runs, more, p.From = runs+got.Runs, got.More, got.Next
			}
			if counted != runs {
				t.Errorf("counted %d, purged %d", counted, runs)
			}
			h, err := t.PurgeHistory(t.ctx, ledger.HistoryPurge{Retention: retention, AuditRetention: retention, Templates: of})
			t.must(err)
			return runs, h.Schedules
		}
		t.advance(3 * time.Hour)
		if runs, schedules := purge(time.Hour, 10*time.Hour); runs != 2 || schedules != 0 {
			t.Errorf("purged %d runs and %d schedules; want the two of the other job", runs, schedules)
		}
		t.wantRuns("j")
		if runs, schedules := purge(100*time.Hour, time.Hour); ran == 0 || runs != ran || schedules != 1 {
			t.Errorf("purged %d runs and %d schedules, want %d and 1", runs, schedules, ran)
		}
		t.wantRuns("t:a")
	}},
}
