package ledgertest

import (
	"time"

	"github.com/cronce/cronce/ledger"
)

var schedulePurgeCases = []testCase{
	{"tombstones and ended schedules are kept as long as the history", func(b *bed) {
		b.template()
		b.change(keyed("gone", "1m"), keyed("once", at(b.time().Add(time.Minute))), keyed("stays", "1m"))
		b.pass(2 * time.Minute)
		b.planAll()
		b.put(ledger.ScheduleChange{JobID: "t:gone", Delete: true}, ledger.ScheduleDeleted)
		purge := ledger.HistoryPurge{Retention: time.Hour, AuditRetention: time.Hour}
		got, err := b.PurgeHistory(b.ctx, purge)
		if b.must(err); got.Schedules != 0 {
			b.Errorf("too early: %+v", got)
		}
		b.pass(2 * time.Hour)
		b.declare("planner", "v1", "t")
		got, err = b.PurgeHistory(b.ctx, purge)
		if b.must(err); got.Schedules != 2 {
			b.Errorf("%+v", got)
		}
		b.lists(ledger.ScheduleFilter{Template: "t"}, "stays")
		b.inQuota(1)
	}},
	{"runs and schedules of a template with a retention of its own are kept for that, all others as before", func(b *bed) {
		b.template()
		b.change(keyed("a", "1h"), keyed("gone", "1h"))
		other := b.deaths(2)
		b.changed(b.Ack(b.ctx, act(other.id(0), other.id(1))))(other.id(0), other.id(1))
		b.pass(2 * time.Hour)
		b.planAll()
		for _, w := range b.claim("p", 10).Work {
			b.record(succeeded(w))
		}
		b.put(ledger.ScheduleChange{JobID: "t:gone", Delete: true}, ledger.ScheduleDeleted)
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
		b.pass(3 * time.Hour)
		if runs, schedules := purge(time.Hour, 10*time.Hour); runs != 2 || schedules != 0 {
			b.Errorf("purged %d runs and %d schedules; want the two of the other job", runs, schedules)
		}
		b.left("j")
		if runs, schedules := purge(100*time.Hour, time.Hour); ran == 0 || runs != ran || schedules != 1 {
			b.Errorf("purged %d runs and %d schedules, want %d and 1", runs, schedules, ran)
		}
		b.left("t:a")
	}},
}
