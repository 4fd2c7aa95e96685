package executor_test

import (
	"bytes"
	"context"
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
)

func TestRequestIsFrozenAtAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, n int) executor.Answer {
			if n < 3 {
				return executor.Answer{Kind: ledger.AnswerFailed, Status: 500}
			}
			return svc.apply(c)
		}
		old := minutely("a")
		old.Schedule, old.Body = "0 * * * *", map[string]any{"v": 1}
		_, stop := start(t, executor.Config{Registry: registry(t, old), Ledger: l, Caller: svc})
		time.Sleep(time.Hour + 100*time.Millisecond)
		stop()
		edited := old
		edited.Path, edited.Body = "/other", map[string]any{"v": 2}
		_, stop = start(t, executor.Config{Registry: registry(t, edited), Ledger: l, Caller: svc})
		time.Sleep(time.Minute)
		stop()
		if len(svc.calls) != 3 {
			t.Fatalf("%d calls", len(svc.calls))
		}
		for _, c := range svc.calls[1:] {
			if c.Work.Call.Path != "/a" || string(c.Work.Call.Body) != string(svc.calls[0].Work.Call.Body) {
				t.Errorf("retry sends %s %s", c.Work.Call.Path, c.Work.Call.Body)
			}
		}
	})
}

func TestEditIsNotRetroactive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		j := minutely("a")
		j.Schedule = "0 0 * * *"
		_, stop := start(t, executor.Config{Registry: registry(t, j), Ledger: l, Caller: svc})
		time.Sleep(90 * time.Minute)
		stop()
		j.Schedule = "*/10 * * * *"
		_, stop = start(t, executor.Config{Registry: registry(t, j), Ledger: l, Caller: svc})
		edited := time.Now()
		time.Sleep(30*time.Minute + time.Second)
		stop()
		for _, r := range mustList(t, l, ledger.Filter{}) {
			if r.ScheduledAt.Before(edited) {
				t.Errorf("%s is older than the edit at %s", r.ID, edited)
			}
		}
		if len(svc.effects) != 3 {
			t.Errorf("%d effects in half an hour of every 10 minutes", len(svc.effects))
		}
	})
}

// To have a former definition is normal during a deploy, so it is no event: a reload
// would log it for a process that is about to stop, and a Lambda at each tick.
func TestAFormerDefinitionIsNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, v1 := memory.New(), minutely("a")
		v2 := v1
		v2.Path = "/v2"
		var log bytes.Buffer // of the processes with the former definition
		former := executor.Config{Registry: registry(t, v1), Ledger: l, Caller: applying(), Logger: slog.New(slog.NewTextHandler(&log, nil))}
		_, stop1 := start(t, former)
		defer stop1()
		time.Sleep(time.Minute)
		_, stop2 := start(t, executor.Config{Registry: registry(t, v2), Ledger: l, Caller: applying()})
		defer stop2()
		for range 3 {
			time.Sleep(time.Minute)
			e, err := executor.New(former)
			if err != nil {
				t.Fatal(err)
			}
			tick(t, e, 50*time.Second)
		}
		synctest.Wait()
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "job=a") && !strings.Contains(line, "run=") {
				t.Errorf("logged: %s", line)
			}
		}
	})
}

// A process that stops leaves its jobs to the others at once, not when its calls
// have ended.
func TestStopLeavesItsJobsBeforeItsCallsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, v1 := memory.New(), minutely("a")
		v1.Schedule, v1.Overlap = "*/10 * * * * *", jobs.OverlapAllow
		v2 := v1
		v2.Path = "/v2"
		slow := newTarget(nil)
		slow.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			time.Sleep(24 * time.Second)
			return slow.apply(c)
		}
		old := applying()
		_, stop1 := start(t, executor.Config{Registry: registry(t, v1), Ledger: l, Caller: old})
		time.Sleep(time.Second)
		_, stop2 := start(t, executor.Config{Registry: registry(t, v2), Ledger: l, Caller: slow})
		time.Sleep(15 * time.Second)
		calls := len(old.runIDs())
		stop2() // takes the rest of a call's 24 s
		if got := len(old.runIDs()); got == calls {
			t.Errorf("v1 made no call in the time that v2 took to stop")
		}
		stop1()
	})
}

// A process that is told plans the jobs that another one has left before its next heartbeat.
func TestJobsThatAStopLeftAreTakenOverAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc, reg := memory.New(), applying(), registry(t, report)
		edited := report
		edited.Path = "/v2/{{key}}"
		e, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		defer stop()
		time.Sleep(time.Second)
		_, stopNew := start(t, executor.Config{Registry: registry(t, edited), Ledger: l, Caller: svc, Retired: func() { e.Reassign() }})
		time.Sleep(10500 * time.Millisecond)
		stopNew()
		made(t, l, reg, "soon", "at("+time.Now().UTC().Add(time.Second).Format("2006-01-02T15:04:05")+")")
		time.Sleep(1200 * time.Millisecond)
		if got := svc.runIDs(); len(got) != 1 || svc.calls[0].Work.Call.Path != "/reports/soon" {
			t.Errorf("called %v", got)
		}
	})
}

// v2 is deployed beside v1, and v1 restarts last: v2 stays current.
func TestRollingDeployLosesAndDoublesNoScheduledTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		v1 := registry(t, minutely("a"))
		j := minutely("a")
		j.Path = "/v2"
		v2 := registry(t, j)
		_, stop1 := start(t, executor.Config{Registry: v1, Ledger: l, Caller: svc})
		time.Sleep(5*time.Minute + 20*time.Second)
		_, stop2 := start(t, executor.Config{Registry: v2, Ledger: l, Caller: svc})
		time.Sleep(2*time.Minute + 10*time.Second)
		stop1()
		_, stop1 = start(t, executor.Config{Registry: v1, Ledger: l, Caller: svc})
		time.Sleep(3 * time.Minute)
		stop2()
		time.Sleep(5 * time.Minute)
		stop1()
		runs := mustList(t, l, ledger.Filter{})
		if len(runs) != 15 || len(svc.effects) != 15 || len(svc.calls) != 15 {
			t.Errorf("%d runs, %d effects, %d calls of 15 scheduled times", len(runs), len(svc.effects), len(svc.calls))
		}
		paths := ""
		slices.Reverse(runs)
		for _, r := range runs {
			paths += r.Call.Path + " "
		}
		if want := "/a /a /a /a /a /v2 /v2 /v2 /v2 /v2 /a /a /a /a /a "; paths != want {
			t.Errorf("paths %s, want %s", paths, want)
		}
	})
}

// late is a ledger whose first answer about assignments takes its time.
type late struct {
	executor.Ledger
	by time.Duration
}

func (l *late) Assignments(ctx context.Context, version, after string) ([]ledger.JobAssignment, error) {
	time.Sleep(l.by)
	l.by = 0
	return l.Ledger.Assignments(ctx, version, after)
}

// A process that stalls after its heartbeat counts as gone when it looks at the
// assignments. It must not take that for the removal of its jobs.
func TestStallBeforeAssignmentsEndsNoJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		j := minutely("a")
		j.Schedule, j.CatchUp, j.Overlap = "* * * * * *", jobs.CatchUpAll, jobs.OverlapQueue
		reg := registry(t, j)
		begun := time.Now()
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		time.Sleep(10*time.Second + 100*time.Millisecond)
		stop()
		_, stop = start(t, executor.Config{Registry: reg, Ledger: &late{l, 40 * time.Second}, Caller: svc})
		time.Sleep(80 * time.Second)
		want := int(time.Since(begun) / time.Second)
		stop()
		if runs := mustList(t, l, ledger.Filter{}); len(runs) != want {
			t.Errorf("%d rows for %d scheduled times", len(runs), want)
		}
	})
}

// The backlog of a removed job is too long for one plan, and the process that plans it
// does not have the job in its registry.
func TestTheLongBacklogOfARemovedJobIsPlannedToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), applying()
		old := minutely("old")
		old.Schedule, old.CatchUp, old.Overlap = "* * * * * *", jobs.CatchUpAll, jobs.OverlapQueue
		_, stop := start(t, executor.Config{Registry: registry(t, minutely("a"), old), Ledger: l, Caller: svc})
		time.Sleep(time.Minute + 100*time.Millisecond)
		stop()
		time.Sleep(time.Hour)
		removed := time.Now()
		_, stop = start(t, executor.Config{Registry: registry(t, minutely("a")), Ledger: l, Caller: svc})
		time.Sleep(10 * time.Minute)
		stop()
		runs := mustList(t, l, ledger.Filter{JobID: "old", Limit: 10_000})
		want := int(removed.Sub(runs[len(runs)-1].ScheduledAt)/time.Second) + 1
		if len(runs) != want {
			t.Errorf("%d runs of %d scheduled times up to the removal", len(runs), want)
		}
	})
}
