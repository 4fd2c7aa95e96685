package executor_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
	"github.com/cronce/cronce/schedule"
)

var report = jobs.Template{Max: 1000, Job: jobs.Job{ID: "report", Target: "svc", Path: "/reports/{{key}}", Body: map[string]string{"n": "{{data.n}}"}}}

// put makes a schedule of the template in the registry.
func put(t *testing.T, l ledger.Store, reg *jobs.Registry, key, expr string) ledger.ScheduleResult {
	t.Helper()
	template, _ := reg.Template("report")
	s, err := template.Check(jobs.KeyedSchedule{Key: key, Schedule: expr, Data: []byte(`{"n":"1"}`)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.ChangeSchedules(t.Context(), ledger.ChangeSchedulesRequest{
		Template: "report", Max: template.Max, Rules: executor.ScheduleRules(reg, 0), Actor: ledger.Actor{By: "ann", Why: "asked"},
		Items: []ledger.ScheduleChange{{
			JobID:           jobs.ScheduleID("report", key),
			ScheduleContent: ledger.ScheduleContent{Expr: s.Schedule, Timezone: s.Timezone, DST: string(s.DST), Data: s.Data, Until: s.Until},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return got[0]
}

// made makes a schedule, which must succeed.
func made(t *testing.T, l ledger.Store, reg *jobs.Registry, key, expr string) {
	t.Helper()
	if got := put(t, l, reg, key, expr); got.Err != nil {
		t.Fatal(got.Err)
	}
}

func TestASchedulesRunsAreCalledWithItsKeyAndData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc, reg := memory.New(), applying(), registry(t, report, minutely("other"))
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		time.Sleep(10 * time.Second)
		first := time.Now().Truncate(time.Minute).Add(time.Minute).UTC()
		made(t, l, reg, "acme", "* * * * *")
		made(t, l, reg, "once", "at("+first.Add(30*time.Second).Format("2006-01-02T15:04:05")+")")
		made(t, l, reg, "soon", "at("+time.Now().UTC().Add(time.Second).Format("2006-01-02T15:04:05")+")")
		time.Sleep(3 * time.Minute)
		stop()
		want := []string{jobs.RunID("report:once", first.Add(30*time.Second)), jobs.RunID("report:soon", first.Add(-49*time.Second))}
		for i := range 3 {
			want = append(want, jobs.RunID("report:acme", first.Add(time.Duration(i)*time.Minute)), jobs.RunID("other", first.Add(time.Duration(i)*time.Minute)))
		}
		slices.Sort(want)
		if got := svc.runIDs(); !slices.Equal(got, want) {
			t.Errorf("called %v\n  want %v", got, want)
		}
		for i, c := range svc.calls {
			template, key, keyed := jobs.SplitJobID(c.JobID)
			if keyed && (c.Work.Call.Path != "/reports/"+key || string(c.Work.Call.Body) != `{"n":"1"}` || template != "report") {
				t.Errorf("%+v", c.Work)
			}
			if late := svc.times[i].Sub(c.ScheduledAt); late > 300*time.Millisecond {
				t.Errorf("%s is %s late", c.RunID, late)
			}
		}
	})
}

func TestASingleTimeThatHasJustPassedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc, reg := memory.New(), applying(), registry(t, report)
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		time.Sleep(time.Minute)
		made(t, l, reg, "late", "at("+time.Now().UTC().Add(-5*time.Second).Format("2006-01-02T15:04:05")+")")
		if got := put(t, l, reg, "old", "at("+time.Now().UTC().Add(-25*time.Hour).Format("2006-01-02T15:04:05")+")"); got.Err == nil {
			t.Error("a time a day ago was taken")
		}
		time.Sleep(time.Second)
		stop()
		if got := svc.runIDs(); len(got) != 1 {
			t.Errorf("called %v", got)
		}
	})
}

// A put that is repeated after the purge of its schedule must not run it again.
func TestATimeThatThePurgeMayHaveDeletedDoesNotBegin(t *testing.T) {
	reg, err := jobs.NewRegistry(jobs.Name("acme"), jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, jobs.Cleanup{LedgerRetention: time.Hour}, report)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for late, want := range map[time.Duration]bool{59 * time.Minute: true, 61 * time.Minute: false} {
		s := ledger.Schedule{JobID: "report:once", ScheduleContent: ledger.ScheduleContent{
			Expr: "at(" + now.UTC().Add(-late).Format("2006-01-02T15:04:05") + ")", Data: []byte(`{"n":"1"}`),
		}}
		if _, err := executor.ScheduleRules(reg, 0).Begin(&s, time.Time{}, now); (err == nil) != want {
			t.Errorf("%s late: %v", late, err)
		}
		_, err := executor.ScheduleRules(reg, 0).Begin(&s, now, now)
		if err == nil || !strings.Contains(err.Error(), "up to which the times of this key are planned") {
			t.Errorf("a time that the key's watermark has passed: %v", err)
		}
	}
}

// An outage makes the schedules late, not their calls too many: the rules are those of jobs.
func TestSchedulesAreCaughtUpAsJobsAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc, reg := memory.New(), applying(), registry(t, report)
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		time.Sleep(time.Second)
		made(t, l, reg, "acme", "*/10 * * * *")
		stop()
		time.Sleep(time.Hour + 5*time.Minute)
		_, stop = start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		time.Sleep(time.Second)
		stop()
		runs := mustList(t, l, ledger.Filter{JobID: "report:acme"})
		if len(svc.runIDs()) != 1 || len(runs) != 6 || runs[0].State != ledger.Succeeded || runs[1].State != ledger.Superseded {
			t.Errorf("called %v; %d runs: %+v", svc.runIDs(), len(runs), runs)
		}
	})
}

// In a deployment, the process with the newer template plans; the ledger loses no schedule
// while no process knows its template.
func TestTheNewestTemplatePlansItsSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc, reg := memory.New(), applying(), registry(t, report)
		_, stopOld := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc, Process: "old"})
		time.Sleep(time.Second)
		made(t, l, reg, "acme", "* * * * *")
		time.Sleep(time.Minute)
		edited := report
		edited.Path = "/v2/{{key}}"
		_, stopNew := start(t, executor.Config{Registry: registry(t, edited), Ledger: l, Caller: svc, Process: "new"})
		time.Sleep(2 * time.Minute)
		stopNew()
		without := registry(t, minutely("other"))
		time.Sleep(time.Minute)
		stopOld()
		_, stop := start(t, executor.Config{Registry: without, Ledger: l, Caller: svc, Process: "without"})
		time.Sleep(2 * time.Minute)
		stop()
		_, stop = start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc, Process: "old again"})
		time.Sleep(time.Minute)
		stop()
		var paths []string
		for _, r := range mustList(t, l, ledger.Filter{JobID: "report:acme"}) {
			paths = append(paths, string(r.State)+" "+r.Call.Path)
		}
		slices.Reverse(paths)
		want := []string{
			"succeeded /reports/acme", "succeeded /v2/acme", "succeeded /v2/acme", "succeeded /reports/acme", // the newer process has gone
			"superseded ", "succeeded /reports/acme", // nobody planned two
			"succeeded /reports/acme",
		}
		if !slices.Equal(paths, want) {
			t.Errorf("got  %q\nwant %q", paths, want)
		}
	})
}

// A time that a clock change skips has no run: the log tells it.
func TestTheLogTellsWhichTimesOfASchedulesZoneDoNotExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 3, 8, 6, 59, 0, 0, time.UTC)))
		var log bytes.Buffer
		skipping := report
		skipping.DST = schedule.DSTSkip
		l, svc, reg := memory.New(), applying(), registry(t, skipping)
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		made(t, l, reg, "acme", "CRON_TZ=America/New_York 30 2 * * *")
		time.Sleep(24 * time.Hour)
		stop()
		if !strings.Contains(log.String(), "local time does not exist; skipped") {
			t.Errorf("%s", log.String())
		}
	})
}
