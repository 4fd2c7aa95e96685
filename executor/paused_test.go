package executor_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

func change(t *testing.T, l *memory.Ledger, c ledger.PauseChange) ledger.Pause {
	t.Helper()
	c.Actor = ann
	p, err := l.ChangePause(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// outcomesOf counts a job's scheduled times by state and trigger, "skipped schedule" say.
func outcomesOf(t *testing.T, l *memory.Ledger) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, r := range mustList(t, l, ledger.Filter{JobID: "a"}) {
		counts[string(r.State)+" "+string(r.Trigger)] += r.Count
	}
	return counts
}

func TestAPauseSkipsOrCatchesUpAtItsEnd(t *testing.T) {
	for _, tt := range []struct {
		name    string
		kind    ledger.PauseKind
		catchUp jobs.CatchUp
		early   bool // the pause is ended after 20 minutes
		want    map[string]int
	}{
		{"skip", ledger.PauseSkip, "", false, map[string]int{"succeeded schedule": 31, "skipped schedule": 30}},
		{"all", ledger.PauseCatchUp, jobs.CatchUpAll, false, map[string]int{"succeeded schedule": 32, "succeeded catchup": 29}},
		{"latest", ledger.PauseCatchUp, jobs.CatchUpLatest, false, map[string]int{"succeeded schedule": 32, "superseded schedule": 29}},
		{"none", ledger.PauseCatchUp, jobs.CatchUpNone, false, map[string]int{"succeeded schedule": 32, "missed schedule": 29}},
		{"ended early", ledger.PauseCatchUp, jobs.CatchUpNone, true, map[string]int{"succeeded schedule": 42, "missed schedule": 19}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, j := memory.New(), minutely("a")
				j.CatchUp, j.Overlap, j.Metadata.Owner = tt.catchUp, jobs.OverlapAllow, "Ops"
				reg := registry(t, j)
				var stops []func()
				for range 2 {
					_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: applying(), OnTime: time.Minute})
					stops = append(stops, stop)
				}
				time.Sleep(time.Second)
				hour := time.Now().Truncate(time.Hour)
				p := change(t, l, ledger.PauseChange{
					Kind: tt.kind, Selector: ledger.Selector{Owner: "Ops"}, From: hour.Add(10*time.Minute + time.Second), Until: hour.Add(40*time.Minute + time.Second),
				})
				if tt.early {
					time.Sleep(30*time.Minute + 10*time.Second)
					change(t, l, ledger.PauseChange{ID: p.ID, End: true})
				}
				time.Sleep(time.Until(hour.Add(61*time.Minute + time.Second)))
				for _, stop := range stops {
					stop()
				}
				got := outcomesOf(t, l)
				for what, n := range tt.want {
					if got[what] != n {
						t.Errorf("%s: %d, want %d; all %v", what, got[what], n, got)
					}
				}
				if open, err := l.Incidents(t.Context(), ledger.IncidentFilter{}); err != nil || len(open) != 0 {
					t.Errorf("incidents %+v, %v", open, err)
				}
			})
		})
	}
}

// A process leases ahead. A hold gives back what is queued, and nothing but what was in flight
// is sent.
func TestAHoldStopsWhatIsQueuedAndUsesNoRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var entries []jobs.Entry
		for i := range 400 {
			j := minutely(fmt.Sprintf("a%d", i))
			j.Schedule = "0 * * * *"
			entries = append(entries, j)
		}
		if sent, runs := held(t, "", entries...); sent != 400 || runs != 400 {
			t.Errorf("sent %d, %d runs", sent, runs)
		}
	})
}

// held runs hourly jobs whose target answers a list with its text, and holds the target after
// ten seconds of an hour, for ten minutes. It returns how many calls but for the list were sent,
// and how many runs there are.
func held(t *testing.T, list string, entries ...jobs.Entry) (calls, runs int) {
	t.Helper()
	l := memory.New()
	var sent []time.Time
	svc := newTarget(func(_ context.Context, c executor.Call, _ int) executor.Answer {
		if c.List {
			return listed(list)
		}
		sent = append(sent, time.Now())
		time.Sleep(200 * time.Millisecond)
		return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
	})
	_, stop := start(t, executor.Config{Registry: registry(t, entries...), Ledger: l, Caller: svc, MaxInFlight: 1, Grace: time.Minute})
	time.Sleep(time.Second)
	fromTheHour(10 * time.Second)
	begin := time.Now()
	hold := change(t, l, ledger.PauseChange{
		Kind: ledger.PauseHold, Selector: ledger.Selector{Target: "svc"}, Until: begin.Add(10 * time.Minute),
	})
	time.Sleep(20 * time.Minute)
	stop()
	for _, at := range sent {
		if at.After(begin.Add(6*time.Second)) && at.Before(hold.Until) {
			t.Errorf("sent at %s, in the hold", at)
		}
	}
	rows := mustList(t, l, ledger.Filter{WithMembers: true})
	for _, r := range rows {
		if r.Attempt > 1 || r.Failures > 0 || r.State != ledger.Succeeded {
			t.Errorf("%s is %s, attempt %d, %d failures", r.ID, r.State, r.Attempt, r.Failures)
		}
	}
	return len(sent), len(rows)
}
