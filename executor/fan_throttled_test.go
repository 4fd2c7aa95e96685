package executor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// A target with a quota is called at the pace that it can take: no member dies of its 429, and
// few calls meet one.
func TestMembersAreCalledAtThePaceOfTheirTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const members, quota = 300, 5 // calls a second
		keys := make([]string, members)
		for i := range keys {
			keys[i] = fmt.Sprintf(`"m%03d"`, i)
		}
		svc := newTarget(nil)
		taken, refused := map[int64]int{}, 0
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			if c.List {
				return listed("[" + strings.Join(keys, ",") + "]")
			}
			svc.mu.Lock()
			second := time.Now().Unix()
			full := taken[second] >= quota
			if full {
				refused++
			} else {
				taken[second]++
			}
			svc.mu.Unlock()
			if full {
				return executor.Answer{Kind: ledger.AnswerThrottled, Status: 429, SlowDown: true, RetryAfter: time.Second}
			}
			return svc.apply(c)
		}
		l, run, _ := bills(t, svc, billing(jobs.Each{Path: "/v1/tenants"}), 20*time.Minute)
		counts, err := l.MemberCounts(t.Context(), []string{run.ID})
		if err != nil || run.State != ledger.Succeeded || len(svc.runIDs()) != members {
			t.Errorf("%s, %d applied, %v %v", run.State, len(svc.runIDs()), counts, err)
		}
		if refused > members/3 {
			t.Errorf("%d calls of %d members were answered with 429", refused, members)
		}
		t.Logf("%d answers with 429, parent took %s", refused, run.FinishedAt.Sub(run.ScheduledAt))
	})
}

// A hold of the target stops members: those that no run was made of get none, and no retry is used.
func TestAHoldOfTheTargetStopsMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make([]string, 400)
		for i := range keys {
			keys[i] = fmt.Sprintf(`"m%03d"`, i)
		}
		sent, runs := held(t, "["+strings.Join(keys, ",")+"]", billing(jobs.Each{Path: "/v1/tenants"}))
		if sent != len(keys) || runs != len(keys)+1 {
			t.Errorf("sent %d, %d runs", sent, runs)
		}
	})
}

// A target that asks to wait between two pages is asked for the same page again, in the same
// attempt, and the pages after it are fetched more slowly.
func TestPagesOfAListAreFetchedAtThePaceOfTheirTarget(t *testing.T) {
	for _, c := range []struct {
		name     string
		refused  int // how often each page is
		want     ledger.State
		attempts int
	}{{"for a while", 2, ledger.Succeeded, 1}, {"for ever", 1000, ledger.Dead, 5}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const wait = 3 * time.Second
				pages := make([]string, 10)
				for i := range pages {
					pages[i] = fmt.Sprintf(`["m%d"]`, i)
				}
				svc := tenants(fixed(pages...), func(executor.Call, int) executor.Answer {
					return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
				})
				answer, refused, until := svc.answer, map[string]int{}, time.Time{}
				svc.answer = func(ctx context.Context, call executor.Call, n int) executor.Answer {
					if !call.List {
						return answer(ctx, call, n)
					}
					if time.Now().Before(until) {
						t.Errorf("page %q is fetched before the time that the target asked for", call.Page)
					}
					if call.Page != "" && refused[call.Page] < c.refused {
						refused[call.Page]++
						until = time.Now().Add(wait)
						return executor.Answer{Kind: ledger.AnswerThrottled, Status: 429, SlowDown: true, RetryAfter: wait}
					}
					return answer(ctx, call, n)
				}
				_, run, attempts := bills(t, svc, billing(jobs.Each{Path: "/v1/tenants"}), 55*time.Minute)
				if run.State != c.want || len(attempts) != c.attempts {
					t.Errorf("%s %s after %d attempts: %+v", run.State, run.Reason, len(attempts), attempts)
				}
			})
		})
	}
}

// Members that are redriven by a filter are called within the limit of their parent, and at the
// pace of their target.
func TestRedrivenMembersAreCalledWithinTheirLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const members, inFlight, quota = 300, 4, 5
		keys := make([]string, members)
		for i := range keys {
			keys[i] = fmt.Sprintf(`"m%03d"`, i)
		}
		svc, mended, refused, calling, most := newTarget(nil), false, 0, 0, 0
		taken := map[int64]int{}
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			if c.List {
				return listed("[" + strings.Join(keys, ",") + "]")
			}
			svc.mu.Lock()
			calling++
			most = max(most, calling)
			taken[time.Now().Unix()]++
			works, full := mended, taken[time.Now().Unix()] > quota
			if works && full {
				refused++
			}
			svc.mu.Unlock()
			time.Sleep(300 * time.Millisecond)
			svc.mu.Lock()
			calling--
			svc.mu.Unlock()
			switch {
			case !works:
				return executor.Answer{Kind: ledger.AnswerRefused, Status: 404, Reason: ledger.ReasonPermanent}
			case full:
				return executor.Answer{Kind: ledger.AnswerThrottled, Status: 429, SlowDown: true, RetryAfter: time.Second}
			}
			return svc.apply(c)
		}
		l := memory.New()
		_, stop := start(t, executor.Config{Registry: registry(t, billing(jobs.Each{Path: "/v1/tenants", InFlight: inFlight})), Ledger: l, Caller: svc})
		fromTheHour(2 * time.Minute)
		run := mustList(t, l, ledger.Filter{JobID: "bill"})[0]
		svc.mu.Lock()
		mended = true
		svc.mu.Unlock()
		got, err := l.Redrive(t.Context(), ledger.Action{Filter: ledger.Filter{Parent: run.ID, Limit: 1000}, Actor: ann})
		if err != nil || run.State != ledger.Dead || len(got.Changed) != members {
			t.Fatalf("%d changed, %v, was %s", len(got.Changed), err, run.State)
		}
		time.Sleep(30 * time.Minute)
		stop()
		if run = mustList(t, l, ledger.Filter{JobID: "bill"})[0]; run.State != ledger.Succeeded || most > inFlight || refused > members/3 {
			t.Errorf("%s, %d at a time, %d answers with 429", run.State, most, refused)
		}
		t.Logf("%d at a time, %d answers with 429", most, refused)
	})
}
