package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// tenants is a target that answers lists with pages, and members as its script says.
func tenants(pages func(n int) []string, member func(c executor.Call, n int) executor.Answer) *target {
	svc := newTarget(nil)
	lists := 0
	svc.answer = func(_ context.Context, c executor.Call, n int) executor.Answer {
		if !c.List {
			return member(c, n)
		}
		if c.Page == "" {
			lists++
		}
		all, at := pages(lists), 0
		fmt.Sscanf(c.Page, "page-%d", &at)
		a := listed(all[at])
		if at+1 < len(all) {
			a.Next = fmt.Sprintf("page-%d", at+1)
		}
		return a
	}
	return svc
}

// listed is the answer to a call for a list.
func listed(body string) executor.Answer {
	keys := []string{}
	if err := json.Unmarshal([]byte(body), &keys); err != nil {
		return executor.Answer{Kind: ledger.AnswerFailed, Status: 200, Error: "the list: " + err.Error()}
	}
	return executor.Answer{Kind: ledger.AnswerFresh, Status: 200, Keys: keys}
}

func fixed(pages ...string) func(int) []string { return func(int) []string { return pages } }

// fencedOnce does not take the first record: its process has lost the lease before.
type fencedOnce struct {
	executor.Ledger
	recorded bool
}

func (l *fencedOnce) Record(ctx context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	if !l.recorded {
		l.recorded = true
		return []ledger.RecordResult{ledger.Fenced}, nil
	}
	return l.Ledger.Record(ctx, o)
}

// An attempt that froze a part of a list leaves none of it to one that finds an empty list.
func TestAnEmptyListDeletesWhatAnEarlierAttemptFroze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		svc := tenants(func(n int) []string { return []string{[]string{`["a","b"]`, `[]`}[n-1]} }, nil)
		_, stop := start(t, executor.Config{Registry: registry(t, billing(jobs.Each{Path: "/v1/tenants"})), Caller: svc, Ledger: &fencedOnce{Ledger: l}})
		fromTheHour(10 * time.Minute)
		stop()
		runs := mustList(t, l, ledger.Filter{JobID: "bill"})
		page, err := l.Members(t.Context(), ledger.MemberFilter{Parent: runs[0].ID})
		if err != nil || len(page.Members) != 0 || runs[0].State != ledger.Succeeded || runs[0].Attempt != 2 {
			t.Errorf("%+v %+v %v", runs, page, err)
		}
	})
}

// A page that is not sent ends an attempt whose earlier pages were: it is in the history.
func TestAPageThatIsNotSentFailsTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := tenants(fixed(`["a"]`, `["b"]`), func(executor.Call, int) executor.Answer {
			return executor.Answer{Kind: ledger.AnswerFresh, Status: 200}
		})
		answer, unsent := svc.answer, 0
		svc.answer = func(ctx context.Context, c executor.Call, n int) executor.Answer {
			if c.Page == "page-1" && unsent == 0 {
				unsent++
				return executor.Answer{Unsent: true, Error: "not sent: the breaker is open"}
			}
			return answer(ctx, c, n)
		}
		_, run, attempts := bills(t, svc, billing(jobs.Each{Path: "/v1/tenants"}), 10*time.Minute)
		if len(attempts) != 2 || attempts[0].Answer != ledger.AnswerFailed || attempts[0].Error != "a later page of the list: not sent: the breaker is open" {
			t.Errorf("attempts %+v", attempts)
		}
		if run.State != ledger.Succeeded || run.Attempt != 2 || run.Fan.Members != 2 {
			t.Errorf("%+v", run)
		}
	})
}
