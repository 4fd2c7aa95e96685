package ledgertest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/ledger"
)

// scheduleFairCases say that no schedule and no template keeps others from being planned.
var scheduleFairCases = []testCase{
	{"a schedule that cannot be planned keeps no other from it", func(b *fixture) {
		b.template()
		made := b.change(manyPuts(3, "1m")...)
		b.advance(time.Minute)
		bad := planner
		bad.Rules = broken{key: "k0001"}
		got, err := b.PlanSchedules(b.ctx, bad)
		if b.must(err); len(got.Plans) != 2 || len(got.Failed) != 1 || got.Failed[0].JobID != "t:k0001" {
			b.Errorf("%+v", got)
		}
		b.advance(16 * time.Minute)
		b.planAll()
		b.wantRunsOf("k0001", runIDsAt("k0001", time.Minute, made[1].Schedule.Watermark, b.schedule("k0001").Watermark)) // nothing is lost
	}},
	{"schedules that cannot be planned open one incident of their template, while they are tried", func(b *fixture) {
		b.template()
		b.change(manyPuts(3, "1h")...)
		reconcile := func(want string) {
			b.Helper()
			b.must(b.ReconcileIncidents(b.ctx, ledger.IncidentUnplanned, nil))
			i := b.incident("t")
			if got := fmt.Sprint(i.Open(), " ", i.Count, " ", i.Reason); got != want || !strings.HasSuffix(i.Error, " cannot be planned: unknown") {
				b.Errorf("%s, want %s: %s", got, want, i.Error)
			}
		}
		bad := planner
		bad.Rules = broken{}
		plan := func(p ledger.SchedulePlanning, failed int) {
			b.Helper()
			got, err := b.PlanSchedules(b.ctx, p)
			if b.must(err); len(got.Failed) != failed {
				b.Errorf("%+v", got.Failed)
			}
		}
		b.advance(time.Hour)
		plan(bad, 3)
		plan(bad, 0)
		reconcile("true 3 not_plannable")
		b.advance(15 * time.Minute)
		plan(bad, 3) // the same ones
		b.advance(15 * time.Minute)
		reconcile("true 3 not_plannable")
		changed, one := upsert("k0000", "1h"), planner
		changed.Timezone, one.Rules = "Europe/Berlin", broken{key: "k0001"}
		b.putSchedule(changed, ledger.ScheduleChanged)
		plan(one, 1)
		b.advance(time.Hour)
		plan(bad, 3) // two of them anew
		reconcile("true 5 not_plannable")
		_, err := b.AckIncident(b.ctx, ledger.IncidentAction{ID: b.incident("t").ID, Close: true, Actor: someone})
		b.must(err)
		b.advance(15 * time.Minute)
		plan(bad, 3)
		open := func() []ledger.Incident {
			b.Helper()
			b.must(b.ReconcileIncidents(b.ctx, ledger.IncidentUnplanned, nil))
			list, err := b.Incidents(b.ctx, ledger.IncidentFilter{Open: true})
			b.must(err)
			return list
		}
		if list := open(); len(list) != 1 || list[0].Count != 3 {
			b.Errorf("after an operator closed it: %+v", list)
		}
		b.advance(15 * time.Minute)
		plan(planner, 0)
		b.advance(2 * time.Minute)
		if list := open(); len(list) > 0 {
			b.Errorf("after all were planned: %+v", list)
		}
	}},
	{"each of very many that cannot be planned counts once", func(b *fixture) {
		b.template()
		b.change(manyPuts(1000, "1m")...)
		b.change(upsert("last", "1m"))
		bad := planner
		bad.Rules = broken{}
		for range 2 {
			b.advance(15 * time.Minute)
			for failed := 0; failed < 1001; {
				got, err := b.PlanSchedules(b.ctx, bad)
				if b.must(err); len(got.Failed) == 0 {
					b.Fatalf("%d were tried", failed)
				}
				failed += len(got.Failed)
			}
			if i := b.incident("t"); i.Count != 1001 {
				b.Errorf("the incident counts %d", i.Count)
			}
		}
	}},
	{"templates that are due take turns", func(b *fixture) {
		b.declare("planner", "v1", "s", "t")
		b.assignments("v1")
		others := manyPuts(1000, "1m")
		for i := range others {
			others[i].JobID = "s" + others[i].JobID[1:]
		}
		_, err := b.ChangeSchedules(b.ctx, ledger.ChangeSchedulesRequest{Template: "s", Items: others, Rules: timing{}, Actor: someone})
		b.must(err)
		one := []ledger.ScheduleChange{{JobID: "s:last", ScheduleContent: others[0].ScheduleContent}}
		_, err = b.ChangeSchedules(b.ctx, ledger.ChangeSchedulesRequest{Template: "s", Items: one, Rules: timing{}, Actor: someone})
		b.must(err)
		b.advance(time.Minute)
		b.change(manyPuts(3, "1m")...)
		b.advance(time.Minute)
		p, turns := planner, ""
		p.Templates = []ledger.TemplateRevision{{Template: "s", Revision: 1}, {Template: "t", Revision: 1}}
		for range 3 {
			got, err := b.PlanSchedules(b.ctx, p)
			b.must(err)
			p.After, turns = got.Template, turns+got.Template
		}
		if turns != "sts" {
			b.Errorf("turns of %s; want s, t, s", turns)
		}
	}},
}

// broken cannot plan a key; "": none at all.
type broken struct {
	timing
	key string
}

func (r broken) Plan(s *ledger.Schedule, now time.Time, all bool) (p ledger.Plan, next time.Time, err error) {
	if r.key == "" || s.Key() == r.key {
		return p, next, errors.New("unknown")
	}
	return r.timing.Plan(s, now, all)
}

var scheduleBatchCases = []testCase{
	{"no schedules are planned while thousands of their runs are due", func(b *fixture) {
		b.template()
		for i := range 6 {
			items := manyPuts(1000, at(b.time().Add(10*time.Second)))
			for k := range items {
				items[k].JobID += string(rune('a' + i))
			}
			b.change(items...)
		}
		b.advance(time.Minute)
		plan := func() (planned int) {
			for last := -1; planned > last; {
				last = planned
				got, err := b.PlanSchedules(b.ctx, planner)
				b.must(err)
				if len(got.Plans) > 1000 {
					b.Fatalf("%d schedules in a batch", len(got.Plans))
				}
				planned += len(got.Plans)
			}
			return planned
		}
		if n := plan(); n != 5000 {
			b.Fatalf("%d were planned with nobody to run them", n)
		}
		var done []ledger.Outcome
		for _, w := range b.claim("p", 2000).Work {
			done = append(done, succeeded(w))
		}
		b.record(done...)
		if n := plan(); n != 1000 {
			b.Errorf("%d were planned in the end", n)
		}
	}},
}
