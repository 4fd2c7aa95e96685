package executor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/executor"
	"github.com/cronce/cronce/jobs"
	"github.com/cronce/cronce/ledger"
	"github.com/cronce/cronce/ledger/memory"
)

// forgettingOnce does not take the first record: its process has lost the lease before.
type forgettingOnce struct {
	executor.Ledger
	asked bool
}

func (l *forgettingOnce) Record(ctx context.Context, o []ledger.Outcome) ([]ledger.RecordResult, error) {
	if !l.asked {
		l.asked = true
		return []ledger.RecordResult{ledger.Fenced}, nil
	}
	return l.Ledger.Record(ctx, o)
}

// An attempt that froze a part of a list leaves none of it to one that finds an empty list.
func TestAnEmptyListDeletesWhatAnEarlierAttemptFroze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memory.New()
		svc := tenants(func(n int) []string { return []string{[]string{`["a","b"]`, `[]`}[n-1]} }, nil)
		_, stop := start(t, executor.Config{Registry: registry(t, billing(jobs.Each{Path: "/v1/tenants"})), Caller: svc, Ledger: &forgettingOnce{Ledger: l}})
		fromTheHour(10 * time.Minute)
		stop()
		runs := mustList(t, l, ledger.Filter{JobID: "bill"})
		page, err := l.Members(t.Context(), ledger.MemberFilter{Parent: runs[0].ID})
		if err != nil || len(page.Members) != 0 || runs[0].State != ledger.Succeeded || runs[0].Attempt != 2 {
			t.Errorf("%+v %+v %v", runs, page, err)
		}
	})
}
