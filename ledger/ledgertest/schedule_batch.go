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
	{"a schedule that cannot be planned keeps no other from it", func(t *fixture) {
		t.template()
		made := t.change(manyPuts(3, "1m")...)
		t.advance(time.Minute)
		bad := planner
		bad.Rules = broken{key: "k0001"}
		got, err := t.PlanSchedules(t.ctx, bad)
		t.must(err)
		if len(got.Plans) != 2 || len(got.Failed) != 1 || got.Failed[0].JobID != "t:k0001" {
			t.Errorf("%+v", got)
		}
		t.advance(16 * time.Minute)
		t.planAll()
		t.wantRunsOf("k0001", runIDsAt("k0001", time.Minute, made[1].Schedule.Watermark, t.schedule("k0001").Watermark)) // nothing is lost
	}},
	{"schedules that cannot be planned open one incident of their template, while they are tried", func(t *fixture) {
		t.template()
		t.change(manyPuts(3, "1h")...)
		reconcile := func(want string) {
			t.Helper()
			t.must(t.ReconcileIncidents(t.ctx, ledger.IncidentUnplanned, nil))
			i := t.incident("t")
			if got := fmt.Sprint(i.Open(), " ", i.Count, " ", i.Reason); got != want || !strings.HasSuffix(i.Error, " cannot be planned: unknown") {
				t.Errorf("%s, want %s: %s", got, want, i.Error)
			}
		}
		bad := planner
		bad.Rules = broken{}
		plan := func(p ledger.SchedulePlanning, failed int) {
			t.Helper()
			got, err := t.PlanSchedules(t.ctx, p)
			t.must(err)
			if len(got.Failed) != failed {
				t.Errorf("%+v", got.Failed)
			}
		}
		t.advance(time.Hour)
		plan(bad, 3)
		plan(bad, 0)
		reconcile("true 3 not_plannable")
		t.advance(15 * time.Minute)
		plan(bad, 3) // the same ones
		t.advance(15 * time.Minute)
		reconcile("true 3 not_plannable")
		changed, one := upsert("k0000", "1h"), planner
		changed.Timezone, one.Rules = "Europe/Berlin", broken{key: "k0001"}
		t.putSchedule(changed, ledger.ScheduleChanged)
		plan(one, 1)
		t.advance(time.Hour)
		plan(bad, 3) // two of them anew
		reconcile("true 5 not_plannable")
		_, err := t.AckIncident(t.ctx, ledger.IncidentAction{ID: t.incident("t").ID, Close: true, Actor: someone})
		t.must(err)
		t.advance(15 * time.Minute)
		plan(bad, 3)
		open := func() []ledger.Incident {
			t.Helper()
			t.must(t.ReconcileIncidents(t.ctx, ledger.IncidentUnplanned, nil))
			list, err := t.Incidents(t.ctx, ledger.IncidentFilter{Open: true})
			t.must(err)
			return list
		}
		if list := open(); len(list) != 1 || list[0].Count != 3 {
			t.Errorf("after an operator closed it: %+v", list)
		}
		t.advance(15 * time.Minute)
		plan(planner, 0)
		t.advance(2 * time.Minute)
		if list := open(); len(list) > 0 {
			t.Errorf("after all were planned: %+v", list)
		}
	}},
	{"each of very many that cannot be planned counts once", func(t *fixture) {
		t.template()
		t.change(manyPuts(1000, "1m")...)
		t.change(upsert("last", "1m"))
		bad := planner
		bad.Rules = broken{}
		for range 2 {
			t.advance(15 * time.Minute)
			for failed := 0; failed < 1001; {
				got, err := t.PlanSchedules(t.ctx, bad)
				t.must(err)
				if len(got.Failed) == 0 {
					t.Fatalf("%d were tried", failed)
				}
				failed += len(got.Failed)
			}
			if i := t.incident("t"); i.Count != 1001 {
				t.Errorf("the incident counts %d", i.Count)
			}
		}
	}},
	{"templates that are due take turns", func(t *fixture) {
		t.declare("planner", "v1", "s", "t")
		t.assignments("v1")
		others := manyPuts(1000, "1m")
		for i := range others {
			others[i].JobID = "s" + others[i].JobID[1:]
		}
		_, err := t.ChangeSchedules(t.ctx, ledger.ChangeSchedulesRequest{Template: "s", Items: others, Rules: timing{}, Actor: someone})
		t.must(err)
		one := []ledger.ScheduleChange{{JobID: "s:last", ScheduleContent: others[0].ScheduleContent}}
		_, err = t.ChangeSchedules(t.ctx, ledger.ChangeSchedulesRequest{Template: "s", Items: one, Rules: timing{}, Actor: someone})
		t.must(err)
		t.advance(time.Minute)
		t.change(manyPuts(3, "1m")...)
		t.advance(time.Minute)
		p, turns := planner, ""
		p.Templates = []ledger.TemplateRevision{{Template: "s", Revision: 1}, {Template: "t", Revision: 1}}
		for range 3 {
			got, err := t.PlanSchedules(t.ctx, p)
			t.must(err)
			p.After, turns = got.Template, turns+got.Template
		}
		if turns != "sts" {
			t.Errorf("turns of %s; want s, t, s", turns)
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
	{"no schedules are planned while thousands of their runs are due", func(t *fixture) {
		t.template()
		for i := range 6 {
			items := manyPuts(1000, at(t.time().Add(10*time.Second)))
			for k := range items {
				items[k].JobID += string(rune('a' + i))
			}
			t.change(items...)
		}
		t.advance(time.Minute)
		plan := func() (planned int) {
			for last := -1; planned > last; {
				last = planned
				got, err := t.PlanSchedules(t.ctx, planner)
				t.must(err)
				if len(got.Plans) > 1000 {
					t.Fatalf("%d schedules in a batch", len(got.Plans))
				}
				planned += len(got.Plans)
			}
			return planned
		}
		if n := plan(); n != 5000 {
			t.Fatalf("%d were planned with nobody to run them", n)
		}
		var done []ledger.Outcome
		for _, w := range t.claim("p", 2000).Work {
			done = append(done, succeeded(w))
		}
		t.record(done...)
		if n := plan(); n != 1000 {
			t.Errorf("%d were planned in the end", n)
		}
	}},
}
