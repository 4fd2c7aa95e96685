package executor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/schedule"
)

func TestThePlannerPlansOnlyWhatItWasGivenAndWhatIsToCome(t *testing.T) {
	scheduled := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	before := ledger.Position{JobID: "a", Revision: 1, Watermark: scheduled.Add(-time.Millisecond)}
	after := ledger.Position{JobID: "a", Revision: 1, Watermark: scheduled}
	for rule, c := range map[string]struct {
		schedule string
		steps    func(p *planner)
		want     time.Time
	}{
		"a job that was never put is not reached": {"0 * * * *", func(p *planner) { p.moveTo(0, before) }, time.Time{}},
		"a job that was dropped is not reached": {"0 * * * *", func(p *planner) {
			p.update(0, before)
			p.drop(0)
			p.moveTo(0, before)
		}, time.Time{}},
		"a job of another revision is dropped": {"0 * * * *", func(p *planner) {
			p.update(0, before)
			if p.moveTo(0, ledger.Position{JobID: "a", Revision: 2, Watermark: scheduled}) {
				t.Error("reached, in another revision")
			}
			p.moveTo(0, before)
		}, time.Time{}},
		"a job that was dropped can be put again": {"0 * * * *", func(p *planner) {
			p.update(0, before)
			p.drop(0)
			p.update(0, after)
		}, scheduled.Add(time.Hour)},
		"a watermark before the full second leaves it due": {"0 * * * *", func(p *planner) { p.update(0, before) }, scheduled},
		"the last scheduled time of all is due":            {"at(2026-11-21T12:00:00)", func(p *planner) { p.update(0, before) }, scheduled},
		"after its last scheduled time a job is never due": {"at(2026-11-21T12:00:00)", func(p *planner) {
			p.update(0, before)
			p.moveTo(0, after)
		}, time.Time{}},
	} {
		t.Run(rule, func(t *testing.T) {
			reg, err := jobs.NewRegistry(jobs.Name("test"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"},
				jobs.Job{ID: "a", Schedule: c.schedule, Target: "svc", Path: "/a"})
			if err != nil {
				t.Fatal(err)
			}
			p := newPlanner(reg, 30*time.Second)
			c.steps(p)
			if got := p.nextDue(); !got.Equal(c.want) {
				t.Errorf("next due at %v, want %v", got, c.want)
			}
		})
	}
}

// The headers of calls count as their bodies do: an admission stays small.
func TestABatchIsFullByItsHeadersToo(t *testing.T) {
	headers := map[string]string{}
	for i := range 20 {
		headers[fmt.Sprint("X-", i)] = strings.Repeat("x", 1024)
	}
	var b batch
	for n := 1; !b.full(); n++ {
		b.add(0, ledger.Plan{Runs: []ledger.RunSpec{{Call: ledger.CallSpec{Headers: headers}}}})
		if n > admitBytes/(20*1024)+1 {
			t.Fatalf("not full with %d calls of 20 KiB", n)
		}
	}
}

// A local time that a clock change skips is reported when it happens, not with the next
// scheduled time, which may be a year later or never come.
func TestASkippedLocalTimeIsDueWhenItsGapEnds(t *testing.T) {
	begin := time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC)
	gap := time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC)
	for rule, c := range map[string]struct {
		schedule string
		spread   time.Duration
		year     int // in which the job is due next; 1: never
	}{
		"a yearly job":                            {"30 2 8 3 *", 0, 2027},
		"a job with a spread":                     {"30 2 8 3 *", time.Hour, 2027},
		"a job of which no other time is to come": {"cron(30 2 7-8 3 ? 2026)", 0, 1},
	} {
		t.Run(rule, func(t *testing.T) {
			reg, err := jobs.NewRegistry(jobs.Name("test"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"},
				jobs.Job{ID: "a", Schedule: c.schedule, Timezone: "America/New_York", DST: schedule.DSTSkip, Spread: c.spread, Target: "svc", Path: "/a"})
			if err != nil {
				t.Fatal(err)
			}
			p := newPlanner(reg, 30*time.Second)
			p.update(0, ledger.Position{JobID: "a", Revision: 1, Watermark: begin})
			if got := p.nextDue(); !got.Equal(gap) {
				t.Fatalf("next due at %v, want the end of the gap, %v", got, gap)
			}
			b := p.due(gap)
			if len(b.plans) != 1 || len(b.plans[0].Runs) != 0 || len(b.plans[0].Events) != 1 || b.plans[0].Events[0].Local != "2026-03-08T02:30:00" {
				t.Fatalf("plans %+v, want the skipped local time", b.plans)
			}
			p.moveTo(0, ledger.Position{JobID: "a", Revision: 1, Watermark: b.plans[0].Through})
			if got := p.nextDue(); got.Year() != c.year {
				t.Errorf("then due at %v, want in %d", got, c.year)
			}
		})
	}
}
