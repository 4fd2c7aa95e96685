package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var schedulePurgeCases = []testCase{
	{"tombstones and ended schedules are kept as long as the history", func(b *fixture) {
		b.template()
		b.change(upsert("gone", "1m"), upsert("once", at(b.time().Add(time.Minute))), upsert("stays", "1m"))
		b.advance(2 * time.Minute)
		b.planAll()
		b.putSchedule(ledger.ScheduleChange{JobID: "t:gone", Delete: true}, ledger.ScheduleDeleted)
		purge := ledger.HistoryPurge{Retention: time.Hour, AuditRetention: time.Hour}
		got, err := b.PurgeHistory(b.ctx, purge)
		if b.must(err); got.Schedules != 0 {
			b.Errorf("too early: %+v", got)
		}
		b.advance(2 * time.Hour)
		b.declare("planner", "v1", "t")
		got, err = b.PurgeHistory(b.ctx, purge)
		if b.must(err); got.Schedules != 2 {
			b.Errorf("%+v", got)
		}
		b.wantSchedules(ledger.ScheduleFilter{Template: "t"}, "stays")
		b.inQuota(1)
	}},
	{"runs and schedules of a template with a retention of its own are kept for that, all others as before", func(b *fixture) {
		b.template()
		b.change(upsert("a", "1h"), upsert("gone", "1h"))
		other := b.newDeadRuns(2)
		b.wantChanged(b.Ack(b.ctx, actionOn(other.id(0), other.id(1))))(other.id(0), other.id(1))
		b.advance(2 * time.Hour)
		b.planAll()
		for _, w := range b.claim("p", 10).Work {
			b.record(succeeded(w))
		}
		b.putSchedule(ledger.ScheduleChange{JobID: "t:gone", Delete: true}, ledger.ScheduleDeleted)
		ran := len(b.all("t:a")) + len(b.all("t:gone"))
		purge := func(retention, own time.Duration) (runs, schedules int) {
			b.Helper()
			of := []ledger.TemplateRetention{{Template: "none", Retention: time.Hour}, {Template: "t", Retention: own}}
			p := ledger.Purge{Retention: retention, DeadRetention: retention, Templates: of, Batch: 1}
			dry := p
			dry.DryRun = true
			counted := b.purge(dry).Runs
			for more := true; more; {
				got := b.purge(p)
				runs, more, p.From = runs+got.Runs, got.More, got.Next
			}
			if counted != runs {
				b.Errorf("counted %d, purged %d", counted, runs)
			}
			h, err := b.PurgeHistory(b.ctx, ledger.HistoryPurge{Retention: retention, AuditRetention: retention, Templates: of})
			b.must(err)
			return runs, h.Schedules
		}
		b.advance(3 * time.Hour)
		if runs, schedules := purge(time.Hour, 10*time.Hour); runs != 2 || schedules != 0 {
			b.Errorf("purged %d runs and %d schedules; want the two of the other job", runs, schedules)
		}
		b.wantRuns("j")
		if runs, schedules := purge(100*time.Hour, time.Hour); ran == 0 || runs != ran || schedules != 1 {
			b.Errorf("purged %d runs and %d schedules, want %d and 1", runs, schedules, ran)
		}
		b.wantRuns("t:a")
	}},
}
