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

// A job catches up a long backlog, one call after the other, and does not hold up the one
// run of another job: neither where the target has a limit of its own, nor where the
// process has.
func TestABacklogDoesNotDelayAnotherJobOfItsTarget(t *testing.T) {
	for name, c := range map[string]struct{ ofTarget, ofProcess int }{
		"limit of the target": {1, 64}, "limit of the target, wider": {4, 64}, "limit of the process": {0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const takes = 2 * time.Second
				backlog := minutely("backlog")
				backlog.Schedule, backlog.CatchUp, backlog.Overlap = "*/10 * * * * *", jobs.CatchUpAll, jobs.OverlapAllow
				svc := newTarget(nil)
				svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
					time.Sleep(takes)
					return svc.apply(c)
				}
				reg, err := jobs.NewRegistry(jobs.Name("test"), jobs.Target{Name: "svc", URLEnv: "SVC_URL", MaxInFlight: c.ofTarget},
					jobs.Cleanup{Schedule: "0 3 1 1 *"}, backlog, minutely("other"))
				if err != nil {
					t.Fatal(err)
				}
				l := memory.New()
				_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
				time.Sleep(5 * time.Second)
				stop()
				time.Sleep(3 * time.Hour) // the backlog: 1080 scheduled times
				began := time.Now()
				_, stop = start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc, MaxInFlight: c.ofProcess})
				time.Sleep(10*time.Minute + 30*time.Second)
				stop()
				var onTime int
				for i, call := range svc.calls {
					if call.JobID != "other" || call.ScheduledAt.Before(began) {
						continue
					}
					late := svc.times[i].Sub(call.ScheduledAt)
					if call.Trigger == ledger.BySchedule {
						onTime++
						if late > 2*takes {
							t.Errorf("%s began %s late", call.RunID, late)
						}
					}
				}
				if onTime < 10 {
					t.Errorf("%d calls of the other job on time", onTime)
				}
			})
		})
	}
}

// Targets that accept calls and never answer leave places for the others.
func TestTargetsThatHangLeavePlacesForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := []jobs.Entry{jobs.Name("test"), jobs.Cleanup{Schedule: "0 3 1 1 *"}, jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, minutely("pay")}
		for _, name := range []string{"one", "two", "three"} {
			hangs := minutely(name)
			hangs.Target, hangs.Schedule, hangs.Overlap, hangs.Timeout = name, "* * * * * *", jobs.OverlapAllow, 15*time.Minute
			registry = append(registry, jobs.Target{Name: name, URLEnv: "SVC_URL"}, hangs)
		}
		svc := newTarget(nil)
		svc.answer = func(ctx context.Context, c executor.Call, _ int) executor.Answer {
			if c.JobID == "pay" {
				return svc.apply(c)
			}
			<-ctx.Done()
			return executor.Answer{Kind: ledger.AnswerUnknown}
		}
		reg, err := jobs.NewRegistry(registry...)
		if err != nil {
			t.Fatal(err)
		}
		_, stop := start(t, executor.Config{Registry: reg, Ledger: memory.New(), Caller: svc, MaxInFlight: 64, Grace: time.Second})
		time.Sleep(14*time.Minute + 30*time.Second)
		stop()
		paid, others := 0, 0
		for i, call := range svc.calls {
			switch late := svc.times[i].Sub(call.ScheduledAt); {
			case call.JobID != "pay":
				others++
			case late > time.Second:
				t.Errorf("%s began %s late", call.RunID, late)
			default:
				paid++
			}
		}
		if paid != 14 || others < 56 || others >= 64 {
			t.Errorf("%d calls of pay, %d of the targets that hang", paid, others)
		}
	})
}

// Nor do thousands of jobs whose target hangs take all leases of two processes.
func TestManyJobsOfATargetThatHangsLeaveLeasesForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const paying, hanging = 20, 1500
		registry := []jobs.Entry{
			jobs.Name("test"), jobs.Cleanup{Schedule: "0 3 1 1 *"}, jobs.Target{Name: "svc", URLEnv: "SVC_URL"}, jobs.Target{Name: "down", URLEnv: "SVC_URL"},
		}
		for i := range paying {
			registry = append(registry, minutely(fmt.Sprintf("pay%d", i)))
		}
		for i := range hanging {
			hangs := minutely(fmt.Sprintf("hang%d", i))
			hangs.Target, hangs.Schedule, hangs.Timeout = "down", "10 * * * *", 15*time.Minute
			registry = append(registry, hangs)
		}
		reg, err := jobs.NewRegistry(registry...)
		if err != nil {
			t.Fatal(err)
		}
		svc := newTarget(nil)
		svc.answer = func(ctx context.Context, c executor.Call, n int) executor.Answer {
			switch {
			case c.Call.Target == "down":
				<-ctx.Done()
				return executor.Answer{Kind: ledger.AnswerUnknown}
			case n == 1:
				return executor.Answer{Kind: ledger.AnswerFailed, Status: 503}
			}
			return svc.apply(c)
		}
		l := memory.New()
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc, MaxInFlight: 64, Grace: time.Second})
		_, stopOther := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc, MaxInFlight: 64, Grace: time.Second})
		time.Sleep(20*time.Minute + 30*time.Second)
		stop()
		stopOther()
		paid := 0
		for i, call := range svc.calls {
			if late := svc.times[i].Sub(call.ScheduledAt); call.Call.Target != "down" {
				paid++
				if late > 20*time.Second {
					t.Errorf("attempt %d of %s began %s late", call.Attempt, call.RunID, late)
				}
			}
		}
		if paid < 20*paying*2 {
			t.Errorf("%d calls of the target that answers", paid)
		}
	})
}

// Nor does it hold up a retry: of a job of its target, or of another target.
func TestABacklogDoesNotDelayARetry(t *testing.T) {
	for name, c := range map[string]struct{ ofTarget, ofProcess int }{
		"limit of the target": {1, 64}, "limit of the process": {0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const takes = 2 * time.Second
				backlog, other, apart := minutely("backlog"), minutely("other"), minutely("apart")
				backlog.Schedule, backlog.CatchUp, backlog.Overlap = "*/10 * * * * *", jobs.CatchUpAll, jobs.OverlapAllow
				apart.Target = "apart"
				other.Retry.Backoff = []time.Duration{time.Second}
				apart.Retry.Backoff = other.Retry.Backoff
				svc := newTarget(nil)
				svc.answer = func(_ context.Context, c executor.Call, n int) executor.Answer {
					if c.JobID != "backlog" && n == 1 {
						return executor.Answer{Kind: ledger.AnswerFailed, Status: 500}
					}
					time.Sleep(takes)
					return svc.apply(c)
				}
				reg, err := jobs.NewRegistry(jobs.Name("test"), jobs.Target{Name: "svc", URLEnv: "SVC_URL", MaxInFlight: c.ofTarget},
					jobs.Target{Name: "apart", URLEnv: "APART_URL"}, jobs.Cleanup{Schedule: "0 3 1 1 *"}, backlog, other, apart)
				if err != nil {
					t.Fatal(err)
				}
				l := memory.New()
				_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
				time.Sleep(5 * time.Second)
				stop()
				time.Sleep(3 * time.Hour) // the backlog: 1080 scheduled times
				began := time.Now()
				_, stop = start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc, MaxInFlight: c.ofProcess})
				time.Sleep(10*time.Minute + 30*time.Second)
				stop()
				first, retries := map[string]time.Time{}, map[string]int{}
				for i, call := range svc.calls {
					if call.JobID == "backlog" || call.ScheduledAt.Before(began) {
						continue
					}
					at, again := first[call.RunID]
					if !again {
						first[call.RunID] = svc.times[i]
						continue
					}
					retries[call.JobID]++
					if svc.times[i].Sub(at) > 5*takes {
						t.Errorf("the retry of %s began %s after the first attempt", call.RunID, svc.times[i].Sub(at))
					}
				}
				if retries["other"] < 8 || retries["apart"] < 8 {
					t.Errorf("retries = %v, want one each minute", retries)
				}
			})
		})
	}
}
