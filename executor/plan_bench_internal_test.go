package executor

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
)

// BenchmarkDue100000Jobs plans 100,000 jobs that are all due in one second, to the rows
// that are to be written, in batches as the executor does. The ledger is not part of it.
func BenchmarkDue100000Jobs(b *testing.B) {
	for _, schedule := range []string{"0 * * * *", "at(2026-11-21T12:00:00)"} {
		b.Run(schedule[:2], func(b *testing.B) { benchmarkDue(b, 100_000, schedule) })
	}
}

func benchmarkDue(b *testing.B, n int, schedule string) {
	entries := []jobs.Entry{jobs.Name("test"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}}
	for i := range n {
		entries = append(entries, jobs.Job{ID: fmt.Sprintf("job-%06d", i), Schedule: schedule, Target: "svc", Path: "/run"})
	}
	reg, err := jobs.NewRegistry(entries...)
	if err != nil {
		b.Fatal(err)
	}
	scheduled := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	p := newPlanner(reg, 30*time.Second)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for i, j := range reg.All() {
			p.update(i, ledger.Position{JobID: j.ID, Revision: 1, Watermark: scheduled.Add(-time.Second)})
		}
		b.StartTimer()
		if rows := planAll(p, scheduled); rows != n {
			b.Fatalf("%d rows for %d jobs", rows, n)
		}
	}
}

// planAll plans what is due as if a ledger had admitted it all.
func planAll(p *planner, now time.Time) (rows int) {
	for {
		b := p.due(now)
		if len(b.plans) == 0 {
			return rows
		}
		rows += b.rows
		for i, plan := range b.plans {
			p.moveTo(b.indexes[i], ledger.Position{JobID: plan.JobID, Revision: plan.Revision, Watermark: plan.Through})
		}
	}
}
