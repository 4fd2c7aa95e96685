package executor_test

import (
	"context"
	"errors"
	"fmt"
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

// billing bills each tenant of a list once an hour.
func billing(each jobs.Each) jobs.Job {
	j := minutely("bill")
	j.Schedule, j.Path, j.Each = "0 * * * *", "/v1/tenants/{{key}}/bill", each
	j.Body = map[string]string{"tenant": "{{key}}", "run": "{{runId}}", "from": "{{previousAt}}", "literal": "{{{{"}
	return j
}

// bills runs the job for a time, and returns the parent and its attempts.
func bills(t *testing.T, svc *target, j jobs.Job, d time.Duration) (*memory.Ledger, ledger.Run, []ledger.Attempt) {
	t.Helper()
	l := memory.New()
	_, stop := start(t, executor.Config{Registry: registry(t, j), Ledger: l, Caller: svc})
	fromTheHour(d)
	stop()
	runs := mustList(t, l, ledger.Filter{JobID: "bill"})
	if len(runs) != 1 {
		t.Fatalf("%d runs: %+v", len(runs), runs)
	}
	run, attempts, err := l.Get(t.Context(), runs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	return l, run, attempts
}

func TestEachItemOfAListIsARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := tenants(fixed(`["acme","7"]`, `["a/b ü"]`), nil)
		svc.answer = func(answer func(context.Context, executor.Call, int) executor.Answer) func(context.Context, executor.Call, int) executor.Answer {
			return func(ctx context.Context, c executor.Call, n int) executor.Answer {
				if c.List {
					return answer(ctx, c, n)
				}
				return svc.apply(c)
			}
		}(svc.answer)
		_, run, attempts := bills(t, svc, billing(jobs.Each{Path: "/v1/tenants"}), time.Minute)
		if run.State != ledger.Succeeded || run.Fan.Members != 3 || len(attempts) != 1 {
			t.Fatalf("%+v %+v", run, attempts)
		}
		at := run.ScheduledAt.Format(time.RFC3339)
		sent := map[string]string{}
		for _, c := range svc.calls {
			if !c.List {
				sent[c.RunID] = c.Work.Call.Path + " " + string(c.Work.Call.Body)
			}
		}
		body := func(key, id string) string {
			return fmt.Sprintf(`{"from":"%s","literal":"{{","run":"%s","tenant":"%s"}`, run.ScheduledAt.Add(-time.Hour).Format(time.RFC3339), id, key)
		}
		hashed, _ := jobs.MemberRunID(run.ID, "a/b ü")
		for id, want := range map[string]string{
			"bill::acme@" + at: "/v1/tenants/acme/bill " + body("acme", "bill::acme@"+at),
			"bill::7@" + at:    "/v1/tenants/7/bill " + body("7", "bill::7@"+at),
			hashed:             "/v1/tenants/a%2Fb%20%C3%BC/bill " + body("a/b ü", hashed),
		} {
			if sent[id] != want {
				t.Errorf("%s sent %s\nwant %s", id, sent[id], want)
			}
		}
		if len(sent) != 3 {
			t.Errorf("sent %v", sent)
		}
	})
}

// What is wrong with a list is the parent's failure: no member is called.
func TestAListThatCannotBeTrustedSendsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		pages  []string
		reason ledger.Reason
		says   string
		tries  int
	}{
		"too long":     {[]string{`["a","b"]`, `["c","d"]`}, ledger.ReasonPermanent, "more than 3 items", 1},
		"a key twice":  {[]string{`["a","b"]`, `["a"]`}, ledger.ReasonExhausted, "are one member", 5},
		"no end":       {slices.Repeat([]string{`[]`}, 3000), ledger.ReasonExhausted, "pages without an item", 5},
		"no list":      {[]string{`{}`}, ledger.ReasonExhausted, "the list: ", 5},
		"an empty key": {[]string{`[""]`}, ledger.ReasonExhausted, "empty", 5},
		"a dot":        {[]string{`[".."]`}, ledger.ReasonExhausted, "part of a path", 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := tenants(fixed(c.pages...), func(c executor.Call, _ int) executor.Answer {
					t.Errorf("%s was called", c.RunID)
					return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
				})
				_, run, attempts := bills(t, svc, billing(jobs.Each{Path: "/v1/tenants", Max: 3}), 10*time.Minute)
				if run.State != ledger.Dead || run.Reason != c.reason || len(attempts) != c.tries || !strings.Contains(attempts[0].Error, c.says) {
					t.Errorf("%s (%s) %+v", run.State, run.Reason, attempts)
				}
			})
		})
	}
}

func TestAListThatIsAnsweredWith202IsFetchedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, n int) executor.Answer {
			switch {
			case c.List && n == 1:
				return executor.Answer{Kind: ledger.AnswerFresh, Status: 202}
			case c.List:
				return listed(`["a"]`)
			}
			return svc.apply(c)
		}
		_, run, attempts := bills(t, svc, billing(jobs.Each{Path: "/v1/tenants"}), time.Minute)
		if run.State != ledger.Succeeded || len(attempts) != 2 || attempts[0].Answer != ledger.AnswerFailed {
			t.Errorf("%+v %+v", run, attempts)
		}
	})
}

func TestAnEmptyListSucceedsAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, run, attempts := bills(t, tenants(fixed(`[]`), nil), billing(jobs.Each{Path: "/v1/tenants"}), time.Minute)
		if run.State != ledger.Succeeded || len(attempts) != 1 || attempts[0].Detail != `{"members":0}` {
			t.Errorf("%+v %+v", run, attempts)
		}
	})
}

// A list that changes between two attempts is the one of the attempt that froze it.
func TestTheListOfTheLastAttemptCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newTarget(nil)
		inner := tenants(func(n int) []string {
			if n == 1 {
				return []string{`["gone","a"]`, `oops`}
			}
			return []string{`["a"]`, `["new"]`}
		}, nil).answer
		svc.answer = func(ctx context.Context, c executor.Call, n int) executor.Answer {
			if c.List {
				return inner(ctx, c, n)
			}
			return svc.apply(c)
		}
		_, run, _ := bills(t, svc, billing(jobs.Each{Path: "/v1/tenants"}), time.Minute)
		at := run.ScheduledAt.Format(time.RFC3339)
		if got := svc.runIDs(); run.State != ledger.Succeeded || fmt.Sprint(got) != "[bill::a@"+at+" bill::new@"+at+"]" {
			t.Errorf("%s %v", run.State, got)
		}
	})
}

// A failing member has its retries, does not hold up the others, and makes the parent dead.
func TestAFailingMemberIsThePartOfItsParentThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			switch {
			case c.List:
				return listed(`["a","bad","c","d"]`)
			case strings.Contains(c.RunID, "bad"):
				return executor.Answer{Kind: ledger.AnswerFailed, Status: 500, Error: "HTTP 500"}
			}
			return svc.apply(c)
		}
		l, run, _ := bills(t, svc, billing(jobs.Each{Path: "/v1/tenants", InFlight: 1}), 10*time.Minute)
		if run.State != ledger.Dead || run.Reason != ledger.ReasonMembers || len(svc.runIDs()) != 3 {
			t.Errorf("%s (%s), applied %v", run.State, run.Reason, svc.runIDs())
		}
		page, err := l.Members(t.Context(), ledger.MemberFilter{Parent: run.ID, States: []ledger.State{ledger.Dead}})
		if err != nil || len(page.Members) != 1 || page.Members[0].Key != "bad" || page.Members[0].Run.Reason != ledger.ReasonExhausted {
			t.Errorf("%+v %v", page, err)
		}
	})
}

// inFlight holds over all processes while members succeed.
func TestInFlightBoundsMembersOfAllProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make([]string, 60)
		for i := range keys {
			keys[i] = fmt.Sprintf(`"m%02d"`, i)
		}
		calling, most := 0, 0
		svc := newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, _ int) executor.Answer {
			if c.List {
				return listed("[" + strings.Join(keys, ",") + "]")
			}
			svc.mu.Lock()
			calling++
			most = max(most, calling)
			svc.mu.Unlock()
			time.Sleep(200 * time.Millisecond)
			svc.mu.Lock()
			calling--
			svc.mu.Unlock()
			return svc.apply(c)
		}
		l := memory.New()
		reg := registry(t, billing(jobs.Each{Path: "/v1/tenants", InFlight: 4}))
		_, stop := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		_, stop2 := start(t, executor.Config{Registry: reg, Ledger: l, Caller: svc})
		fromTheHour(time.Minute)
		stop()
		stop2()
		runs := mustList(t, l, ledger.Filter{JobID: "bill"})
		if len(runs) != 1 || runs[0].State != ledger.Succeeded || most != 4 || len(svc.runIDs()) != 60 {
			t.Errorf("%+v: %d at a time, %d applied", runs, most, len(svc.runIDs()))
		}
	})
}

// What is left of a parent is left to later ticks: a tick ends, although a member waits for
// hours, and although another process has ended the parent meanwhile.
func TestATickDoesNotWaitForMembersThatWaitForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, svc := memory.New(), newTarget(nil)
		svc.answer = func(_ context.Context, c executor.Call, n int) executor.Answer {
			switch {
			case c.List:
				return listed(`["a","b"]`)
			case strings.Contains(c.RunID, "::b@") && n == 1:
				return executor.Answer{Kind: ledger.AnswerFailed, Status: 500}
			}
			return svc.apply(c)
		}
		j := billing(jobs.Each{Path: "/v1/tenants"})
		j.Retry.Backoff = []time.Duration{time.Hour / 2}
		one, other := ticker(t, l, svc, j), ticker(t, l, svc, j)
		tick(t, one, time.Minute)
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)))
		soon := func(e *executor.Executor) {
			t.Helper()
			start := time.Now()
			tick(t, e, 10*time.Minute)
			if took := time.Since(start); took > time.Minute {
				t.Errorf("the tick took %s", took)
			}
		}
		soon(one)
		if runs := mustList(t, l, ledger.Filter{JobID: "bill"}); len(runs) != 1 || runs[0].State != ledger.FannedOut || len(svc.runIDs()) != 1 {
			t.Errorf("after a tick: %+v, applied %v", runs, svc.runIDs())
		}
		time.Sleep(40 * time.Minute)
		soon(other)
		if runs := mustList(t, l, ledger.Filter{JobID: "bill"}); len(runs) != 1 || runs[0].State != ledger.Succeeded || len(svc.runIDs()) != 2 {
			t.Errorf("after the retry: %+v, applied %v", runs, svc.runIDs())
		}
		soon(one)
	})
}

func TestExecuteRefusesARunWithMembers(t *testing.T) {
	e, err := executor.New(executor.Config{Registry: registry(t, billing(jobs.Each{Path: "/v1/tenants"})), Ledger: memory.New(), Caller: applying()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Execute(t.Context(), ledger.Entry{RunSpec: ledger.RunSpec{Call: ledger.CallSpec{Each: &ledger.Each{}}}}); !errors.Is(err, executor.ErrMembers) {
		t.Errorf("%v", err)
	}
}
