package executor_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// hourly has runs that start up to half an hour late, by its spread.
func hourly(id string) jobs.Job {
	j := minutely(id)
	j.Schedule, j.Spread, j.Alarm = "0 * * * *", 30*time.Minute, jobs.Alarm{StartWithin: time.Minute}
	return j
}

// delayed finds the job's next scheduled time whose delay is between two bounds, so
// that a test can act within it.
func delayed(t *testing.T, reg *jobs.Registry, id string, least time.Duration) (at, due time.Time) {
	t.Helper()
	j, ok := reg.Job(id)
	if !ok {
		t.Fatal("no job", id)
	}
	for at := range j.Parsed().Due(time.Now(), time.Now().Add(1000*time.Hour)) {
		if due := j.DueAt(at); due.Sub(at) > least {
			return at, due
		}
	}
	t.Fatal("no delay is so long")
	return at, due
}

func TestRunsStartWhenTheirSpreadSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		reg := registry(t, hourly("a"))
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		_, second := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		time.Sleep(24*time.Hour + 30*time.Minute)
		stop()
		second()
		j, _ := reg.Job("a")
		runs := mustList(t, l, ledger.Filter{JobID: "a"})
		effects := slices.DeleteFunc(svc.runIDs(), func(id string) bool { return !strings.HasPrefix(id, "a@") })
		if len(runs) < 24 || len(effects) != len(runs) {
			t.Errorf("%d runs, %d effects", len(runs), len(effects))
		}
		for _, r := range runs {
			due := j.DueAt(r.ScheduledAt)
			if r.ID != jobs.RunID("a", r.ScheduledAt) || r.Trigger != ledger.BySchedule || r.Call.Delay != due.Sub(r.ScheduledAt) {
				t.Errorf("%+v", r)
			}
			if late := r.PlannedAt.Sub(due); late < 0 || late > 2*time.Second {
				t.Errorf("%s was to start at %s, and was planned %s later", r.ID, due, late)
			}
		}
		late, err := l.Incidents(t.Context(), ledger.IncidentFilter{Limit: 10})
		if err != nil || len(late) != 0 {
			t.Errorf("a delay by its spread makes no run late: %+v, %v", late, err)
		}
	})
}

// A deploy within the delay neither loses the run nor gives it the new definition.
func TestAnEditStartsADelayedRunAtOnce(t *testing.T) {
	for name, edit := range map[string]func(*jobs.Job){
		"edited":             func(j *jobs.Job) { j.Path = "/other" },
		"spread removed":     func(j *jobs.Job) { j.Spread = 0 },
		"removed, in effect": func(j *jobs.Job) { j.ID = "b" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, svc := memory.New(), applying()
				j := hourly("a")
				j.CatchUp = jobs.CatchUpNone
				reg := registry(t, j)
				_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
				at, _ := delayed(t, reg, "a", 10*time.Minute)
				time.Sleep(time.Until(at) + 5*time.Minute)
				stop()
				if _, _, err := l.Get(t.Context(), jobs.RunID("a", at)); err == nil {
					t.Fatal("it was planned before its delay had passed")
				}
				edit(&j)
				_, stop = start(t, executor.Config{Registry: registry(t, j), Ledger: l, Caller: svc})
				time.Sleep(time.Minute)
				stop()
				r, _, err := l.Get(t.Context(), jobs.RunID("a", at))
				if err != nil || r.State != ledger.Succeeded || r.Call.Path != "/a" {
					t.Errorf("%+v, %v", r, err)
				}
			})
		})
	}
}

// A restart within the delay changes nothing.
func TestARestartKeepsTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		reg := registry(t, hourly("a"))
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		at, due := delayed(t, reg, "a", 10*time.Minute)
		time.Sleep(time.Until(at) + 5*time.Minute)
		stop()
		_, stop = start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		time.Sleep(time.Until(due) + 10*time.Second)
		stop()
		r, _, err := l.Get(t.Context(), jobs.RunID("a", at))
		if err != nil || r.State != ledger.Succeeded || r.PlannedAt.Before(due) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
